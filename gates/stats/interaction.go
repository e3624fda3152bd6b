package stats

import (
	"errors"
	"math"
)

// ProductInterval compares the gain of a stack with the product of the gains of
// its parts: the stack's difference of logs minus the sum of the parts', with the
// two-sided 95 % interval of Welch and Satterthwaite. Below zero the parts get in
// each other's way, above it they help each other; exp of it is the factor.
//
// The differences have to be independent of each other: measured with launches of
// their own. It returns an error without parts, and where one has no standard
// error, whose share of the doubt would be missing.
func ProductInterval(stack Difference, parts []Difference) (Difference, error) {
	if len(parts) == 0 {
		return Difference{}, errors.New("a stack without parts has no product to compare with")
	}
	out := Difference{Estimate: stack.Estimate}
	variances, df := make([]float64, 0, len(parts)+1), make([]float64, 0, len(parts)+1)
	for i, d := range append([]Difference{stack}, parts...) {
		if !(d.SE > 0) || !(d.DF > 0) || check([]float64{d.Estimate, d.SE, d.DF}) != nil {
			return Difference{}, errors.New("a gain without a standard error cannot be compared: at least two launches an arm that differ are needed")
		}
		if i > 0 {
			out.Estimate -= d.Estimate
		}
		variances, df = append(variances, d.SE*d.SE), append(df, d.DF)
		out.SE = math.Hypot(out.SE, d.SE)
	}
	out.DF = satterthwaite(variances, df)
	t := Quantile(0.025, out.DF)
	out.Low, out.High, out.Bounded = out.Estimate-t*out.SE, out.Estimate+t*out.SE, true
	return out, nil
}
