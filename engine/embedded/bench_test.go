package embedded

import (
	"context"
	"testing"
)

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		testModel(b, func(*Config) {})
	}
}

// BenchmarkDecode decodes 32 tokens after 64, over and over; the prefill of
// each round is not timed.
func BenchmarkDecode(b *testing.B) {
	for _, kv := range []bool{true, false} {
		for _, moe := range []string{MoERouted, MoEAll} {
			for _, head := range []string{LMHeadF32, LMHeadMXFP4} {
				b.Run("kv="+onOff(kv)+"/moe="+moe+"/lm_head="+head, func(b *testing.B) {
					benchmarkDecode(b, testModel(b, func(c *Config) { c.KVCache, c.MoE, c.LMHead = kv, moe, head }))
				})
			}
		}
	}
}

func benchmarkDecode(b *testing.B, m *Model) {
	prompt := m.tk.encode(corpusText)[:64]
	greedy := newSampler(0, 1, 0)
	var seq *sequence
	step := func() {
		logits, err := m.step(context.Background(), seq)
		if err != nil {
			b.Fatal(err)
		}
		id, _ := greedy.choose(logits, noToken)
		seq.tokens = append(seq.tokens, id)
	}
	for b.Loop() {
		if seq == nil || len(seq.tokens) == 96 {
			b.StopTimer()
			seq = m.newSequence(prompt, 33)
			step()
			b.StartTimer()
		}
		step()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tok/s")
}

func BenchmarkPrefill(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(map[int]string{1: "threads=1", 2: "threads=2"}[threads], func(b *testing.B) {
			m := testModel(b, func(c *Config) { c.Threads = threads })
			prompt := m.tk.encode(corpusText)[:256]
			for b.Loop() {
				if _, err := m.step(context.Background(), m.newSequence(prompt, 1)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(prompt))/b.Elapsed().Seconds(), "tok/s")
		})
	}
}
