package embedded

import (
	"context"
	"fmt"
	"io"
	"testing"
)

// BenchmarkSpeculation generates 64 tokens of text that the prompt holds
// already, where drafts are right, and of text that it does not, where most
// are wrong. It says which part of the drafted tokens was right.
func BenchmarkSpeculation(b *testing.B) {
	for _, moe := range []string{MoERouted, MoEAll} {
		for _, text := range []string{"repeated", "fresh"} {
			for _, n := range []int{0, 2, 4, 8, 16} {
				b.Run(fmt.Sprintf("moe=%s/text=%s/n=%d", moe, text, n), func(b *testing.B) {
					m := testModel(b, func(c *Config) { c.Speculation, c.MoE, c.MaxModelLen = n, moe, 4096 })
					benchmarkSpeculation(b, m, repeatedPrompt(m, text == "repeated"))
				})
			}
		}
	}
}

// repeatedPrompt begins a paragraph, after the whole text or after nothing.
func repeatedPrompt(m *Model, repeated bool) []token {
	beginning := m.tk.encode("\n\nA harbour wakes")
	if !repeated {
		return beginning
	}
	return append(m.tk.encode(corpusText), beginning...)
}

func benchmarkSpeculation(b *testing.B, m *Model, prompt []token) {
	s := newScheduler(m, io.Discard, func(int) {})
	g := generation{prompt: prompt, maxTokens: 65, ignoreEOS: true, topP: 1}
	for b.Loop() {
		b.StopTimer() // until the prompt is read
		err := s.generate(context.Background(), g, func(p piece) error {
			if p.count == 1 {
				b.StartTimer()
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*64)/b.Elapsed().Seconds(), "tok/s")
	if drafted := s.metrics.drafted.Load(); drafted > 0 {
		b.ReportMetric(float64(s.metrics.accepted.Load())/float64(drafted), "accepted")
	}
}
