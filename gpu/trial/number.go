package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Number is a float64 that survives JSON: NaN and the infinities are the strings "nan", "inf" and "-inf".
type Number float64

// Finite reports whether the number is neither NaN nor infinite.
func (n Number) Finite() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON writes a JSON number, or one of the three strings.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	switch {
	case math.IsNaN(f):
		return []byte(`"nan"`), nil
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads a JSON number or one of the three strings; null is NaN, for a missing number is not zero.
func (n *Number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"nan"`, `null`:
		*n = Number(math.NaN())
	case `"inf"`:
		*n = Number(math.Inf(1))
	case `"-inf"`:
		*n = Number(math.Inf(-1))
	default:
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			return fmt.Errorf("%s is not a number", clip(string(b), 40))
		}
		*n = Number(f)
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
