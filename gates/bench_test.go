package gates

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
)

// gate is twenty rules: ratios, levels, differences, memory and counts, joined in
// several ways.
func gate(b *testing.B) []*plans.Rule {
	var rules []*plans.Rule
	for i, text := range []string{
		"chat.tg.gain >= 0.%02d and levels.kernels == 'pass'", "chat.ttft.change <= 0.%02d", "chat.tg >= 3%d / 10",
		"chat.pp.gain >= 0.0%d or chat.tg.gain >= 0.02", "engine.memory_gb.delta <= %d.5",
	} {
		for n := range 4 {
			rules = append(rules, compiled(b, fmt.Sprintf(text, 1+(n+i)%4)))
		}
	}
	return rules
}

// evidence16 is 8 launches of each arm, near enough to each other that most rules
// are looked at to the end.
func evidence16() *Evidence {
	ev := session(rand.New(rand.NewPCG(6, 4)), 8, 0.02, 0.02)
	ev.Features["f"].Levels = full().Features["f"].Levels
	return ev
}

// BenchmarkDecide decides a gate of 20 rules over 16 launches from the launches'
// summaries, as the ledger keeps them.
func BenchmarkDecide(b *testing.B) {
	rules, ev := gate(b), evidence16()
	b.ReportAllocs()
	for b.Loop() {
		Decide(rules, ev, usual)
	}
}

// BenchmarkDecideOne decides one rule of one comparison: 10,000 of them are a
// replay of 10,000 small gates.
func BenchmarkDecideOne(b *testing.B) {
	rules, ev := []*plans.Rule{compiled(b, "chat.tg.gain >= 0.05")}, evidence16()
	b.ReportAllocs()
	for b.Loop() {
		Decide(rules, ev, usual)
	}
}

// BenchmarkDecideRaw decides the same gate from raw samples: 16 launches of 1,000
// requests with 32 events each, of which every metric is derived anew.
func BenchmarkDecideRaw(b *testing.B) {
	rules, ev := gate(b), evidence16()
	f := ev.Features["f"]
	var raw []measure.Recording
	for i := range 16 {
		raw = append(raw, recording(rand.New(rand.NewPCG(6, uint64(i))), 1000))
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range raw {
			a := []*Arm{&f.Candidate, &f.Parent}[i%2]
			l := &a.Launches[i/2]
			memory := l.Metrics["engine.memory_gb"]
			l.Metrics = measure.Evaluate(raw[i])
			l.Metrics["engine.memory_gb"] = memory
		}
		Decide(rules, ev, usual)
	}
}

// recording is one launch of n requests of 32 tokens.
func recording(r *rand.Rand, n int) measure.Recording {
	out := measure.Recording{Cells: []measure.CellRun{{Cell: "chat", To: time.Minute}}}
	for i := range n {
		s := measure.Sample{Workload: "chat", Index: i, PromptTokens: 100, OutputTokens: 32, CachedTokens: -1, Start: time.Duration(1 + i)}
		gap := 20e6 * (1 + 0.02*r.NormFloat64())
		for k := range 32 {
			s.Events = append(s.Events, measure.Event{At: time.Duration(50e6 + float64(k)*gap), Kind: measure.KindText, Tokens: k + 1, Bytes: 4})
		}
		out.Samples = append(out.Samples, s)
	}
	return out
}
