package measure

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestLimit: one request decodes at 100 tok/s, where 1,000 GB/s could read steps of 5 GB
// 200 times per second, and takes 64 tokens of prompt in 10 ms, where 100 TFLOP/s could
// do 10 GFLOP 10,000 times per second.
func TestLimit(t *testing.T) {
	limit := func(change func(*Limit)) *Limit {
		l := &Limit{BandwidthGBs: 1000, StepGB: 5, Requests: 1, LeastGB: 2, PromptGFLOP: 10, TFLOPs: 100, MostTFLOPs: 200, Room: 1.25}
		if change != nil {
			change(l)
		}
		return l
	}
	// Events hold perEvent tokens each, 10 ms per token.
	recording := func(perEvent int, l *Limit) Recording {
		s := Sample{Workload: "chat", PromptTokens: 64, OutputTokens: 20 * perEvent, CachedTokens: -1, TokenSource: SourceContinuousUsage}
		for i := range 20 {
			s.Events = append(s.Events, Event{At: time.Duration(10+10*perEvent*i) * time.Millisecond, Kind: KindText, Tokens: (i + 1) * perEvent})
		}
		return Recording{Cells: []CellRun{{Cell: "chat", To: 10 * time.Second, Limit: l}}, Samples: []Sample{s}}
	}
	counters := func(r Recording) Recording {
		for name, grown := range map[string]float64{"engine.spec_drafts": 100, "engine.spec_accepted_tokens": 300} {
			r.Series = append(r.Series, Series{Name: name, At: []time.Duration{0, 10 * time.Second}, Value: []float64{0, grown}})
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
