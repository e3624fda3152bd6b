package measure

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// searched is a recording of probes at rates, each of 100 requests; bad of them get their first
// text after the limit of 100 ms, and failed ones none.
func searched(rates []float64, bad, failed []int) (r Recording) {
	for i, rate := range rates {
		c := CellRun{
			Cell: fmt.Sprint("chat.probe", i+1), Dimensions: Dimensions{Rate: rate}, ExactOutput: true,
			SLO: map[string]float64{"ttft": 100}, Probe: &Probe{Of: "chat", Share: 0.9},
		}
		for n := range 100 {
			s := of(c.Cell, Sample{Index: n, RequestedOutput: 2, OutputTokens: 2, PromptTokens: 5, CachedTokens: -1})
			at := 10 * time.Millisecond
			if n < bad[i] {
				at = 200 * time.Millisecond
			}
			s.Events = []Event{
				{At: at, Kind: KindText, Tokens: 1, Bytes: 1}, {At: at + 1e6, Kind: KindText, Tokens: 2, Bytes: 1},
			}
			if n >= 100-failed[i] {
				s.Err, s.Events = "refused", nil
			}
			r.Samples = append(r.Samples, s)
		}
		c.Probe = c.Counted(r.Samples)
		r.Cells = append(r.Cells, c)
	}
	return r
}

func TestCapacity(t *testing.T) {
	rates, none := []float64{4, 5, 6, 7}, []int{0, 0, 0, 0}
	r := searched(rates, []int{0, 4, 16, 60}, none)
	got := Evaluate(r)["chat.capacity"]
	if x := got.Stats["median"]; !(x > 5 && x < 6) || got.Unit != "req/s" {
		t.Errorf("capacity %v", got)
	}
	if x := Evaluate(r)["chat.output_tokens"]; x.N != 400 || len(Evaluate(r)["chat.probe1.ttft"].Stats) > 0 {
		t.Errorf("amounts %v", x)
	}
	// A request that failed is no better than a late one.
	errors := Evaluate(searched(rates, none, []int{0, 4, 16, 60}))["chat.capacity"].Stats["median"]
	if math.Abs(errors-got.Stats["median"]) > 1e-9 {
		t.Errorf("%g with errors, %g with late answers", errors, got.Stats["median"])
	}
	for name, unknown := range map[string]Recording{
		"every rate keeps it": searched(rates, none, none),
		"no rate keeps it":    searched(rates, []int{50, 60, 70, 80}, none),
		"few requests":        {Cells: r.Cells[1:3], Samples: few(r.Samples, 10)},
	} {
		if x, known := Evaluate(unknown)["chat.capacity"]; known {
			t.Errorf("%s: %v", name, x.Stats["median"])
		}
	}
	// A probe in which the client was late does not count.
	late := searched(rates, []int{0, 90, 16, 60}, none)
	with := Evaluate(late)["chat.capacity"].Stats["median"]
	late.Cells[1].Probe.Late = true
	if without := Evaluate(late)["chat.capacity"].Stats["median"]; without <= with {
		t.Errorf("%g with a late probe, %g without", with, without)
	}
	// What was counted is counted again from the samples.
	if a := Agree(r, map[string]Summary{"chat.capacity": got}, 0); len(a.Differ) > 0 || a.Numbers == 0 {
		t.Errorf("%v", a.Differ)
	}
	r.Cells = slices.Clone(r.Cells)
	forged := *r.Cells[3].Probe
	forged.Violations = []float64{0}
	r.Cells[3].Probe = &forged
	a := Agree(r, map[string]Summary{"chat.capacity": got}, 0)
	if len(a.Differ) != 1 || a.Differ[0].Address != "chat.probe4" {
		t.Errorf("%v", a.Differ)
	}
}

// few keeps the first n requests of each cell.
func few(samples []Sample, n int) []Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Index >= n })
}
