package stats

import "math"

// Sides are the launches of two arms of one session, in the metric's unit. Without Base the effect is
// the level of Own.
type Sides struct{ Own, Base []float64 }

// Apart is how far the effect in one session is from that in another, in logs: the log of the one ratio
// of geometric means less that of the other, with a two-sided interval of confidence 1 − alpha by
// Welch–Satterthwaite over all arms, a point if nothing varies. It is not Bounded if an arm has fewer than
// two launches; an error says which value has no log.
func Apart(is, was Sides, alpha float64) (d Difference, err error) {
	arms := [][]float64{is.Own, was.Own, is.Base, was.Base}
	if len(is.Base)+len(was.Base) == 0 {
		arms = arms[:2] // levels
	}
	var variances, df []float64
	sum, few := 0.0, false
	for i, sign := range []float64{1, -1, -1, 1}[:len(arms)] {
		xs, err := logsOf(arms[i])
		if err != nil {
			return Difference{}, err
		}
		n := float64(len(xs))
		d.Estimate += sign * mean(xs)
		few = few || n < 2
		variances, df = append(variances, Variance(xs)/n), append(df, n-1)
		sum += Variance(xs) / n
	}
	half := 0.0
	if sum > 0 {
		d.SE, d.DF = math.Sqrt(sum), satterthwaite(variances, df)
		half = d.SE * Quantile(alpha/2, d.DF)
	}
	d.Low, d.High, d.Bounded = d.Estimate-half, d.Estimate+half, !few && !math.IsInf(half, 0)
	return d, nil
}
