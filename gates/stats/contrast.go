package stats

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"
)

// Weighted are the launches of one variant in one session, each with its weight in a
// contrast. A launch that several differences rest on appears once, with the sum of its
// weights: two gains over one baseline share its noise, and treating them as independent
// would overstate their certainty.
type Weighted struct{ Values, Weights []float64 }

// Contrast is the weighted sum of all values with its two-sided 95% interval: each arm's
// variance from its own launches, degrees of freedom by Welch–Satterthwaite. It returns
// an error if an arm has fewer than two launches, since its part of the variance would be
// missing; Bounded is false if nothing varies at all.
func Contrast(arms []Weighted) (Difference, error) {
	if len(arms) == 0 {
		return Difference{}, ErrEmpty
	}
	var out Difference
	var variances, df []float64
	for _, a := range arms {
		if err := check(a.Values); err != nil {
			return Difference{}, err
		}
		if len(a.Weights) != len(a.Values) || check(a.Weights) != nil {
			return Difference{}, errors.New("each value needs a weight")
		}
		if len(a.Values) < 2 {
			return Difference{}, errors.New("at least two launches per arm are needed")
		}
		squares := 0.0
		for i, x := range a.Values {
			out.Estimate += a.Weights[i] * x
			squares += a.Weights[i] * a.Weights[i]
		}
		if squares > 0 {
			variances, df = append(variances, stat.Variance(a.Values, nil)*squares), append(df, float64(len(a.Values)-1))
			out.SE = math.Hypot(out.SE, math.Sqrt(variances[len(variances)-1]))
		}
	}
	if !(out.SE > 0) || math.IsInf(out.SE, 0) || check([]float64{out.Estimate}) != nil {
		return out, nil
	}
	out.DF = satterthwaite(variances, df)
	t := Quantile(0.025, out.DF)
	out.Low, out.High, out.Bounded = out.Estimate-t*out.SE, out.Estimate+t*out.SE, true
	return out, nil
}
