package main

import (
	"fmt"
	"math"
	"slices"
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
	// Low and High bound Change: the 95 % interval over launches, absent where
	// there are too few. Better is said where it leaves out no change at all.
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Better string   `json:"better,omitempty"`
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
		allA, unit := medians(r.A.all, m.address)
		allB, _ := medians(r.B.all, m.address)
		a, okA := meanOf(allA)
		b, okB := meanOf(allB)
		name := strings.TrimPrefix(m.address, "bench.")
		if !okA || !okB || name == q.claim.Metric.Name || name == "tg_total" && q.concurrency < 2 {
			continue
		}
		row := abRow{Metric: m.label, Unit: unit, A: a, B: b, Change: b/a - 1}
		apart := row.bound(allA, allB)
		if known, ok := measure.Lookup(name[strings.LastIndexByte(name, '.')+1:]); ok && apart {
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

// bound fills in the interval of the change over launches, and reports whether
// it leaves out no change at all.
func (row *abRow) bound(a, b []float64) (apart bool) {
	d, err := stats.LogDifference(b, a)
	if err != nil || !d.Bounded {
		return false
	}
	low, high := math.Expm1(d.Low), math.Expm1(d.High)
	if math.IsInf(high, 0) {
		return false
	}
	row.Low, row.High = &low, &high
	return low > 0 || high < 0
}

// medians are a metric's values, one of each launch that counts, and its unit.
func medians(launches []*ledger.Launch, address string) (all []float64, unit string) {
	for _, l := range launches {
		if s, has := l.Metrics[address]; has && l.OK && l.Purpose == ledger.ForBenchmark {
			all, unit = append(all, s.Stats["median"]), s.Unit
		}
	}
	return all, unit
}

func meanOf(values []float64) (mean float64, ok bool) {
	mean, err := stats.Mean(values)
	return mean, err == nil && len(values) > 0 && mean > 0
}

// busyCPUs is a share of the machine's processors from which on programs wait for
// each other.
const busyCPUs = 0.9

// busy says that the machine had nothing to spare, which makes launches vary.
func (r *abResult) busy() []string {
	shares, _ := medians(slices.Concat(r.A.all, r.B.all), "host.cpu_share")
	mean, err := stats.ArithmeticMean(shares)
	if err != nil || len(shares) == 0 || mean < busyCPUs {
		return nil
	}
	return []string{fmt.Sprintf("The machine's processors were %.0f %% busy while it was measured. If that is more than the servers take, something else ran here.", 100*mean)}
}
