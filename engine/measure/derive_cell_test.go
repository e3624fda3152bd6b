package measure

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// sent gives a sample its times in ms since the recording's zero.
func sent(s Sample, scheduled, due, start int) Sample {
	s.Scheduled, s.Due, s.Start = time.Duration(scheduled)*msec, time.Duration(due)*msec, time.Duration(start)*msec
	return s
}

// opened makes a sample one of an open loop.
func opened(s Sample) Sample { s.OpenLoop = true; return s }

func behind(s Sample, context int) Sample { s.ContextTokens = context; return s }

// What a cell and the schedule add to the metrics of a request.
func TestDeriveInCell(t *testing.T) {
	plain := sample(100, 3, text(100, 1), text(150, 2), text(200, 3), done(201))
	asked := plain
	asked.RequestedOutput = 5
	again := sent(plain, 1000, 1000, 1000)
	again.Retries = 2
	tools := sample(10, 2, other(5, -1), Event{At: 40 * msec, Kind: KindTool, Tokens: 1, Bytes: 3}, Event{At: 60 * msec, Kind: KindTool, Tokens: 2, Bytes: 3})
	tests := []struct {
		name string
		s    Sample
		cell CellRun
		// want holds the metrics that are looked at; nil wants absence.
		want Values
	}{
		{
			"a closed loop counts from the send", sent(plain, 1000, 1000, 1003),
			CellRun{},
			Values{"ttfr": {100}, "ttft": {100}, "ttft_answer": {100}, "e2e": {200}, "pp": {1000}, "schedule_lag": {3}, "queue": {0}, "retries": {0}, "context_tokens": {0}},
		},
		{
			"an open loop counts from the schedule, but for the prefill", opened(sent(plain, 1000, 1040, 1045)),
			CellRun{},
			Values{"ttfr": {145}, "ttft": {145}, "ttft_answer": {145}, "e2e": {245}, "pp": {1000}, "tg": {20}, "itl": {50, 50}, "schedule_lag": {5}, "queue": {40}},
		},
		{
			"without a schedule there is no lag", plain,
			CellRun{},
			Values{"schedule_lag": nil, "queue": nil, "retries": nil, "context_tokens": nil},
		},
		{
			"an API latency", plain,
			CellRun{Correction: "api", Latency: 20 * msec},
			Values{"ttft": {100}, "ttft_corrected": {80}, "pp": {1000}, "pp_corrected": {1250}},
		},
		{
			"an open loop's latency is subtracted once", opened(sent(plain, 0, 0, 50)),
			CellRun{Correction: "generation", Latency: 20 * msec},
			Values{"ttft": {150}, "ttft_corrected": {130}, "pp_corrected": {1250}},
		},
		{
			"a latency as long as the time corrects nothing", plain,
			CellRun{Correction: "api", Latency: 100 * msec},
			Values{"ttft": {100}, "ttft_corrected": nil, "pp": {1000}, "pp_corrected": nil},
		},
		{
			"no correction was asked for", plain,
			CellRun{Correction: "none", Latency: 20 * msec},
			Values{"ttft_corrected": nil, "pp_corrected": nil},
		},
		{
			"a correction that was not measured", plain,
			CellRun{Correction: "api"},
			Values{"ttft_corrected": nil, "pp_corrected": nil},
		},
		{"a short answer", asked, CellRun{ExactOutput: true}, Values{"shortfall": {2}}},
		{"a short answer that ended by itself", asked, CellRun{}, Values{"shortfall": nil}},
		{
			"a request that was put off has no prefill time", again,
			CellRun{Correction: "api", Latency: msec},
			Values{"pp": nil, "pp_corrected": nil, "ttft": {100}, "retries": {2}},
		},
		{"a context that may have been cached", behind(plain, 60), CellRun{}, Values{"pp": nil}},
		{"a context of its own", behind(plain, 60), CellRun{UniqueContext: true}, Values{"pp": {1000}}},
		{"a cached context", behind(cached(plain, 60), 60), CellRun{}, Values{"pp": {400}, "cached_tokens": {60}}},
		{"a tool call", tools, CellRun{}, Values{"ttft": {40}, "ttft_answer": {40}, "ttft_reasoning": nil, "tg": {50}, "itl": {20}}},
	}
	for _, tt := range tests {
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
		if v, err := Derive(bad); err == nil || v != nil || !strings.Contains(err.Error(), "run backwards") {
			t.Errorf("scheduled %v, due %v, sent %v: %v, %v", bad.Scheduled, bad.Due, bad.Start, v, err)
		}
	}
}

func TestSummarizeLeavesContextsOut(t *testing.T) {
	good := sample(100, 2, text(10, 1), text(20, 2))
	context := good
	context.Context = true
	if got := Summarize([]Sample{good, context}, ""); got["ttft"].N != 1 {
		t.Errorf("ttft of %d requests, want 1", got["ttft"].N)
	}
	run := CellRun{Correction: "api", Latency: msec}
	got := summarize(answersOf([]Sample{good}, run), run)
	if got["ttft_corrected"].Correction != "api" || got["ttft"].Correction != "" {
		t.Errorf("corrections %q and %q", got["ttft_corrected"].Correction, got["ttft"].Correction)
	}
}

func TestLacks(t *testing.T) {
	s, _ := SummaryOf("ttft", make([]float64, 10))
	for stat, want := range map[string]string{
		"median": "", "p99": "not enough samples (10 of at least 299)", "p90": "not enough samples (10 of at least 29)",
		"cv": "not defined: the mean is not above zero", "p42": `no statistic is called "p42"`,
	} {
		if got := s.Lacks(stat); got != want {
			t.Errorf("%s: %q, want %q", stat, got, want)
		}
	}
}
