package prompt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mxflow/mxflow/engine/openai"
)

// fewestSafe is the minimum of known token ids to draw from.
const fewestSafe = 64

// random draws prompts of token ids. They are ids that the tokenizer gave for plain
// words, numbers and sentences: any other id may be a special token, which ends a text or
// opens a picture.
type random struct {
	spec Spec
	safe []int
	// begin is the order in which ids start prompts, so no two have the same first one
	// until all have been used.
	begin []int
	// added is what the engine counts beyond the ids sent.
	added    int
	verified bool
}

func newRandom(ctx context.Context, engine Engine, spec Spec) (*random, error) {
	safe, err := spec.Learned.safeIDs(ctx, engine)
	if err != nil {
		return nil, err
	}
	m := &random{spec: spec, safe: safe}
	m.begin = spec.source("begin", 0).r.Perm(len(safe))
	added := [2]int{}
	for i, n := range []int{shortProbe, longProbe} {
		p := Prompt{IDs: m.draw("probe", i, n)}
		seen, err := usage(ctx, engine, spec, p)
		if status, ok := errors.AsType[*openai.StatusError](err); ok && status.Status >= 400 && status.Status < http.StatusInternalServerError {
			return nil, fmt.Errorf(`the engine refused a prompt of token IDs: use prompts = "text", or an engine whose /v1/completions takes IDs (vLLM, SGLang, llama-server): %w`, err)
		}
		if err != nil {
			return nil, err
		}
		if seen < 0 {
			return m, nil
		}
		added[i] = seen - n
	}
	// One more token may start every text. Anything else was not these ids.
	if added[0] != added[1] || added[0] < 0 || added[0] > 1 {
		return nil, fmt.Errorf("the engine counts %d and %d tokens in prompts of %d and %d token IDs, so it does not use them unchanged: use prompts = \"text\"",
			shortProbe+added[0], longProbe+added[1], shortProbe, longProbe)
	}
	m.added, m.verified = added[0], true
	return m, nil
}

// prompt draws the prompt with an index, and its context.
func (m *random) prompt(_ context.Context, series string, index int) (Prompt, error) {
	n := m.spec.length(series, index, 0)
	if n <= m.added {
		return Prompt{}, fmt.Errorf("%d tokens are too few: the engine prepends one", n)
	}
	ids := m.draw(series, index, m.spec.Depth+n-m.added)
	p := Prompt{IDs: ids[m.spec.Depth:], Tokens: n, Asked: n, ContextTokens: m.spec.Depth, Output: m.spec.output(series, index, 0)}
	if m.spec.Depth > 0 {
		p.ContextIDs = ids[:m.spec.Depth:m.spec.Depth]
	}
	return p, nil
}

// draw is n ids, uniform but for the first.
func (m *random) draw(series string, index, n int) []int {
	place := 2 * index
	if series != "measured" {
		place++
	}
	r := m.spec.source(series+" ids", index).r
	ids := make([]int, n)
	for i := range ids {
		ids[i] = m.safe[r.IntN(len(m.safe))]
	}
	ids[0] = m.safe[m.begin[place%len(m.begin)]]
	return ids
}

// varied are texts of many different tokens: our own sentences and words, numbers, and every word of
// two and three letters, which are tokens themselves in large vocabularies, and split
// into those of smaller ones.
func varied() []string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	texts := []string{strings.Join(Prose(), " "), strings.Join(allWords.singles(), "")}
	var numbers strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&numbers, " %d", i)
	}
	texts = append(texts, numbers.String()[1:])
	for _, a := range letters {
		var b strings.Builder
		for _, c := range letters {
			fmt.Fprintf(&b, " %c%c %s%c %c%c", a, c, strings.ToUpper(string(a)), c, c, a)
			for _, d := range letters {
				fmt.Fprintf(&b, " %c%c%c", a, c, d)
			}
		}
		texts = append(texts, b.String()[1:])
	}
	return texts
}
