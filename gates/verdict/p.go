package verdict

import (
	"math"
	"strconv"
	"strings"
)

// P writes a p value, or another chance that is held against a level, as every
// part of mxflow shows it: three digits down to a millionth ("0.0483", "0.00204"),
// and beyond what a test on a few launches can know only a bound.
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

// PLevel writes a level that p values are held against: "0.002", "0.001875".
func PLevel(level float64) string { return digits(level, 4, 9) }

// digits writes a number between 0 and 1 with some significant digits, at most so
// many places behind the point.
func digits(x float64, decimals, most int) string {
	for y := x; y > 0 && y < 0.1 && decimals < most; y *= 10 {
		decimals++
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
