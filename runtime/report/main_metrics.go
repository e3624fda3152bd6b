package report

import (
	"cmp"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Main are the few metrics that a reader wants first: the one of a test, which may be nil, then
// decode and time to first token of one cell, and memory; of an engine that has no decode the
// first three.
func Main(all []Comparison, t *verdict.Test) (out []Comparison) {
	cell := ""
	add := func(fits func(c Comparison) bool) {
		i := slices.IndexFunc(all, func(c Comparison) bool {
			return c.Old.N() > 0 && c.New.N() > 0 && c.Better != measure.Neither && fits(c)
		})
		if i < 0 || slices.ContainsFunc(out, func(o Comparison) bool { return o.Column == all[i].Column }) {
			return
		}
		if all[i].Metric == "tg" || all[i].Metric == "ttft" {
			cell = cmp.Or(cell, all[i].Cell)
		}
		out = append(out, all[i])
	}
	if t != nil {
		add(func(c Comparison) bool { return c.Address() == t.Metric && c.Stat == t.Stat })
	}
	for _, metric := range []string{"tg", "ttft"} {
		add(func(c Comparison) bool { return c.Metric == metric && (cell == "" || c.Cell == cell) })
	}
	for _, c := range all {
		if cell == "" && len(out) < 3 && c.Cell != "engine" && c.Cell != "host" && c.Cell != "gpu" {
			add(func(o Comparison) bool { return o.Column == c.Column })
		}
	}
	n := len(out)
	for _, address := range []string{"gpu.memory_in_use_gb", "engine.memory_gb"} {
		if len(out) == n {
			add(func(c Comparison) bool { return c.Address() == address })
		}
	}
	return out
}
