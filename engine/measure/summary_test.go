package measure

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"
	"time"
)

// Goldens by hand: h = (n+1/3)p + 1/3, Q = x⌊h⌋ + (h−⌊h⌋)(x⌊h⌋+1 − x⌊h⌋).
func TestQuantile(t *testing.T) {
	oneToTen := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tt := range []struct {
		values  []float64
		p, want float64
	}{
		{[]float64{7}, 0.5, 7},
		{[]float64{7}, 0.99, 7},
		{[]float64{1, 2}, 0.5, 1.5},
		{[]float64{1, 2, 4}, 0.5, 2},
		{oneToTen, 0.5, 5.5},         // h = 5.5
		{oneToTen, 0.9, 9 + 19.0/30}, // h = 9.3 + 1/3 = 9.6333…
		{oneToTen, 0.25, 2 + 11.0/12},
		{oneToTen, 0.95, 10}, // h = 10.15: beyond the last
		{oneToTen, 0, 1},
		{oneToTen, 1, 10},
	} {
		if got := Quantile(tt.values, tt.p); !near(got, tt.want) {
			t.Errorf("Quantile(%v, %v) = %v, want %v", tt.values, tt.p, got, tt.want)
		}
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		if got := Quantile(oneToTen, p); !math.IsNaN(got) {
			t.Errorf("Quantile at %v = %v, want NaN", p, got)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("Quantile of nothing = %v, want NaN", got)
	}
}

func TestSummaryOf(t *testing.T) {
	s, ok := SummaryOf("tg", []float64{4, 2, 4, 5, 4, 5, 7, 9})
	if !ok {
		t.Fatal("no summary")
	}
	want := map[string]float64{
		"mean": 5, "median": 4.5, "p50": 4.5, "min": 2, "max": 9,
		"std": math.Sqrt(32.0 / 7), "cv": math.Sqrt(32.0/7) / 5,
	}
	if !maps.EqualFunc(s.Stats, want, near) {
		t.Errorf("stats = %v, want %v", s.Stats, want)
	}
	if s.Unit != "tok/s" || s.Better != Higher || s.N != 8 {
		t.Errorf("got %+v", s)
	}
	one, _ := SummaryOf("startup_s", []float64{3})
	if want := map[string]float64{"mean": 3, "median": 3, "p50": 3, "min": 3, "max": 3}; !maps.Equal(one.Stats, want) {
		t.Errorf("one value: %v, want %v", one.Stats, want)
	}
	for name, values := range map[string][]float64{
		"tg": nil, "ttft": {1, math.NaN()}, "itl": {math.Inf(1)}, "no_such_metric": {1},
	} {
		if s, ok := SummaryOf(name, values); ok {
			t.Errorf("%s of %v: %+v, want none", name, values, s)
		}
	}
	zero, _ := SummaryOf("crashes", []float64{0, 0})
	if _, ok := zero.Stats["cv"]; ok {
		t.Error("cv around a mean of zero")
	}
}

// Each quantile appears exactly from the smallest number of values that bounds it.
func TestQuantileThresholds(t *testing.T) {
	for name, least := range map[string]int{"median": 1, "p50": 1, "p90": 29, "p95": 59, "p99": 299} {
		p := map[string]float64{"p90": 0.9, "p95": 0.95, "p99": 0.99}[name]
		if p > 0 && (1-math.Pow(p, float64(least)) < 0.95 || 1-math.Pow(p, float64(least-1)) >= 0.95) {
			t.Errorf("%d is not the least n with 1 − %v^n ≥ 0.95", least, p)
		}
		if StatOf(name).Least != least {
			t.Errorf("%s takes %d values, want %d", name, StatOf(name).Least, least)
		}
		for _, n := range []int{least - 1, least} {
			s, _ := SummaryOf("ttft", make([]float64, n))
			if _, ok := s.Stats[name]; ok != (n >= least) {
				t.Errorf("%s of %d values: present %v", name, n, ok)
			}
		}
	}
}

// summaryOf are the statistics of one cell's samples.
func summaryOf(samples []Sample, cell string) map[string]Summary {
	return summarize(answersOf(samples, CellRun{Cell: cell}))
}

func TestSummarize(t *testing.T) {
	good := func(workload string, at int) Sample {
		s := sample(100, 3, text(at, 1), text(at+10, 2), text(at+20, 3), usage(at+20, 3), done(at+20))
		s.Workload = workload
		return s
	}
	warm, failed, unsound, context := good("chat", 500), good("chat", 600), good("chat", 700), good("chat", 800)
	warm.Warmup, failed.Err, context.Context = true, "stalled", true
	slices.Reverse(unsound.Events)
	samples := []Sample{warm, context, good("chat", 10), failed, good("chat", 30), unsound, good("other", 999)}
	got := summaryOf(samples, "chat")
	if s := got["ttft"]; s.N != 2 || s.Requests != 2 || s.Stats["median"] != 20 || s.Stats["max"] != 30 {
		t.Errorf("ttft = %+v", s)
	}
	if s := got["itl"]; s.N != 4 || s.Requests != 2 || s.Stats["mean"] != 10 {
		t.Errorf("itl = %+v", s)
	}
	if _, ok := got["cached_tokens"]; ok {
		t.Error("cached_tokens although the server did not say")
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	if empty := summaryOf([]Sample{warm, failed}, "chat"); len(empty) != 0 {
		t.Errorf("no good samples gave %v", empty)
	}
}

// Four requests that become twice as fast halfway, in whatever order they are passed: the
// log of the first half's median over the second's.
func TestDrift(t *testing.T) {
	at := func(due time.Duration, v ...float64) answer {
		return answer{&Sample{Scheduled: due}, Values{"tg": v}}
	}
	for _, c := range []struct {
		name    string
		answers []answer
		want    float64
		known   bool
	}{
		{"faster", []answer{at(3, 40), at(1, 20), at(0, 20), at(2, 40)}, math.Log(0.5), true},
		{"steady", []answer{at(0, 20), at(1, 30), at(2, 30), at(3, 20)}, 0, true},
		{
			"the one in the middle is in neither half",
			[]answer{at(0, 10), at(1, 10), at(2, 1000), at(3, 10), at(4, 10)},
			0, true,
		},
		{"too few", []answer{at(0, 20), at(1, 20), at(2, 40)}, 0, false},
		{"more than one value a request", []answer{at(0, 1, 2), at(1, 1, 2), at(2, 1, 2), at(3, 1, 2)}, 0, false},
		{"no log of zero", []answer{at(0, 0), at(1, 1), at(2, 1), at(3, 1)}, 0, false},
		{"failed requests have none", []answer{at(0, 20), at(1), at(2, 20), at(3, 20), at(4, 20)}, 0, true},
	} {
		got, known := driftOf(c.answers, "tg")
		if known != c.known || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v %v, want %v %v", c.name, got, known, c.want, c.known)
		}
	}
	s := summarize([]answer{at(0, 20), at(1, 20), at(2, 40), at(3, 40)})["tg"]
	if math.Abs(s.Stats[Drift]-math.Log(0.5)) > 1e-12 || StatOf(Drift).Name != "" {
		t.Errorf("%+v", s)
	}
}
