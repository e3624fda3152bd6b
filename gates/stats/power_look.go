package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// power is the chance of a decision at one look as a function of the effect.
type power struct {
	// unit is how much the noncentrality grows with an effect of one standard deviation,
	// df the degrees of freedom of the pooled variance.
	unit, df float64
	// critical are the t beyond which it decides, one for each of equally likely splits
	// of the pooled variance between the arms.
	critical []float64
}

// How many equally likely parts the integrals are taken over: of the split of the
// variance between the arms, which is symmetric, and of the pooled variance.
const splits, spreads = 32, 256

// newPower prepares a look. Welch's degrees of freedom depend only on one arm's part u of
// the pooled variance, which is Beta distributed and independent of the pooled variance:
// given u, the statistic is a noncentral t.
func newPower(n int, level float64, single bool) power {
	free := float64(n - 1)
	if single {
		return power{math.Sqrt(float64(n)), free, []float64{Quantile(level, free)}}
	}
	p := power{unit: math.Sqrt(float64(n) / 2), df: 2 * free}
	for i := range splits {
		u := mathext.InvRegIncBeta(free/2, free/2, (float64(i)+0.5)/(2*splits))
		p.critical = append(p.critical, Quantile(level, free/(u*u+(1-u)*(1-u))))
	}
	return p
}

// at is the chance for an effect of k standard deviations.
func (p power) at(k float64) float64 {
	spread := deviations(p.df)
	var sum float64
	for _, c := range p.critical {
		for _, s := range spread {
			sum += upper(c*s - k*p.unit)
		}
	}
	return sum / float64(len(p.critical)*spreads)
}

var deviationsOf sync.Map

// deviations are √(χ²/df) at the middles of equally likely parts: a sample
// standard deviation in parts of the true one.
func deviations(df float64) []float64 {
	if s, ok := deviationsOf.Load(df); ok {
		return s.([]float64)
	}
	s := make([]float64, spreads)
	for i := range s {
		s[i] = math.Sqrt(distuv.ChiSquared{K: df}.Quantile((float64(i)+0.5)/spreads) / df)
	}
	deviationsOf.Store(df, s)
	return s
}
