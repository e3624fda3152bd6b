package measure

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// of names a sample's cell.
func of(cell string, s Sample) Sample { s.Workload = cell; return s }

// checkMetrics compares the medians of addresses; NaN-free nil means absence.
func checkMetrics(t *testing.T, got map[string]Summary, want map[string]float64, absent ...string) {
	t.Helper()
	for _, address := range slices.Sorted(maps.Keys(want)) {
		s, ok := got[address]
		if !ok {
			t.Errorf("%s is absent, want %v", address, want[address])
		} else if !near(s.Stats["median"], want[address]) {
			t.Errorf("%s = %v, want %v", address, s.Stats["median"], want[address])
		}
	}
	for _, address := range absent {
		if s, ok := got[address]; ok {
			t.Errorf("%s = %v, want it absent", address, s.Stats["median"])
		}
	}
}

func TestCellOfRequests(t *testing.T) {
	// Two streams of 3 tokens each in a window of 2 s; one request failed after
	// having been sent again.
	a := of("chat", sent(sample(100, 3, text(100, 1), text(200, 2), text(300, 3)), 1000, 1000, 1000))
	b := of("chat", cached(sent(sample(100, 3, text(200, 1), text(1300, 2), text(1400, 3)), 1500, 1500, 1500), 40))
	failed := of("chat", sent(sample(-1, -1), 1200, 1200, 1200))
	failed.Err, failed.Retries = "500", 1
	warm := of("chat", sent(sample(100, 50, text(1, 50)), 100, 100, 100))
	warm.Warmup = true
	other := of("other", sent(sample(100, 50, text(1, 50)), 1600, 1600, 1600))
	run := CellRun{Cell: "chat", From: time.Second, To: 3 * time.Second, SLO: map[string]float64{"ttft": 150, "itl": 100}}
	recording := Recording{Cells: []CellRun{run}, Samples: []Sample{warm, a, failed, b, other}}
	checkMetrics(t, Evaluate(recording), map[string]float64{
		"chat.ttft": 150, "chat.tg_total": 3, "chat.pp_total": 80, "chat.requests_per_s": 1, "chat.duration_s": 2,
		// a has its first token after 100 ms and gaps of 100, b waits longer.
		"chat.goodput": 0.5, "chat.slo_attainment": 1.0 / 3,
		"chat.errors": 1, "chat.error_rate": 1.0 / 3, "chat.retry_count": 1,
		// Tokens at 1.1, 1.2, 1.3, 1.7, 2.8, 2.9 s: four within [1.1, 2.1).
		"chat.tg_peak": 4,
	}, "other.ttft", "chat.energy_j", "chat.reached_concurrency", "gpu.power_w", "host.cpu_share", "chat.joules_per_token")

	for name, change := range map[string]func(*Recording){
		"a request outside of the window": func(r *Recording) { r.Cells[0].To = 2 * time.Second },
		"no window":                       func(r *Recording) { r.Cells[0].From, r.Cells[0].To = 0, 0 },
		"nothing was answered": func(r *Recording) {
			r.Samples = []Sample{failed}
		},
	} {
		r := Recording{Cells: slices.Clone(recording.Cells), Samples: slices.Clone(recording.Samples)}
		change(&r)
		t.Run(name, func(t *testing.T) {
			checkMetrics(t, Evaluate(r), map[string]float64{"chat.retry_count": 1},
				"chat.tg_total", "chat.tg_peak", "chat.requests_per_s", "chat.goodput", "chat.duration_s")
		})
	}

	uncounted := of("chat", sent(sample(100, -1, text(100, -1)), 1000, 1000, 1000))
	recording.Samples = []Sample{a, uncounted}
	checkMetrics(t, Evaluate(recording), map[string]float64{"chat.requests_per_s": 1}, "chat.tg_total", "chat.tg_peak")

	unknown := of("chat", behind(a, 50))
	recording.Samples = []Sample{a, unknown}
	checkMetrics(t, Evaluate(recording), map[string]float64{"chat.tg_total": 3}, "chat.pp_total")

	recording.Samples, recording.Cells = []Sample{a, b}, []CellRun{run, run}
	if got := Evaluate(recording); len(got) != 0 {
		t.Errorf("a cell that was sent twice gave %v", got)
	}
}

// The peak is over one second, its end excluded, and an event counts its tokens.
func TestPeak(t *testing.T) {
	peak := func(to int, events ...Event) (float64, bool) {
		last := events[len(events)-1].Tokens
		return peakTokens(CellRun{To: time.Duration(to) * msec}, answersOf([]Sample{sent(sample(1, last, events...), 0, 0, 1)}, CellRun{}))
	}
	for _, tt := range []struct {
		name   string
		to     int
		events []Event
		want   float64
		known  bool
	}{
		{"a token exactly a second later is not in it", 3000, []Event{text(0, 1), text(500, 2), text(1000, 3)}, 2, true},
		{"an event of many", 3000, []Event{text(0, 1), text(999, 7), text(2500, 8)}, 7, true},
		{"a run of less than a second", 999, []Event{text(0, 1), text(500, 2)}, 0, false},
	} {
		if got, known := peak(tt.to, tt.events...); got != tt.want || known != tt.known {
			t.Errorf("%s: %v, %v, want %v, %v", tt.name, got, known, tt.want, tt.known)
		}
	}
	unknown := sent(sample(1, 9, text(0, -1), text(500, -1)), 0, 0, 1)
	if _, known := peakTokens(CellRun{To: 2 * time.Second}, answersOf([]Sample{unknown}, CellRun{})); known {
		t.Error("a peak although nobody knows how many tokens the events hold")
	}
}

func TestCellOfEngine(t *testing.T) {
	run := CellRun{Cell: "chat", From: time.Second, To: 3 * time.Second}
	counter := func(name, source string, before, after float64) Series {
		return readings("engine."+name, source, 900, before, 3050, after)
	}
	// Both requests are in flight from 1 to 3 s, but for half a second in between.
	flying := []Sample{
		of("chat", sent(sample(100, 2, text(500, 1), text(1000, 2)), 1000, 1000, 1000)),
		of("chat", sent(sample(100, 2, text(200, 1), text(500, 2)), 2500, 2500, 2500)),
	}
	recording := Recording{Cells: []CellRun{run}, Samples: flying, Series: []Series{
		readings("engine.running", "", 500, 0, 1250, 15, 1500, 16, 1750, 16, 2100, 0, 2200, 0, 2300, 0, 2900, 2, 3100, 0),
		readings("engine.waiting", "", 500, 9, 1250, 1, 1500, 2, 3100, 9),
		readings("engine.kv_cache_usage", `engine="0"`, 1500, 0.4, 2000, 0.6, 3500, 0.9),
		readings("engine.kv_cache_usage", `engine="1"`, 1500, 0.5),
		counter("spec_drafts", "", 100, 200), counter("spec_draft_tokens", "", 300, 600), counter("spec_accepted_tokens", "", 200, 410),
		counter("spec_accepted_per_pos", `position="0"`, 90, 180), counter("spec_accepted_per_pos", `position="1"`, 0, 70), counter("spec_accepted_per_pos", `position="10"`, 0, 5),
		counter("prefix_cache_queries", "", 1000, 3000), counter("prefix_cache_hits", "", 0, 500),
		counter("preemptions", "", 1, 4), counter("queue_time_sum", "", 1, 1.5), counter("queue_time_count", "", 10, 20),
	}}
	checkMetrics(t, Evaluate(recording), map[string]float64{
		"chat.reached_concurrency": 15.5, "chat.waiting": 1.5, "chat.kv_cache_usage": 0.6,
		"chat.accept_rate": 0.7, "chat.accept_length": 3.1, "chat.accept_pos0": 0.9, "chat.accept_pos1": 0.7,
		"chat.prefix_hit_rate": 0.25, "chat.preemptions": 3, "chat.engine_queue": 50,
	}, "chat.accept_pos2")

	recording.Series = []Series{counter("spec_accepted_tokens", "", 5, 9), counter("spec_draft_tokens", "", 7, 7), readings("engine.spec_accept_length", "", 1100, 0, 1500, 2, 2500, 3, 4000, 9)}
	checkMetrics(t, Evaluate(recording), map[string]float64{"chat.accept_length": 2.5}, "chat.accept_rate")

	recording.Series = []Series{counter("spec_drafts", "", 200, 100), counter("spec_accepted_tokens", "", 5, 9)}
	checkMetrics(t, Evaluate(recording), nil, "chat.accept_length", "chat.preemptions", "chat.prefix_hit_rate", "chat.reached_concurrency")

	// Nothing was in flight at any reading.
	recording.Series = []Series{
		readings("engine.running", "", 1250, 0, 2200, 0), readings("engine.kv_cache_usage", "", 1250, 0, 2200, 0),
	}
	recording.Samples = []Sample{of("chat", sent(sample(100, 2, text(5, 1), text(9, 2)), 1000, 1000, 1000))}
	checkMetrics(t, Evaluate(recording), map[string]float64{"chat.tg_total": 1}, "chat.reached_concurrency", "chat.kv_cache_usage")

	recording.Samples = flying
	for _, tt := range []struct{ said, want float64 }{{0, 0}, {1, 1}, {1.005, 1}, {1e308, -1}, {57, -1}, {-0.5, -1}} {
		recording.Series = []Series{readings("engine.kv_cache_usage", "", 1250, 0.5, 1500, tt.said), readings("engine.running", "", 1250, 3)}
		want, absent := map[string]float64{"chat.kv_cache_usage": max(tt.want, 0.5), "chat.reached_concurrency": 3}, []string(nil)
		if tt.want < 0 {
			delete(want, "chat.kv_cache_usage")
			absent = []string{"chat.kv_cache_usage"}
		}
		checkMetrics(t, Evaluate(recording), want, absent...)
	}
}
