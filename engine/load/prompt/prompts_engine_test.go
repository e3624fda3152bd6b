package prompt

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// fake is an engine with a tokenizer of choice. Its chat template adds 7 tokens.
type fake struct {
	mu       sync.Mutex
	count    func(text string) int
	noTokens error // of Tokenize
	noUsage  bool
	counts   int
	bytes    int // that were counted
	sent     []openai.Request
}

func (f *fake) Tokenize(_ context.Context, text string) (int, []int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts++
	f.bytes += len(text)
	if f.noTokens != nil {
		return 0, nil, f.noTokens
	}
	return f.count(text), nil, nil
}

func (f *fake) Stream(_ context.Context, r openai.Request) (measure.Sample, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, r)
	s := measure.Sample{PromptTokens: -1, OutputTokens: r.MaxTokens, CachedTokens: -1, RequestedOutput: r.MaxTokens}
	if !f.noUsage {
		s.PromptTokens = f.count(r.Prompt) + len(r.Tokens)
		if r.Tokens != nil {
			s.PromptTokens = len(r.Tokens)
		}
		for _, m := range r.Before {
			s.PromptTokens += f.count(m.Content) - 1 + 3 // the role's
		}
		if r.API == openai.Chat {
			s.PromptTokens += 7
		}
	}
	return s, nil
}

// sees is how many tokens the engine counts in a prompt.
func (f *fake) sees(t *testing.T, api openai.API, p Prompt) int {
	t.Helper()
	r := openai.Request{API: api, MaxTokens: 1}
	p.Fill(&r)
	s, err := f.Stream(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return s.PromptTokens
}

// Tokenizers of different grain, each with a token at the start.
var tokenizers = map[string]func(string) int{
	"bytes": func(s string) int { return 1 + len(s) },
	"words": func(s string) int { return 1 + len(strings.Fields(s)) },
	"pieces of four": func(s string) int {
		n := 1
		for _, w := range strings.Fields(s) {
			n += (len(w) + 3) / 4
		}
		return n
	},
	// Two tokens for every letter: odd numbers are met only with punctuation, and no
	// text shows that one token begins each, as one of a single token would.
	"pairs": func(s string) int {
		n := 1
		for _, r := range s {
			n += 2
			if r == '.' || r == ',' {
				n--
			}
		}
		return n
	},
}
