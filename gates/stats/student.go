package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// Tail is the chance that Student's t with df degrees of freedom exceeds t. Small tails
// keep their digits on both sides; NaN if df is not above zero.
func Tail(t, df float64) float64 {
	if !(df > 0) || math.IsNaN(t) {
		return math.NaN()
	}
	if math.IsInf(t, 0) || math.IsInf(df, 0) {
		return upper(t)
	}
	half := mathext.RegIncBeta(df/2, 0.5, df/(df+t*t)) / 2
	if t < 0 {
		return 1 - half
	}
	return half
}

// Quantile is the t that Student's t with df degrees of freedom exceeds with chance p:
// t(p, df) in the notation of docs/statistics.md. It is NaN if p is not between 0 and 1
// or df not above 0.
//
// A gate needs two at every look, so it must be quick: Newton's method on ln(tail) over
// ln(t), which is concave and falling, converges from one side from the first step on,
// and takes four or five steps of one tail each.
func Quantile(p, df float64) float64 {
	switch {
	case !(p > 0 && p < 1) || !(df > 0):
		return math.NaN()
	case p == 0.5:
		return 0
	case p > 0.5:
		return -Quantile(1-p, df)
	}
	half, _ := math.Lgamma((df + 1) / 2)
	whole, _ := math.Lgamma(df / 2)
	scale := half - whole - math.Log(df*math.Pi)/2
	// Every quantile of Student's t lies beyond that of the normal distribution.
	t := math.Sqrt2 * math.Erfcinv(2*p)
	for range 60 {
		tail := Tail(t, df)
		density := math.Exp(scale - (df+1)/2*math.Log1p(t*t/df))
		step := math.Log(tail/p) * tail / (density * t)
		t *= math.Exp(step)
		if math.Abs(step) < 1e-12 {
			break
		}
	}
	return t
}

// known caches quantiles of designs, which every look asks for.
var known sync.Map

func knownQuantile(p, df float64) float64 {
	key := [2]float64{p, df}
	if t, ok := known.Load(key); ok {
		return t.(float64)
	}
	t := Quantile(p, df)
	known.Store(key, t)
	return t
}
