package coherence

import (
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/engine/measure"
)

// writer makes answers of about n characters.
type writer func(r *rand.Rand, n int) string

// texts are sentences that the comparison itself has never read.
var texts = sync.OnceValue(func() []string {
	text, err := os.ReadFile("../../embedded/corpus.txt")
	if err != nil {
		panic(err)
	}
	return strings.SplitAfter(strings.NewReplacer("Q: ", "", "A: ", "", "\n", " ").Replace(string(text)), ". ")
})

// sentences are sound texts: no two alike, of one quality.
func sentences(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n+20 {
		b.WriteString(texts()[r.IntN(len(texts()))] + " ")
	}
	from := r.IntN(20)
	return b.String()[from : from+n]
}

// circles turn in a circle after a beginning, as greedy decoding does.
func circles(r *rand.Rand, n int) string {
	start := sentences(r, n/4)
	return (start + strings.Repeat(sentences(r, 25), n/25))[:n]
}

// pieces are short pieces of text, as a vocabulary has them.
func pieces() []string {
	text := strings.Join(texts(), " ")
	r := rand.New(rand.NewPCG(3, 3))
	all := make([]string, 500)
	for i := range all {
		from := r.IntN(len(text) - 5)
		all[i] = text[from : from+1+r.IntN(4)]
	}
	return all
}

func drawn(from []string, space string) writer {
	return func(r *rand.Rand, n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(from[r.IntN(len(from))] + space)
		}
		return b.String()[:n]
	}
}

func vocabulary() []string {
	seen, all := map[string]bool{}, []string{}
	for _, w := range strings.Fields(strings.Join(texts(), " ")) {
		if !seen[w] {
			seen[w] = true
			all = append(all, w)
		}
	}
	return all
}

// always is a writer of one text.
func always(text string) writer { return func(*rand.Rand, int) string { return text } }

// some answers are of one writer, those before share of another.
func mixed(share float64, bad, good writer) writer {
	return func(r *rand.Rand, n int) string {
		if r.Float64() < share {
			return bad(r, n)
		}
		return good(r, n)
	}
}

func scripts(cell string, prompts, length int, seed uint64, w writer) []measure.Sample {
	r := rand.New(rand.NewPCG(seed, 77))
	samples := make([]measure.Sample, prompts)
	for i := range samples {
		samples[i] = measure.Sample{Workload: cell, Index: i, Text: w(r, length), OutputTokens: length / 4}
	}
	return samples
}
