package load

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestLateness(t *testing.T) {
	var samples []measure.Sample
	for i := range 200 {
		due := time.Duration(i) * time.Second
		samples = append(samples, measure.Sample{OpenLoop: true, Due: due, Start: due + time.Duration(i)*100*time.Microsecond})
	}
	samples = append(samples,
		measure.Sample{OpenLoop: true, Warmup: true, Start: time.Hour}, measure.Sample{OpenLoop: true, Context: true, Start: time.Hour},
		measure.Sample{Start: time.Hour})
	samples[199].Err = "broken" // it was late all the same
	if l := Lag(samples, 10*time.Millisecond); l.Of != 200 || l.Over != 99 || !l.Late || l.Max != 19900*time.Microsecond || l.P99 < 19700*time.Microsecond || l.P99 > 19900*time.Microsecond {
		t.Errorf("%+v", l)
	}
	if l := Lag(samples, 20*time.Millisecond); l.Late || l.Over != 0 {
		t.Errorf("%+v", l)
	}
	if l := Lag(samples[200:], 0); l != (Lateness{}) {
		t.Errorf("%+v", l)
	}
	series := measure.Series{At: []time.Duration{1, 2, 3, 4}, Value: []float64{50, 0.5, 3, 70}}
	if l := Delayed(series, 2, 3, time.Millisecond); l.Of != 2 || l.Over != 1 || l.Late || l.Max != 3*time.Millisecond {
		t.Errorf("%+v", l)
	}
	if l := Delayed(series, 1, 4, time.Millisecond); l.Over != 3 || !l.Late {
		t.Errorf("%+v", l)
	}
	if l := Delayed(measure.Series{}, 0, 1, time.Millisecond); l.Of != 0 || l.Late {
		t.Errorf("%+v", l)
	}
}

func TestFindings(t *testing.T) {
	s := func(prompt, output, cached int) measure.Sample {
		return measure.Sample{PromptTokens: prompt, OutputTokens: output, CachedTokens: cached, RequestedOutput: 32, RequestedPrompt: 100}
	}
	warm, failed := s(1, 1, 1), s(1, 1, 1)
	warm.Warmup, failed.Err = true, "stalled"
	samples := []measure.Sample{warm, failed, s(100, 32, 0), s(100, 30, 25), s(90, 33, -1), s(-1, -1, 50)}
	if got, want := Shortfall(samples), (Shortage{Requests: 2, Of: 4, Tokens: 34}); got != want {
		t.Errorf("shortfall %+v, want %+v", got, want)
	}
	if got, want := Contaminated(samples, 0, 0), (Contamination{Requests: 2, Of: 4, Unknown: 1, Tokens: 75, Worst: 1}); got != want {
		t.Errorf("contaminated %+v, want %+v", got, want)
	}
	if got := Contaminated(samples[:4], 0, 0); got.Worst != 0.25 {
		t.Errorf("worst share %v, want 0.25", got.Worst)
	}
	for _, asked := range []int{0, 100} {
		if got, want := Deviating(samples, asked), (Deviation{Requests: 1, Of: 4, Unknown: 1, Least: 90, Most: 100}); got != want {
			t.Errorf("deviating %+v, want %+v", got, want)
		}
	}
	if got := Deviating(samples, 90); got.Requests != 2 {
		t.Errorf("what was asked of all counts: %+v", got)
	}
	if got := Shortfall(nil); got != (Shortage{}) {
		t.Errorf("nothing: %+v", got)
	}
}

// Tokens that were put into the cache on purpose are no contamination, and
// those beyond them are.
func TestExpectedInCache(t *testing.T) {
	// A template of 8 tokens, a system prompt of 20, a context of 100 with it, a
	// prompt of 30.
	one := func(index, cached int) measure.Sample {
		return measure.Sample{Workload: "chat", Index: index, PromptTokens: 138, ContextTokens: 100, RequestedPrompt: 38, CachedTokens: cached}
	}
	context := func(index int) measure.Sample {
		return measure.Sample{Workload: "chat", Index: index, Context: true, CachedTokens: 64, PromptTokens: 108}
	}
	later := func(cached int) measure.Sample {
		return measure.Sample{Workload: "chat", Turn: 1, PromptTokens: 300, ContextTokens: 270, RequestedPrompt: 30, CachedTokens: cached}
	}
	tests := []struct {
		name    string
		samples []measure.Sample
		cached  Contamination
		missing Contamination
	}{
		{"a context that was cached", []measure.Sample{context(0), one(0, 108)}, Contamination{Of: 1}, Contamination{Of: 1}},
		{"and was not found", []measure.Sample{context(0), one(0, 25)}, Contamination{Of: 1}, Contamination{Of: 1, Requests: 1, Tokens: 75, Worst: 0.75}},
		{"and of which nothing is known", []measure.Sample{context(0), one(0, -1)}, Contamination{Of: 1, Unknown: 1}, Contamination{Of: 1, Unknown: 1}},
		{"the prompt too", []measure.Sample{context(0), one(0, 123)}, Contamination{Of: 1, Requests: 1, Tokens: 15, Worst: 0.5}, Contamination{Of: 1}},
		{"the system prompt that all share", []measure.Sample{one(0, 28)}, Contamination{Of: 1}, Contamination{}},
		{"a context of another request", []measure.Sample{context(1), one(0, 128)}, Contamination{Of: 1, Requests: 1, Tokens: 100, Worst: 100. / 110}, Contamination{}},
		{"a later turn", []measure.Sample{later(256)}, Contamination{Of: 1}, Contamination{Of: 1, Requests: 1, Tokens: 14, Worst: 14. / 270}},
		{"a later turn as a whole", []measure.Sample{later(300)}, Contamination{Of: 1, Requests: 1, Tokens: 22, Worst: 1}, Contamination{Of: 1}},
	}
	for _, tt := range tests {
		if got := Contaminated(tt.samples, 8, 20); got != tt.cached {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.cached)
		}
		if got := Recomputed(tt.samples); got != tt.missing {
			t.Errorf("%s: recomputed %+v, want %+v", tt.name, got, tt.missing)
		}
	}
	if d := Deviating([]measure.Sample{one(0, 0), later(0)}, 38); d != (Deviation{Of: 1, Least: 38, Most: 38}) {
		t.Errorf("%+v", d)
	}
}
