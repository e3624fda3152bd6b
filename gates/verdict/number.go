package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number formats a number in its unit as mxflow prints it everywhere: "31.68 tok/s",
// "+38.2%", "4", "1m30s".
func Number(x float64, unit string) string { return Digits(x, unit, 0) }

// Digits is Number with more digits, for two numbers that would otherwise look alike.
func Digits(x float64, unit string, more int) string {
	switch unit {
	case "ratio":
		return Percent(x, 1+more)
	case "percent":
		return percent(x, 1+more)
	case "spread":
		return strings.TrimPrefix(percent(x, 1+more), "+")
	case "times":
		return significant(x, 3+more) + "×"
	case "share":
		return significant(100*x, 4+more) + "%"
	case "p":
		return P(x)
	case "level":
		return PLevel(x)
	case "duration":
		d := time.Duration(x * float64(time.Second))
		if d >= 100*time.Millisecond {
			return d.Round(time.Millisecond).String()
		}
		return d.Round(time.Microsecond).String()
	case "", "count":
		return significant(x, 4+more)
	case "ms":
		if a := math.Abs(x); a > 0 && a < 1e-3 {
			return significant(1e6*x, 4+more) + " ns"
		}
	}
	return significant(x, 4+more) + " " + unit
}

// FormatDistinct writes two numbers so that they look different if they are, but for rounding (the
// mean in logs of three times 100 is not quite 100): a gain of 9.97% that fails a rule of
// 10% must not read as 10.0%.
func FormatDistinct(a, b float64, unit string) (string, string) {
	for digits := range 12 {
		x, y := Digits(a, unit, digits), Digits(b, unit, digits)
		if x != y || a == b || math.Abs(a-b) <= 1e-14*math.Max(math.Abs(a), math.Abs(b)) {
			return x, y
		}
	}
	return strconv.FormatFloat(a, 'g', -1, 64), strconv.FormatFloat(b, 'g', -1, 64)
}

// significant prints whole numbers whole, and others with some significant digits, but
// never rounds away digits before the point.
func significant(f float64, digits int) string {
	a := math.Abs(f)
	switch {
	case f == math.Trunc(f) && a < 1e15:
		return strconv.FormatFloat(f+0, 'f', -1, 64) // + 0: no −0
	case a >= 1e15 || a < 1e-8:
		return strconv.FormatFloat(f, 'g', digits, 64)
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(a))))
	s := strconv.FormatFloat(f, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// PlusMinus is a mean with its standard deviation, which gets two digits: "57.85 ± 0.21".
func PlusMinus(mean, std float64) string {
	return significant(mean, 4) + " ± " + significant(std, 2)
}

// Interval is a number with the bounds of the decision that it comes from, "57.9 tok/s
// [56.1, 59.8]", or alone without them.
func Interval(x float64, low, high *float64, unit string) string {
	return bounded(x, low, high, unit, " [%s, %s]")
}

// CI is a number with its 95% interval, "57.9 tok/s (95% CI 56.1 to 59.8)", or alone
// without one. It describes launches and decides nothing, so it does not look like the
// bounds of a decision.
func CI(x float64, low, high *float64, unit string) string {
	return bounded(x, low, high, unit, " (95%% CI %s to %s)")
}

func bounded(x float64, low, high *float64, unit, format string) string {
	text := Number(x, unit)
	if low == nil || high == nil {
		return text
	}
	bound := func(x float64) string {
		number, _, _ := strings.Cut(strings.TrimSuffix(Number(x, unit), "×"), " ")
		return number
	}
	return text + fmt.Sprintf(format, bound(*low), bound(*high))
}

// leastPercent is the smallest percentage that gets more digits: anything less is
// rounding, or the resolution of a clock.
const leastPercent = 1e-4

// Percent formats a relative change as a signed percentage, as mxflow shows it
// everywhere: "+38.2%", "-3.0%". A small one gets enough digits to show its direction:
// "-0.03%". No quantity loses more than all of it, so a value below -100% is the gain of
// a lower-is-better metric, and is shown as how much more there is.
func Percent(x float64, decimals int) string {
	if x < -1 {
		return percent(x, decimals) + fmt.Sprintf(" (%.3g times as much)", 1-x)
	}
	return percent(x, decimals)
}

func percent(x float64, decimals int) string {
	a := 100 * math.Abs(x)
	if a >= 1e7 {
		return fmt.Sprintf("%+.*e%%", decimals, 100*x)
	}
	for a >= leastPercent && readsZero(a, decimals) {
		decimals++
	}
	if readsZero(a, decimals) {
		x = 0 // no −0.0
	}
	return fmt.Sprintf("%+.*f%%", decimals, 100*x)
}

// bare is a percentage from a plan, without the zeros of a measured one: "+10%" for
// "+10.0%". Other texts stay.
func bare(text string) string {
	number, found := strings.CutSuffix(text, "%")
	if !found || !strings.Contains(number, ".") || strings.Contains(number, "e") {
		return text
	}
	number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	if number == "+0" {
		number = "0"
	}
	return number + "%"
}

// readsZero reports whether a number reads as zero at so many decimals; a half may be
// rounded either way.
func readsZero(a float64, decimals int) bool { return a <= 0.5*math.Pow10(-decimals) }

// P formats a p value, or another chance compared with a level, as mxflow shows it
// everywhere: three digits down to a millionth ("0.0483", "0.00204"), and only a bound
// beyond what a test on a few launches can know.
func P(p float64) string {
	switch {
	case math.IsNaN(p):
		return "NaN"
	case p < 1e-6:
		return "< 0.000001"
	case p > 0.999:
		return "> 0.999"
	}
	return digits(p, 3, 6)
}

// PIs is P with the p before it: "p = 0.00204", "p < 0.000001".
func PIs(p float64) string {
	text := P(p)
	if strings.ContainsAny(text[:1], "<>") {
		return "p " + text
	}
	return "p = " + text
}

// PLevel formats a level that p values are compared with: "0.002", "0.001875".
func PLevel(level float64) string { return digits(level, 4, 9) }

// digits formats a number between 0 and 1 with some significant digits, at most so many
// places after the point.
func digits(x float64, decimals, most int) string {
	for y := x; y > 0 && y < 0.1 && decimals < most; y *= 10 {
		decimals++
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// Count is a number of things: "1 error", "3 launches", "2 processes".
func Count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"), strings.HasSuffix(what, "ch"), strings.HasSuffix(what, "sh"):
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Launches counts launches: "1 launch", "4 launches".
func Launches(n int) string { return Count(n, "launch") }

// Second is a time to the second, in this machine's time zone.
func Second(t time.Time) string { return t.Local().Format(time.DateTime) }

// Minute is a time to the minute, in this machine's time zone.
func Minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// Rough formats seconds for people: "41 s", "2 min 05 s".
func Rough(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}

// Between formats a range of seconds, in one unit if that tells the ends apart.
func Between(low, high float64) string {
	most, unit := inUnit(high, high)
	least, of := inUnit(low, high)
	if least == "0" {
		least, of = inUnit(low, low)
	}
	switch {
	case least == most && of == unit:
		return "about " + most + " " + unit
	case of != unit:
		return least + " " + of + " to " + most + " " + unit
	}
	return least + "–" + most + " " + unit
}

// Lasting formats seconds in one unit: "12 min", "3.5 h".
func Lasting(seconds float64) string {
	n, unit := inUnit(seconds, seconds)
	return n + " " + unit
}

// inUnit converts seconds to the unit used for a duration of this size.
func inUnit(seconds, size float64) (number, unit string) {
	switch {
	case size < 90:
		return fmt.Sprintf("%.0f", seconds), "s"
	case size < 90*60:
		return fmt.Sprintf("%.0f", seconds/60), "min"
	case size < 10*3600:
		return fmt.Sprintf("%.1f", seconds/3600), "h"
	}
	return fmt.Sprintf("%.0f", seconds/3600), "h"
}
