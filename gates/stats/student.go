package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// tail is the chance that Student's t with df degrees of freedom exceeds t. Small tails
// keep their digits on both sides; NaN if df is not above zero.
func tail(t, df float64) float64 {
	if !(df > 0) || math.IsNaN(t) {
		return math.NaN()
	}
	if math.IsInf(t, 0) || math.IsInf(df, 0) {
		return upper(t)
	}
	within := mathext.RegIncBeta(df/2, 0.5, df/(t*t+df)) / 2
	if t > 0 {
		return within
	}
	return 1 - within
}

// Quantile is the t that Student's t with df degrees of freedom exceeds with chance p:
// t(p, df) in the notation of docs/statistics.md. It is NaN if p is not between 0 and 1
// or df is not above 0 and finite.
func Quantile(p, df float64) float64 {
	if !(p > 0 && p < 1) || !(df > 0) || math.IsInf(df, 0) {
		return math.NaN()
	}
	if p > 0.5 {
		return -Quantile(1-p, df)
	}
	x := mathext.InvRegIncBeta(df/2, 0.5, 2*p)
	return math.Sqrt(df * (1 - x) / x)
}

// known caches quantiles of designs, which every look asks for: those of a simulation are
// millions of looks.
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
