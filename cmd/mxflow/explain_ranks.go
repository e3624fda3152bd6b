package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
)

// ranksSaid says between which of a launch's ordered values a percentile lies: how
// well one launch knows it, which is another matter than how launches differ.
func ranksSaid(t *verdict.Test, r verdict.Rule) string {
	p, ok := measure.Percentile(t.Stat)
	if !ok || t.Stat == "median" || len(t.Values) == 0 {
		return ""
	}
	requests := 0
	for _, in := range r.Inputs {
		if strings.HasPrefix(in.Path, t.Metric) || strings.Contains(in.Path, "."+t.Metric) {
			requests = in.NRequests
		}
	}
	n := requests / len(t.Values)
	low, high, ok := stats.QuantileRanks(n, p, 0.95)
	if !ok {
		return fmt.Sprintf("Each value is the %s of about %d requests, of which an interval within the launch takes %d.", t.Stat, n, stats.LeastForRanks(p, 0.95))
	}
	return fmt.Sprintf("Each value is the %s of about %d requests: within a launch it lies between the %s and the %s of them in order (95 %%).", t.Stat, n, nth(low), nth(high))
}

func nth(n int) string {
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}
