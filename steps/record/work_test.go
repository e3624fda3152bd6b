package record

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
)

// answered is what a launch of n requests brings back, of prompts of 2,048 words and
// answers of 256, each an event of its own.
func answered(n int, seed uint64) (samples []measure.Sample, sent prompt.Prompts) {
	r := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields(strings.Join(prompt.Prose(), " "))
	say := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(" " + words[r.IntN(len(words))])
		}
		return b.String()
	}
	for i := range n {
		sent.Measured = append(sent.Measured, prompt.Prompt{Text: fmt.Sprintf("%x.", r.Uint64()) + say(2048), Tokens: 2048})
		s := measure.Sample{
			Workload: "chat", Index: i, Text: say(256), PromptTokens: 2048, OutputTokens: 256, RequestedPrompt: 2048, RequestedOutput: 256,
			TokenSource: measure.SourceUsage, Finish: "length",
		}
		for j := range 256 {
			s.Events = append(s.Events, measure.Event{Kind: measure.KindText, At: 50*time.Millisecond + time.Duration(j)*5*time.Millisecond, Tokens: -1, Bytes: 5})
		}
		samples = append(samples, s)
	}
	return samples, sent
}

// BenchmarkWork is what is looked at beside the numbers of a launch of 1,000 requests
// and, once a look, of two arms of four such launches.
func BenchmarkWork(b *testing.B) {
	const requests, launches = 1000, 4
	samples, sent := answered(requests, 1)
	b.Run("mark", func(b *testing.B) {
		for b.Loop() {
			mark(samples, sent)
		}
	})
	b.Run("judge", func(b *testing.B) {
		for b.Loop() {
			r := &recording{taken: &Measurement{}}
			r.sent = []sentCell{{w: &plans.Workload{}, cell: plans.Cell{Address: "chat", Prompt: 2048}, prompts: sent, samples: samples}}
			r.judge()
			if len(r.taken.Invalid) > 0 {
				b.Fatal(r.taken.Invalid)
			}
		}
	})
	var arms [2]answers.Arm
	for i := range 2 * launches {
		some, sent := answered(requests, uint64(i+2))
		mark(some, sent)
		arms[i%2].Samples = append(arms[i%2].Samples, some...)
	}
	b.Run("compare", func(b *testing.B) {
		for b.Loop() {
			if found, _ := answers.CompareWork(arms[0], arms[1], 0); len(found) > 0 {
				b.Fatal(found)
			}
		}
	})
	b.Run("coherence", func(b *testing.B) {
		for b.Loop() {
			if c := answers.Signs(arms[0].Samples, arms[1].Samples); len(c) != 1 || c[0].Garbage > 0 {
				b.Fatal(c)
			}
		}
	})
}
