package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// abRow is a metric of both.
type abRow struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	A      float64 `json:"a"`
	B      float64 `json:"b"`
	Change float64 `json:"change"`
	Better string  `json:"better,omitempty"`
}

// metrics are those that people look at beside the one that decides.
func (r *abResult) metrics(q *ab) {
	for _, m := range []struct{ address, label string }{
		{"bench.tg", fmt.Sprintf("tg%d%s", q.tg, q.load())},
		{"bench.pp", fmt.Sprintf("pp%d%s", q.pp, q.load())},
		{"bench.ttft", "ttft"},
		{"bench.e2e", "e2e"},
		{"bench.tg_total", "tg in total"},
		{"bench.power_w", "power"},
		{"bench.joules_per_token", "energy per token"},
		{"gpu.memory_gb", "GPU memory"},
		{"engine.memory_gb", "host memory"},
		{"engine.startup_s", "start-up"},
	} {
		a, unit, okA := meanOver(r.A.all, m.address)
		b, _, okB := meanOver(r.B.all, m.address)
		name := strings.TrimPrefix(m.address, "bench.")
		if !okA || !okB || name == q.claim.Metric.Name || name == "tg_total" && q.concurrency < 2 {
			continue
		}
		row := abRow{Metric: m.label, Unit: unit, A: a, B: b, Change: b/a - 1}
		if known, ok := measure.Lookup(name[strings.LastIndexByte(name, '.')+1:]); ok && b != a {
			row.Better = "worse"
			if known.Better == measure.Neither {
				row.Better = ""
			} else if b > a == (known.Better == measure.Higher) {
				row.Better = "better"
			}
		}
		r.Metrics = append(r.Metrics, row)
	}
}

func meanOver(launches []*ledger.Launch, address string) (mean float64, unit string, ok bool) {
	var all []float64
	for _, l := range launches {
		if s, has := l.Metrics[address]; has && l.OK && l.Purpose == "benchmark" {
			all, unit = append(all, s.Stats["median"]), s.Unit
		}
	}
	mean, err := stats.Mean(all)
	return mean, unit, err == nil && len(all) > 0 && mean > 0
}
