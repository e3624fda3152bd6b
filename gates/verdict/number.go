package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number formats a number in its unit as mxflow prints it everywhere, with three digits: "31.7
// tok/s", "1,342 tok/s", "+38%", above +300% how many times as much it is, "12×", "4", "1m30s".
func Number(x float64, unit string) string { return Digits(x, unit, 0) }

// Digits is Number with more digits, for two numbers that would otherwise look alike.
func Digits(x float64, unit string, more int) string {
	text := rounded(x, unit, more, math.Round)
	if unit == "ratio" && x < -1 {
		// No quantity loses more than all of it: it is the gain of a lower-is-better metric.
		text += fmt.Sprintf(" (%.3g times as much)", 1-x)
	}
	return text
}

// AtLeast and AtMost are Number of a bound, rounded away from what it claims.
func AtLeast(x float64, unit string) string { return rounded(x, unit, 0, math.Floor) }
func AtMost(x float64, unit string) string  { return rounded(x, unit, 0, math.Ceil) }

// Planned is a number of a plan, with the digits that it has there.
func Planned(x float64, unit string) string {
	digits := func(x float64) string { return significant(x, 6, math.Round) }
	switch unit {
	case "ratio", "percent":
		if unit == "ratio" && x > 3 {
			return thousands(digits(1+x)) + "×"
		}
		if text := digits(100*x) + "%"; x > 0 {
			return "+" + text
		} else {
			return text
		}
	case "spread", "share":
		return digits(100*x) + "%"
	case "", "count":
		return digits(x)
	case "p", "level", "duration":
		return Number(x, unit)
	}
	return thousands(digits(x) + " " + unit)
}

// rounded is a number in its unit with three digits and some more.
func rounded(x float64, unit string, more int, toward func(float64) float64) string {
	a, digits := math.Abs(x), max(1, 3+more)
	switch unit {
	case "ratio":
		return relative(x, more, toward)
	case "percent":
		return percent(x, 1+more)
	case "spread":
		return strings.TrimPrefix(percent(x, 1+more), "+")
	case "times":
		return thousands(significant(x, digits, toward)) + "×"
	case "share":
		return significant(100*x, digits, toward) + "%"
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
		return significant(x, digits, toward)
	case "ms":
		if a > 0 && a < 1e-3 {
			return significant(1e6*x, digits, toward) + " ns"
		}
	case "GB":
		if a > 0 && a < 0.0995 {
			return rounded(1000*x, "MB", more, toward)
		}
	case "MB": // a page or two is nothing
		if tenth := math.Pow10(1 + more); a < 100 && x != 0 {
			return significant(nearly(x*tenth, toward)/tenth, digits, math.Round) + " MB"
		}
	}
	return thousands(significant(x, digits, toward) + " " + unit)
}

// nearly rounds, but for what only arithmetic keeps from a round number: 0.1 times 100 is not quite 10.
func nearly(x float64, toward func(float64) float64) float64 {
	if near := math.Round(x); math.Abs(near-x) <= 1e-9*math.Abs(x) {
		return near
	}
	return toward(x)
}

// relative is a change: "+34%", "-2.5%", and above +300% how many times as much it is, "12×".
func relative(x float64, more int, toward func(float64) float64) string {
	fixed := func(x float64, decimals int) float64 {
		scale := math.Pow10(decimals)
		return nearly(x*scale, toward) / scale
	}
	a, decimals := math.Abs(x), more
	if x > 3 {
		if x < 9 {
			decimals++
		}
		decimals = max(0, decimals)
		return thousands(fmt.Sprintf("%.*f", decimals, fixed(1+x, decimals))) + "×"
	}
	if a < 0.0995 {
		decimals++
	}
	if decimals = max(0, decimals); 100*a >= 0.005 && fixed(100*x, decimals) == 0 {
		decimals++
	}
	for 100*a >= leastPercent && fixed(100*x, decimals) == 0 && more > 0 {
		decimals++
	}
	if percent := fixed(100*x, decimals); percent != 0 {
		return fmt.Sprintf("%+.*f%%", decimals, percent)
	}
	return "0%"
}

// FormatDistinct writes two numbers so that they look different if they are, but for rounding (the
// mean in logs of three times 100 is not quite 100): a gain of 9.97% that fails a rule of
// 10% must not read as 10.0%.
func FormatDistinct(a, b float64, unit string) (string, string) {
	for digits := range 13 {
		x, y := Digits(a, unit, digits), Digits(b, unit, digits)
		if x != y || a == b || math.Abs(a-b) <= 1e-14*math.Max(math.Abs(a), math.Abs(b)) {
			return x, y
		}
	}
	return strconv.FormatFloat(a, 'g', -1, 64), strconv.FormatFloat(b, 'g', -1, 64)
}

// significant prints whole numbers whole, and others with some significant digits, but
// never rounds away digits before the point.
func significant(f float64, digits int, toward func(float64) float64) string {
	a := math.Abs(f)
	switch {
	case f == math.Trunc(f) && a < 1e15:
		return strconv.FormatFloat(f+0, 'f', -1, 64) // + 0: no −0
	case a >= 1e15 || a < 1e-8:
		return strconv.FormatFloat(f, 'g', digits, 64)
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(a))))
	if scale := math.Pow10(decimals); !math.IsInf(a*scale, 0) {
		f = nearly(f*scale, toward) / scale
	}
	s := strconv.FormatFloat(f, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// PlusMinus is a mean with its standard deviation, which gets two digits, and the mean as many places
// as it, or three digits: "57.85 ± 0.21".
func PlusMinus(mean, std float64) string {
	digits := 3
	if mean != 0 && std > 0 {
		digits = max(digits, 2+int(math.Floor(math.Log10(math.Abs(mean)))-math.Floor(math.Log10(std))))
	}
	return thousands(significant(mean, digits, math.Round)) + " ± " + thousands(significant(std, 2, math.Round))
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
	_, of, _ := strings.Cut(text, " ")
	bound := func(text string) string {
		if number, own, _ := strings.Cut(text, " "); own == of {
			return number
		}
		return text
	}
	return text + fmt.Sprintf(format, bound(AtLeast(*low, unit)), bound(AtMost(*high, unit)))
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

// Upto is a count that may be less than the most, "8–16", or the one number if it may not; empty for none.
func Upto(least, most int) string {
	switch {
	case most == 0:
		return ""
	case least > 0 && least < most:
		return fmt.Sprintf("%d–%d", least, most)
	}
	return strconv.Itoa(most)
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
