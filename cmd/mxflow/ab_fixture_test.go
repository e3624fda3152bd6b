package main

import (
	"math"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// launched are launches in the order ABBA BAAB.
func (r *abResult) launched(a, b []float64) {
	at := map[string][]int{"A": {1, 4, 6, 7}, "B": {2, 3, 5, 8}}
	fill := func(side *abSide, name string, list []float64) {
		sum := 0.0
		for i, v := range list {
			side.Launches = append(side.Launches, abLaunch{Number: at[name][i], Order: at[name][i], Value: v})
			sum += math.Log(v) / float64(len(list))
		}
		sum = math.Exp(sum)
		side.Value = &sum
	}
	fill(&r.A, "A", a)
	fill(&r.B, "B", b)
	change := *r.B.Value / *r.A.Value - 1
	r.Change = &change
}

func (r *abResult) tested(q *ab, stop verdict.Stop, look verdict.Look, low, high float64) {
	r.test = &verdict.Test{Form: verdict.Ratio, Pass: 0.002, Fail: 0.015, Plan: []int{4, 6, 8}, Looks: []verdict.Look{look}, Stop: stop}
	r.rates = &ledger.Statistics{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 8}
	low, high = q.claim.change(low), q.claim.change(high)
	if low > high {
		low, high = high, low
	}
	r.Low, r.High, r.Stopped = &low, &high, stop
}
