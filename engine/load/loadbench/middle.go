package main

import (
	"math"

	"github.com/mxflow/mxflow/engine/measure"
)

// middle takes the median of each number. Errors are those of the rounds that
// have them, and none when most have none.
func middle(all []outcome) outcome {
	of := func(value func(outcome) float64) float64 {
		values := make([]float64, len(all))
		for i, o := range all {
			values[i] = value(o)
		}
		return median(values)
	}
	m := outcome{
		Events: int(of(func(o outcome) float64 { return float64(o.Events) })), Received: of(func(o outcome) float64 { return o.Received }),
		Sent: of(func(o outcome) float64 { return o.Sent }), CPU: of(func(o outcome) float64 { return o.CPU }),
		Memory: of(func(o outcome) float64 { return o.Memory }),
	}
	var with []errors99
	for _, o := range all {
		if o.Errors != nil {
			with = append(with, *o.Errors)
		}
	}
	if 2*len(with) <= len(all) {
		return m
	}
	e := func(value func(errors99) float64) float64 {
		values := make([]float64, len(with))
		for i, o := range with {
			values[i] = value(o)
		}
		return median(values)
	}
	m.Errors = &errors99{
		TTFTp50: e(func(o errors99) float64 { return o.TTFTp50 }), TTFTp99: e(func(o errors99) float64 { return o.TTFTp99 }),
		ITLp50: e(func(o errors99) float64 { return o.ITLp50 }), ITLp99: e(func(o errors99) float64 { return o.ITLp99 }),
		Delayp50: e(func(o errors99) float64 { return o.Delayp50 }), Delayp99: e(func(o errors99) float64 { return o.Delayp99 }),
	}
	return m
}

// median is 0 of nothing, which no mark takes for a pass.
func median(values []float64) float64 {
	if m := measure.Quantile(sorted(values), 0.5); !math.IsNaN(m) {
		return m
	}
	return 0
}
