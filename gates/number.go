package gates

import (
	"math"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// shareUnit is the catalogue's unit of parts of a whole, 0 to 1.
const shareUnit = "share"

// format is how a number of a unit is written: digits is 0 for as few as read
// well, and more where two numbers would otherwise look alike.
func format(f float64, unit string, digits int) string {
	switch unit {
	case plans.RatioUnit:
		return verdict.Percent(f, 1+digits)
	case shareUnit:
		return number(100*f, 4+digits) + " %"
	case "", "count":
		return number(f, 4+digits)
	}
	return number(f, 4+digits) + " " + unit
}

// number prints whole numbers whole, and others with some significant digits,
// but never rounds away digits before the point.
func number(f float64, digits int) string {
	a := math.Abs(f)
	switch {
	case f == math.Trunc(f) && a < 1e15:
		return strconv.FormatFloat(f+0, 'f', -1, 64) // + 0: no −0
	case a >= 1e7 || a < 1e-3:
		return strconv.FormatFloat(f, 'g', digits, 64)
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(a))))
	s := strconv.FormatFloat(f, 'f', decimals, 64)
	if g, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(g, 'f', -1, 64)
	}
	return s
}

// apart writes two numbers so that they look different if they are: a gain of
// 9.97 % that fails a rule of 10 % must not read as 10.0 %.
func apart(a, b float64, unit string) (string, string) {
	for digits := range 12 {
		x, y := format(a, unit, digits), format(b, unit, digits)
		if x != y || alike(a, b) {
			return x, y
		}
	}
	return strconv.FormatFloat(a, 'g', -1, 64), strconv.FormatFloat(b, 'g', -1, 64)
}

// alike tells numbers that are the same but for rounding: the mean in logs of
// three times 100 is not quite 100.
func alike(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-14*math.Max(math.Abs(a), math.Abs(b))
}

func percentOf(share float64) string { return number(100*share, 2) + " %" }
