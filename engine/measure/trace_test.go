package measure

import (
	"fmt"
	"testing"
	"time"
)

// traced is an answer to a request of a trace: how long its prompt was, what of it an earlier one began with, and what
// the engine found.
func traced(prompt, shared, cached int, scheduled, first time.Duration) Sample {
	return Sample{
		Workload: "chat", Scheduled: scheduled, Due: scheduled, Start: scheduled, OpenLoop: true,
		PromptTokens: prompt, OutputTokens: 2, SharedTokens: shared, CachedTokens: cached,
		Events: []Event{{At: first, Kind: KindText, Tokens: 1}, {At: first + time.Second, Kind: KindText, Tokens: 2}},
	}
}

// What prompts share is by the trace, and what the engine found by its own counts of requests, or else of the window.
func TestTraceMetrics(t *testing.T) {
	cell := CellRun{Cell: "chat", From: time.Second, To: 10 * time.Second, Trace: &TraceRun{}}
	samples := []Sample{
		traced(256, 0, 0, time.Second, 100*time.Millisecond),
		traced(257, 200, 160, 2*time.Second, 200*time.Millisecond),
		traced(20000, 10000, 9000, 3*time.Second, 900*time.Millisecond),
	}
	counter := func(name string, from, to float64) Series {
		at := []time.Duration{time.Second, 10 * time.Second}
		return Series{Name: "engine." + name, At: at, Value: []float64{from, to}}
	}
	counted := []Series{counter("prefix_cache_queries", 0, 20513), counter("prefix_cache_hits", 0, 5100)}
	uncounted := func(_ *CellRun, all []Sample) { all[1].CachedTokens = -1 }
	for name, tt := range map[string]struct {
		change func(*CellRun, []Sample)
		series []Series
		want   string
	}{
		"by requests": {func(*CellRun, []Sample) {}, counted, "shared 0.4972 found 0.8980, 100 200 900"},
		"by counters": {
			uncounted, counted, "shared 0.4972 found 0.5000, 100 200 900",
		},
		"neither": {uncounted, nil, "shared 0.4972 found -, 100 200 900"},
		"nothing is shared": {func(_ *CellRun, all []Sample) {
			all[1].SharedTokens, all[2].SharedTokens = 0, 0
		}, counted, "shared 0.0000 found -, 100 200 900"},
		"texts": {
			func(c *CellRun, _ []Sample) { c.Trace = &TraceRun{Texts: 1} }, counted, "shared - found -, 100 200 900",
		},
		"a count": {
			func(_ *CellRun, all []Sample) { all[0].PromptTokens = -1 }, counted, "shared - found -, - 200 900",
		},
		"no trace": {
			func(c *CellRun, _ []Sample) { c.Trace = nil }, counted, "shared - found -, - - -",
		},
	} {
		of, all := cell, append([]Sample(nil), samples...)
		tt.change(&of, all)
		got := Evaluate(Recording{Cells: []CellRun{of}, Samples: all, Series: tt.series})
		value := func(metric, format string) string {
			s, has := got["chat."+metric]
			if !has {
				return "-"
			}
			return fmt.Sprintf(format, s.Stats["median"])
		}
		text := fmt.Sprintf("shared %s found %s, %s %s %s",
			value("prefix_shared", "%.4f"), value("prefix_found", "%.4f"),
			value("ttft_to_256", "%.0f"), value("ttft_to_1k", "%.0f"), value("ttft_longer", "%.0f"))
		if text != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
	// In flight from its arrival until its end: the second's answer ends at 3.2 s, the third's at 4.9 s.
	if got := fmt.Sprint(InFlight(cell, samples, time.Second, 5)); got != "[1 2 2 1 0]" {
		t.Error(got)
	}
}
