package measure

import (
	"testing"
	"time"
)

// BenchmarkEvaluate derives everything of 1,000 streams with 500 events each.
func BenchmarkEvaluate(b *testing.B) {
	r := Recording{Cells: []CellRun{{Cell: "chat", To: time.Minute}}}
	for i := range 1000 {
		s := Sample{Workload: "chat", Index: i, PromptTokens: 100, OutputTokens: 500, CachedTokens: -1, Start: time.Duration(1 + i)}
		for n := range 500 {
			s.Events = append(s.Events, Event{At: time.Duration(50e6 + n*20e6 + i*n%7), Kind: KindText, Tokens: n + 1, Bytes: 4})
		}
		r.Samples = append(r.Samples, s)
	}
	for b.Loop() {
		if len(Evaluate(r)) < 20 {
			b.Fatal("metrics are missing")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500_000, "ns/event")
}
