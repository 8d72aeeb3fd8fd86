package show

import (
	"fmt"
	"math"
	"time"
)

// seconds is a measured time: 0.03 s, 0.5 s, 40 s, 4 min 50 s, 1 h 20 min, 3 days 4 h.
func seconds(s float64) string {
	switch {
	case math.IsNaN(s) || s < 0:
		return "?"
	case s == 0:
		return "0 s"
	case s < 0.005:
		return "under 0.01 s"
	case s < 0.095:
		return fmt.Sprintf("%.2f s", s)
	case s < 0.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 59.5:
		return fmt.Sprintf("%.0f s", s)
	}
	whole := int(math.Round(s))
	if whole < 3570 {
		if whole >= 600 {
			return fmt.Sprintf("%d min", (whole+30)/60)
		}
		return pair(whole/60, "min", whole%60, "s")
	}
	minutes := (whole + 30) / 60
	if minutes < 48*60 {
		return pair(minutes/60, "h", minutes%60, "min")
	}
	hours := (minutes + 30) / 60
	return pair(hours/24, "days", hours%24, "h")
}

func pair(a int, unit string, b int, small string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unit)
	}
	return fmt.Sprintf("%d %s %d %s", a, unit, b, small)
}

// about is a rough time: 2 s, 20 s, 3 min, 1 h 20 min.
func about(s float64) string {
	switch {
	case s < 9.5:
		return fmt.Sprintf("%.0f s", max(1, math.Ceil(s)))
	case s < 57.5:
		return fmt.Sprintf("%.0f s", 5*math.Round(s/5))
	case s < 3570:
		return fmt.Sprintf("%.0f min", max(1, math.Round(s/60)))
	}
	return seconds(600 * math.Round(s/600))
}

// between is an estimate: 2–6 min, 40 s to 3 min, about 20 s.
func between(low, high float64) string {
	a, b := about(low), about(high)
	if a == b {
		return "about " + a
	}
	var x, y int
	var u, v string
	na, _ := fmt.Sscanf(a, "%d %s", &x, &u)
	nb, _ := fmt.Sscanf(b, "%d %s", &y, &v)
	if na == 2 && nb == 2 && u == v && a == fmt.Sprintf("%d %s", x, u) && b == fmt.Sprintf("%d %s", y, v) {
		return fmt.Sprintf("%d–%d %s", x, y, u)
	}
	return a + " to " + b
}

// clock is a time of day where it is today, with the day where it isn't: 14:07,
// Tue 18:20, 3 Nov 18:20.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format("15:04")
	case now.Sub(t) >= 0 && now.Sub(t) < 6*24*time.Hour:
		return t.Format("Mon 15:04")
	}
	return t.Format("2 Jan 15:04")
}

// clockSeconds is a time of day to the second.
func clockSeconds(t time.Time) string { return t.Local().Format("15:04:05") }
