package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// of sets a sample's cell.
func of(cell string, s Sample) Sample { s.Workload = cell; return s }

// checkMetrics compares the medians by address; absent lists metrics that must be missing.
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
	// Two streams of 3 tokens each in a window of 2 s; one request failed after it was sent again.
	a := of("chat", sent(sample(100, 3, text(100, 1), text(200, 2), text(300, 3)), 1000, 1000, 1000))
	b := of("chat", cached(sent(sample(100, 3, text(200, 1), text(1300, 2), text(1400, 3)), 1500, 1500, 1500), 40))
	failed := of("chat", sent(sample(-1, -1), 1200, 1200, 1200))
	failed.Err, failed.Retries = "500", 1
	warm := of("chat", sent(sample(100, 50, text(1, 50)), 100, 100, 100))
	warm.Warmup = true
	other := of("other", sent(sample(100, 50, text(1, 50)), 1600, 1600, 1600))
	run := CellRun{
		Cell: "chat", From: time.Second, To: 3 * time.Second,
		SLO: map[string]float64{"ttft": 150, "itl": 100},
	}
	recording := Recording{Cells: []CellRun{run}, Samples: []Sample{warm, a, failed, b, other}}
	checkMetrics(t, Evaluate(recording), map[string]float64{
		"chat.ttft": 150, "chat.tg_total": 3, "chat.pp_total": 80, "chat.requests_per_s": 1,
		// a has its first token after 100 ms and gaps of 100 ms, b waits longer.
		"chat.goodput": 0.5, "chat.slo_attainment": 1.0 / 3,
		"chat.errors": 1, "chat.error_rate": 1.0 / 3, "chat.retry_count": 1,
		// Tokens at 1.1, 1.2, 1.3, 1.7, 2.8, 2.9 s: four within [1.1, 2.1).
	}, "other.ttft", "chat.energy_j", "chat.reached_concurrency", "gpu.power_w", "host.cpu_share",
		"chat.tokens_per_joule")

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
				"chat.tg_total", "chat.requests_per_s", "chat.goodput")
		})
	}

	uncounted := of("chat", sent(sample(100, -1, text(100, -1)), 1000, 1000, 1000))
	recording.Samples = []Sample{a, uncounted}
	checkMetrics(t, Evaluate(recording), map[string]float64{"chat.requests_per_s": 1}, "chat.tg_total")

	unknown := of("chat", behind(a, 50))
	recording.Samples = []Sample{a, unknown}
	checkMetrics(t, Evaluate(recording), map[string]float64{"chat.tg_total": 3}, "chat.pp_total")

	recording.Samples, recording.Cells = []Sample{a, b}, []CellRun{run, run}
	if got := Evaluate(recording); len(got) != 0 {
		t.Errorf("a cell that was sent twice gave %v", got)
	}
}

func TestCellOfEngine(t *testing.T) {
	run := CellRun{Cell: "chat", From: time.Second, To: 3 * time.Second}
	counter := func(name, source string, before, after float64) Series {
		return readings("engine."+name, source, 900, before, 3050, after)
	}
	// Both requests are in flight from 1 to 3 s, except for half a second.
	flying := []Sample{
		of("chat", sent(sample(100, 2, text(500, 1), text(1000, 2)), 1000, 1000, 1000)),
		of("chat", sent(sample(100, 2, text(200, 1), text(500, 2)), 2500, 2500, 2500)),
	}
	recording := Recording{Cells: []CellRun{run}, Samples: flying, Series: []Series{
		readings("engine.running", "", 500, 0, 1250, 15, 1500, 16, 1750, 16, 2100, 0, 2200, 0, 2300, 0,
			2900, 2, 3100, 0),
		readings("engine.waiting", "", 500, 9, 1250, 1, 1500, 2, 3100, 9),
		readings("engine.kv_cache_usage", `engine="0"`, 1500, 0.4, 2000, 0.6, 3500, 0.9),
		readings("engine.kv_cache_usage", `engine="1"`, 1500, 0.5),
		counter("spec_drafts", "", 100, 200), counter("spec_draft_tokens", "", 300, 600),
		counter("spec_accepted_tokens", "", 200, 410),
		counter("prefix_cache_queries", "", 1000, 3000), counter("prefix_cache_hits", "", 0, 500),
		counter("preemptions", "", 1, 4), counter("queue_time_sum", "", 1, 1.5),
		counter("queue_time_count", "", 10, 20),
	}}
	checkMetrics(t, Evaluate(recording), map[string]float64{
		"chat.reached_concurrency": 15.5, "chat.waiting": 1.5, "chat.kv_cache_usage": 0.6,
		"chat.accept_rate": 0.7, "chat.accept_length": 3.1,
		"chat.prefix_hit_rate": 0.25, "chat.preemptions": 3, "chat.engine_queue": 50,
	})

	// Acceptance by position: counters of two engines add up, and are over the window, not the whole launch.
	drafts := []Series{
		counter("spec_drafts", "", 100, 200), counter("spec_draft_tokens", "", 300, 600),
		counter("spec_accepted_tokens", "", 200, 410),
	}
	for _, tt := range []struct {
		pages []Series
		want  map[string]float64
	}{
		{
			[]Series{
				counter("spec_accepted_per_pos", `engine="0",position="0"`, 90, 150),
				counter("spec_accepted_per_pos", `engine="1",position="0"`, 10, 40),
				counter("spec_accepted_per_pos", `engine="0",position="1"`, 0, 40),
				counter("spec_accepted_per_pos", `engine="1",position="1"`, 0, 30),
				counter("spec_accepted_per_pos", `engine="0",position="10"`, 0, 5),
				counter("spec_accepted_per_pos", `engine="1",position="10"`, 0, 0),
			},
			map[string]float64{"pos1": 0.9, "pos2": 0.7, "pos11": 0.05},
		},
		{[]Series{counter("spec_accepted_per_pos", "", 0, 55)}, map[string]float64{"pos1": 0.55}},
		{[]Series{
			counter("spec_accepted_per_pos", `position="0"`, 50, 10),
			counter("spec_accepted_per_pos", `position="1"`, 0, 13),
		}, map[string]float64{"pos2": 0.13}}, // counted anew
		{nil, nil},
	} {
		recording.Series = slices.Concat(drafts, tt.pages)
		rate := Evaluate(recording)["chat.accept_rate"].Stats
		for n := range Positions {
			want, known := tt.want[Position(n+1)]
			if got, has := rate[Position(n+1)]; has != known || math.Abs(got-want) > 1e-12 {
				t.Errorf("%v: %s is %v (%v), want %v (%v)", tt.pages, Position(n+1), got, has, want, known)
			}
		}
	}

	recording.Series = []Series{
		counter("spec_accepted_tokens", "", 5, 9), counter("spec_draft_tokens", "", 7, 7),
		readings("engine.spec_accept_length", "", 1100, 0, 1500, 2, 2500, 3, 4000, 9),
	}
	checkMetrics(t, Evaluate(recording), map[string]float64{"chat.accept_length": 2.5}, "chat.accept_rate")

	recording.Series = []Series{counter("spec_drafts", "", 200, 100), counter("spec_accepted_tokens", "", 5, 9)}
	checkMetrics(t, Evaluate(recording), nil, "chat.accept_length", "chat.preemptions", "chat.prefix_hit_rate",
		"chat.reached_concurrency")

	// Nothing was in flight at any reading.
	recording.Series = []Series{
		readings("engine.running", "", 1250, 0, 2200, 0), readings("engine.kv_cache_usage", "", 1250, 0, 2200, 0),
	}
	recording.Samples = []Sample{of("chat", sent(sample(100, 2, text(5, 1), text(9, 2)), 1000, 1000, 1000))}
	checkMetrics(t, Evaluate(recording), map[string]float64{"chat.tg_total": 1}, "chat.reached_concurrency",
		"chat.kv_cache_usage")

	recording.Samples = flying
	for _, tt := range []struct{ said, want float64 }{{0, 0}, {1, 1}, {1.005, 1}, {1e308, -1}, {57, -1}, {-0.5, -1}} {
		recording.Series = []Series{
			readings("engine.kv_cache_usage", "", 1250, 0.5, 1500, tt.said),
			readings("engine.running", "", 1250, 3),
		}
		want, absent := map[string]float64{"chat.kv_cache_usage": max(tt.want, 0.5), "chat.reached_concurrency": 3},
			[]string(nil)
		if tt.want < 0 {
			delete(want, "chat.kv_cache_usage")
			absent = []string{"chat.kv_cache_usage"}
		}
		checkMetrics(t, Evaluate(recording), want, absent...)
	}
}

func TestMachine(t *testing.T) {
	every := func(name, source string, values ...float64) Series {
		var pairs []float64
		for i, v := range values {
			pairs = append(pairs, float64(500*i), v)
		}
		return readings(name, source, pairs...)
	}
	answer := of("a", sent(sample(10, 5, text(100, 1), text(200, 5)), 2000, 2000, 2000))
	recording := Recording{
		// Windows of 2 to 3 s and 4 to 5 s.
		Cells: []CellRun{
			{Cell: "b", From: 4 * time.Second, To: 5 * time.Second},
			{Cell: "a", From: 2 * time.Second, To: 3 * time.Second},
		},
		Samples: []Sample{answer},
		Series: []Series{
			every(GPUPower, "0", 50, 50, 50, 50, 100, 100, 100, 50, 50, 50, 50),
			every(GPUPower, "1", 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90),
			every(GPUPowerInstant, "1", 60, 60, 70, 70, 200, 200, 200, 200, 200, 300, 200),
			every(GPUMemory, "0", 1, 1, 1, 1, 10, 11, 10, 99, 10, 10, 10),
			every(GPUMemory, "1", 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5),
			every(GPUClock, "0", 1, 1, 1, 1, 1900, 1980, 1980, 1, 1980, 1980, 1980),
			every(GPUClock, "1", 1, 1, 1, 1, 1000, 1000, 1000, 1, 1000, 1000, 1000),
			every(GPUTemperature, "1", 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20),
			every(GPUTemperature, "0", 90, 90, 90, 90, 40, 41, 42, 90, 45, 44, 43),
			every(GPUUtilization, "1", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
			every(GPUUtilization, "0", 0, 0, 0, 0, 1, 1, 1, 0, 0.5, 0.5, 0.5),
			every(GPUThrottle, "1", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			every(GPUThrottle, "0", 0, 0, 0, 0, 0, 32, 4, 64, 0, 0, 0),
			every(HostCPU, "", 0, 0, 0, 0, 0.1, 0.1, 0.1, 0.9, 0.3, 0.3, 0.3),
			every(HostMemory, "", 1, 1, 1, 1, 2, 3, 2, 9, 2, 2, 2),
		},
	}
	checkMetrics(t, Evaluate(recording), map[string]float64{
		"a.energy_j": 100 + 200, "a.power_w": 300, "a.tokens_per_joule": 1.0 / 60, "a.gpu_memory_gb": 16,
		"a.gpu_memory_in_use_gb": 16,
		"b.energy_j":             50 + 250, "gpu.energy_j": 600, "gpu.power_w": 300, "gpu.peak_power_w": 100 + 300,
		// The lowest second before 2 s: GPU 1 had 60 W until 0.5 s.
		"gpu.idle_power_w": 50 + 62.5, "gpu.memory_gb": 16, "gpu.clock_mhz": 1000, "gpu.temperature_c": 45,
		// Half a second of two was hot; the power limit at 3 s is after the window.
		"gpu.throttled_share": 0.25, "gpu.power_capped_share": 0, "host.cpu_share": 0.2, "host.memory_gb": 3,
	}, "b.tokens_per_joule", "gpu.process_memory_gb", "a.engine_memory_gb", "engine.memory_gb")

	// If the power of one GPU ends too early, the power of all GPUs is unknown.
	short := recording
	short.Series = append([]Series{}, recording.Series...)
	short.Series[2] = every(GPUPowerInstant, "1", 60, 60, 60, 60, 200)
	short.Series[1] = every(GPUPower, "1", 60, 60, 60, 60, 200)
	checkMetrics(t, Evaluate(short), nil, "a.energy_j", "gpu.energy_j", "gpu.power_w", "a.power_w",
		"a.tokens_per_joule")

	// The memory of one GPU alone is not that of all.
	one := recording
	one.Series = append([]Series{
		every(GPUProcessMemory, "0", 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5),
		{Name: GPUTemperature, Source: "0"},
	}, recording.Series...)
	checkMetrics(t, Evaluate(one), map[string]float64{"gpu.memory_gb": 16, "gpu.temperature_c": 45},
		"gpu.process_memory_gb")

	// A cell whose window is unknown leaves the machine's numbers unknown.
	blind := recording
	blind.Cells = append([]CellRun{{Cell: "c"}}, recording.Cells...)
	checkMetrics(t, Evaluate(blind), map[string]float64{"a.energy_j": 300}, "gpu.energy_j", "gpu.temperature_c",
		"host.cpu_share")
}

// sent sets a sample's times, in ms since the recording's zero.
func sent(s Sample, scheduled, due, start int) Sample {
	s.Scheduled, s.Due, s.Start = time.Duration(scheduled)*msec, time.Duration(due)*msec, time.Duration(start)*msec
	return s
}

// opened makes a sample part of an open loop.
func opened(s Sample) Sample { s.OpenLoop = true; return s }

func behind(s Sample, context int) Sample { s.ContextTokens = context; return s }

// What a cell and the schedule add to the metrics of a request.
func TestDeriveInCell(t *testing.T) {
	plain := sample(100, 3, text(100, 1), text(150, 2), text(200, 3), done(201))
	asked := plain
	asked.RequestedOutput = 5
	again := sent(plain, 1000, 1000, 1000)
	again.Retries = 2
	tools := sample(10, 2, other(5, -1), Event{At: 40 * msec, Kind: KindTool, Tokens: 1, Bytes: 3},
		Event{At: 60 * msec, Kind: KindTool, Tokens: 2, Bytes: 3})
	for _, tt := range []struct {
		name string
		s    Sample
		cell CellRun
		// want holds the metrics to check; nil means absent.
		want Values
	}{
		{
			"a closed loop counts from the send", sent(plain, 1000, 1000, 1003),
			CellRun{},
			Values{
				"ttfr": {100}, "ttft": {100}, "ttft_answer": {100}, "e2e": {200}, "pp": {1000}, "queue": {0},
				"retries": {0}, "context_tokens": {0},
			},
		},
		{
			"an open loop counts from the schedule, but for the prefill", opened(sent(plain, 1000, 1040, 1045)),
			CellRun{},
			Values{
				"ttfr": {145}, "ttft": {145}, "ttft_answer": {145}, "e2e": {245}, "pp": {1000}, "tg": {20},
				"itl": {50, 50}, "queue": {40},
			},
		},
		{
			"without a schedule there is no lag", plain,
			CellRun{},
			Values{"queue": nil, "retries": nil, "context_tokens": nil},
		},
		{"a short answer", asked, CellRun{ExactOutput: true}, Values{"shortfall": {2}}},
		{"an answer with a token too many", func() Sample {
			s := asked
			s.OutputTokens = s.RequestedOutput + 1
			return s
		}(), CellRun{ExactOutput: true}, Values{"shortfall": {-1}}},
		{"a short answer that ended by itself", asked, CellRun{}, Values{"shortfall": nil}},
		{
			"a request that was put off has no prefill time", again,
			CellRun{},
			Values{"pp": nil, "ttft": {100}, "retries": {2}},
		},
		{"a context that may have been cached", behind(plain, 60), CellRun{}, Values{"pp": nil}},
		{"a context of its own", behind(plain, 60), CellRun{UniqueContext: true}, Values{"pp": {1000}}},
		{"a cached context", behind(cached(plain, 60), 60), CellRun{}, Values{"pp": {400}, "cached_tokens": {60}}},
		{"a tool call", tools, CellRun{}, Values{"ttft": {40}, "ttft_answer": {40}, "tg": {50}, "itl": {20}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := derive(tt.s, tt.cell)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Sorted(maps.Keys(tt.want)) {
				if !slices.EqualFunc(got[name], tt.want[name], near) {
					t.Errorf("%s = %v, want %v", name, got[name], tt.want[name])
				}
			}
		})
	}
}

func TestDeriveRefusesSchedules(t *testing.T) {
	s := sample(1, 1, text(1, 1))
	for _, bad := range []Sample{sent(s, 10, 5, 20), sent(s, 10, 20, 15), sent(s, -1, 1, 1)} {
		if v, err := Derive(bad); err == nil || v != nil || !strings.Contains(err.Error(), "go backwards") {
			t.Errorf("scheduled %v, due %v, sent %v: %v, %v", bad.Scheduled, bad.Due, bad.Start, v, err)
		}
	}
}

// An impossible count has no metrics: each token would be kept with its time.
func TestCountsThatCannotBe(t *testing.T) {
	for _, c := range []struct{ asked, claimed int }{{8, 2_000_000_000}, {8, 16*8 + 1025}, {0, 2_000_000_000}} {
		s := sample(32, c.claimed, text(10, 1), text(20, c.claimed), done(21))
		s.RequestedOutput = c.asked
		if v, err := Derive(s); err == nil || !strings.Contains(err.Error(), "event 1 claims") {
			t.Errorf("%d asked, %d claimed: %d metrics, %v", c.asked, c.claimed, len(v), err)
		}
	}
	s := sample(32, 16, text(10, 1), text(20, 16), done(21))
	s.RequestedOutput = 8
	if _, err := Derive(s); err != nil {
		t.Errorf("twice as many as asked for: %v", err)
	}
}

// The working memory of GPUs is their own or, if they have none, the host's, once; if it
// is unknown for one of them, it is unknown.
func TestMemoryInUse(t *testing.T) {
	for _, c := range []struct {
		name   string
		series []Series
		want   string
	}{
		{
			"its own",
			[]Series{readings(GPUMemory, "a", 0, 10, 1500, 12, 9000, 99)},
			"gpu.memory_gb 12, gpu.memory_in_use_gb 12",
		},
		{
			"of two",
			[]Series{readings(GPUMemory, "a", 1500, 12), readings(GPUMemory, "b", 1500, 3)},
			"gpu.memory_gb 15, gpu.memory_in_use_gb 15",
		},
		{"the host's", []Series{readings(GPUHostMemory, "a", 1500, 70, 2500, 80)}, "gpu.memory_in_use_gb 80"},
		{
			"the host's, once",
			[]Series{readings(GPUHostMemory, "a", 1500, 70), readings(GPUHostMemory, "b", 1500, 70)},
			"gpu.memory_in_use_gb 70",
		},
		{"not of one", []Series{readings(GPUMemory, "a", 1500, 12), readings(GPUClock, "b", 1500, 1980)}, ""},
		{"outside of the window", []Series{readings(GPUHostMemory, "a", 9000, 70)}, ""},
	} {
		var got []string
		all := Evaluate(Recording{Windows: []Window{{From: time.Second, To: 3 * time.Second}}, Series: c.series})
		for _, address := range []string{"gpu.memory_gb", "gpu.memory_in_use_gb"} {
			if s, ok := all[address]; ok {
				got = append(got, fmt.Sprint(address, " ", s.Stats["median"]))
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLimit: one request decodes at 100 tok/s, where 1,000 GB/s could read steps of 5 GB 200 times per second,
// and takes 64 tokens of prompt in 10 ms, where 100 TFLOP/s could do 10 GFLOP 10,000 times per second.
func TestLimit(t *testing.T) {
	limit := func(change func(*Limit)) *Limit {
		l := &Limit{
			BandwidthGBs: 1000, StepGB: 5, Requests: 1, LeastGB: 2, PromptGFLOP: 10, TFLOPs: 100,
			MostTFLOPs: 200, Room: 1.25,
		}
		if change != nil {
			change(l)
		}
		return l
	}
	// Events hold perEvent tokens each, 10 ms per token.
	recording := func(perEvent int, l *Limit) Recording {
		s := Sample{
			Workload: "chat", PromptTokens: 64, OutputTokens: 20 * perEvent, CachedTokens: -1,
			TokenSource: SourceContinuousUsage,
		}
		for i := range 20 {
			s.Events = append(s.Events, Event{
				At: time.Duration(10+10*perEvent*i) * time.Millisecond, Kind: KindText,
				Tokens: (i + 1) * perEvent,
			})
		}
		return Recording{Cells: []CellRun{{Cell: "chat", To: 10 * time.Second, Limit: l}}, Samples: []Sample{s}}
	}
	counters := func(r Recording) Recording {
		for name, grown := range map[string]float64{"engine.spec_drafts": 100, "engine.spec_accepted_tokens": 300} {
			r.Series = append(r.Series,
				Series{Name: name, At: []time.Duration{0, 10 * time.Second}, Value: []float64{0, grown}})
		}
		return r
	}
	for name, c := range map[string]struct {
		recording Recording
		tg, pp    float64 // 0 if there is none
	}{
		"known":                 {recording(1, limit(nil)), 0.5, 0.64},
		"no limit":              {recording(1, nil), 0, 0},
		"an open loop":          {recording(1, limit(func(l *Limit) { l.StepGB, l.Requests = 0, 0 })), 0, 0},
		"eight requests":        {recording(1, limit(func(l *Limit) { l.Requests = 8 })), 0.5, 0},
		"several tokens, why?":  {recording(4, limit(nil)), 0, 0.64},
		"four tokens accepted":  {counters(recording(4, limit(nil))), 0.125, 0.64},
		"smaller than it names": {recording(1, limit(func(l *Limit) { l.StepGB = 20 })), 2, 0.64},
	} {
		got := Evaluate(c.recording)
		for metric, want := range map[string]float64{"chat.tg_of_limit": c.tg, "chat.pp_of_limit": c.pp} {
			s, has := got[metric]
			if has != (want > 0) || math.Abs(s.Stats["mean"]-want) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", name, metric, s.Stats["mean"], want)
			}
		}
	}
	if l := limit(nil); l.MostSteps() != 625 || l.MostPrompt() != 25_000 {
		t.Errorf("at most %v steps and %v tokens of prompts", l.MostSteps(), l.MostPrompt())
	}
	for _, l := range []*Limit{nil, {}} {
		if slices.Max([]float64{l.MostSteps(), l.MostPrompt()}) != 0 {
			t.Errorf("%v bounds something", l)
		}
	}
}

// TestOwnText: what decides a time to first token is the first token that an engine had to
// compute, whatever it sends at once.
func TestOwnText(t *testing.T) {
	// told is an answer whose pieces come at 100 ms, 110 ms and so on.
	told := func(pieces ...string) Sample {
		s := Sample{Workload: "chat", OutputTokens: len(pieces), Finish: "length"}
		for i, p := range pieces {
			e := Event{At: time.Duration(100+10*i) * time.Millisecond, Kind: KindText, Tokens: -1, Bytes: len(p)}
			if thought, is := strings.CutPrefix(p, "<"); is {
				e.Kind, e.Bytes = KindReasoning, len(thought)
				s.Reasoning += thought
			} else if s.Text += p; Visible(s.Text) == "" {
				e.Kind = KindBlank
			}
			s.Events = append(s.Events, e)
		}
		return s
	}
	others := func(n int) (all []Sample) {
		for i := range n {
			all = append(all, told(fmt.Sprint(" ", i, i), " and", " so", " on"))
		}
		return all
	}
	sure := func(i int) Sample { return told(" Sure", "!", " Here is", fmt.Sprint(" ", i), " line") }
	for name, c := range map[string]struct {
		samples []Sample
		want    []float64
	}{
		"no opening": {others(4), []float64{110, 110, 110, 110}},
		"one answer": {[]Sample{sure(1)}, []float64{110}},
		"an opening": {[]Sample{sure(1), sure(2), sure(3)}, []float64{130, 130, 130}},
		"of two":     {[]Sample{sure(1), sure(2)}, []float64{110, 110}},
		"of a quarter": {
			append(others(9), sure(1), sure(2), sure(3)),
			append(slices.Repeat([]float64{110}, 9), 130, 130, 130),
		},
		"of fewer":        {append(others(10), sure(1), sure(2), sure(3)), slices.Repeat([]float64{110}, 13)},
		"the same answer": {slices.Repeat([]Sample{told(" Yes", ".", " so")}, 3), []float64{120, 120, 120}},
		"one and a longer": {
			[]Sample{told(" Yes", "."), told(" Yes", ".", " No", " one"), told(" Yes", ".")},
			[]float64{110, 120, 110},
		},
		"invisibly different": {[]Sample{
			told(" Sure", "\u200b", "!", " a"), told("Sure", "\n\n", "\u00a0!", " b"),
			told("Su", "re", "!", " c"),
		}, []float64{130, 130, 130}},
		"blanks before": {[]Sample{
			told(" ", "\n", "Sure", "!", " a"), told("Sure", "!", " b"),
			told(" Sure", "!", " c"),
		}, []float64{140, 120, 120}},
		"reasoning": {[]Sample{told("<Okay", "<,", " Sure", "!", " a"), told("<Okay", "<,", " Sure", "!",
			" b"), told("<Okay", "<,", " Sure", "!", " c")}, []float64{140, 140, 140}},
		"in one event": {[]Sample{
			told(" Sure! Here is a", " b"), told(" Sure! Here is c", " d"),
			told(" Sure! Here is e", " f"),
		}, []float64{110, 110, 110}},
		"a letter in common": {[]Sample{
			told(" Über", " uns", " d"), told(" Übel", " nach", " x"),
			told(" Üppig", " wie"),
		}, []float64{110, 110, 110}},
		"text that is gone": {
			[]Sample{{Workload: "chat", OutputTokens: 2, Events: told("a", "b").Events}},
			[]float64{110},
		},
	} {
		var got []float64
		for _, a := range answersOf(c.samples, CellRun{Cell: "chat"}) {
			got = append(got, a.values["ttft_own"]...)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
