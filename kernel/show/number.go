package show

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// count is a whole number with its thousands apart: 21,904.
func count(n int) string { return thousands(strconv.Itoa(n)) }

// thousands puts commas into the digits before the point.
func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

// several is a number with its noun: 1 example, 1,437 examples.
func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + plural(noun)
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "ss") {
		return noun + "es"
	}
	return noun + "s"
}

// ordinal is 1st, 2nd, 3rd, 4th …
func ordinal(n int) string {
	end := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return count(n) + end
}

// percent is a share with d digits after the point. What isn't all of it is never
// shown as 100 %, nor what isn't nothing as 0 %.
func percent(share float64, d int) string {
	return percentDigits(share, d) + " %"
}

func percentDigits(share float64, d int) string {
	for ; d < 4; d++ {
		s := strconv.FormatFloat(100*share, 'f', d, 64)
		v, _ := strconv.ParseFloat(s, 64)
		if (share < 1 && v >= 100) || (share > 0 && v == 0) {
			continue
		}
		if v == 100 || v == 0 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return s
	}
	return strconv.FormatFloat(100*share, 'f', d, 64)
}

// percentRange is an interval of shares: 95.3–99.3 %.
func percentRange(low, high float64, d int) string {
	end := func(share float64) string {
		s := strconv.FormatFloat(100*share, 'f', d, 64)
		if whole := strings.TrimSuffix(s, "."+strings.Repeat("0", d)); whole == "0" || whole == "100" {
			return whole
		}
		return s
	}
	return end(low) + "–" + end(high) + " %"
}

// significant is a number with n significant digits before zeros, its thousands
// apart, without an exponent where that is readable.
func significant(v float64, n int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	size := math.Floor(math.Log10(math.Abs(v)))
	if size >= 9 || size < -6 {
		return strconv.FormatFloat(v, 'g', n, 64)
	}
	digits := n - 1 - int(size)
	if digits < 0 {
		step := math.Pow(10, float64(-digits))
		return thousands(strconv.FormatFloat(math.Round(v/step)*step, 'f', 0, 64))
	}
	return thousands(strconv.FormatFloat(v, 'f', digits, 64))
}

// trimNumber is a number with at most d digits after the point and no zeros at the end.
func trimNumber(v float64, d int) string {
	s := strconv.FormatFloat(v, 'f', d, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Number is a figure as a value or a print shows it: bare, with as many digits as
// tell it apart, so that programs can read it.
func Number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return trimNumber(v, 6)
}

// size is a number of bytes: 312 MB.
func size(bytes int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	v, i := float64(bytes), 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if i == 0 || v >= 9.95 {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// list joins names: a, b and c.
func list(names []string, last string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
