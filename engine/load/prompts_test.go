package load

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// fake is an engine with a tokenizer of choice. Its chat template adds 7 tokens.
type fake struct {
	count    func(text string) int
	noTokens error // of Tokenize
	noUsage  bool
	counts   int
	sent     []openai.Request
}

func (f *fake) Tokenize(_ context.Context, text string) (int, []int, error) {
	f.counts++
	if f.noTokens != nil {
		return 0, nil, f.noTokens
	}
	return f.count(text), nil, nil
}

func (f *fake) Stream(_ context.Context, r openai.Request) (measure.Sample, error) {
	f.sent = append(f.sent, r)
	s := measure.Sample{PromptTokens: -1, OutputTokens: r.MaxTokens, CachedTokens: -1, RequestedOutput: r.MaxTokens}
	if !f.noUsage {
		s.PromptTokens = f.count(r.Prompt)
		if r.API == openai.Chat {
			s.PromptTokens += 7
		}
	}
	return s, nil
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
	// Two tokens for every letter: odd numbers are met only with punctuation.
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

func TestPromptsAreExact(t *testing.T) {
	for name, count := range tokenizers {
		for _, api := range []openai.API{openai.Completions, openai.Chat} {
			for _, tokens := range []int{64, 65, 511, 2048} {
				f := &fake{count: count}
				spec := PromptSpec{Cell: "chat", Seed: 1, API: api, Tokens: tokens, Warmup: 2, Requests: 5}
				p, err := BuildPrompts(t.Context(), f, spec)
				if err != nil {
					t.Fatalf("%s %s %d: %v", name, api, tokens, err)
				}
				if p.Method != Tokenizer || !p.Exact(tokens) || len(p.Warmup) != 2 || len(p.Measured) != 5 {
					t.Errorf("%s %s %d: not exact: %d %+v", name, api, tokens, p.Template, p.Measured)
				}
				for _, one := range p.Measured {
					s, _ := f.Stream(t.Context(), openai.Request{API: api, Prompt: one.Text})
					if s.PromptTokens != tokens {
						t.Errorf("%s %s: the engine sees %d tokens, want %d", name, api, s.PromptTokens, tokens)
					}
					if strings.TrimSpace(one.Text) != one.Text {
						t.Errorf("%s: %q would be trimmed by a template", name, one.Text)
					}
				}
				if f.counts > 30*len(p.Measured) {
					t.Errorf("%s %d: %d counts for %d prompts", name, tokens, f.counts, len(p.Measured)+len(p.Warmup))
				}
			}
		}
	}
}

// Arms must get the very same prompts, however many each asks for.
func TestPromptsAreTheSameEveryTime(t *testing.T) {
	build := func(change func(*PromptSpec)) Prompts {
		t.Helper()
		spec := PromptSpec{Cell: "chat", Seed: 1, Tokens: 128, Warmup: 3, Requests: 10}
		change(&spec)
		p, err := BuildPrompts(t.Context(), &fake{count: tokenizers["pieces of four"]}, spec)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	same := func(*PromptSpec) {}
	a, b := build(same), build(same)
	if !reflect.DeepEqual(a, b) || a.Digest() != b.Digest() {
		t.Error("two builds differ")
	}
	fewer := build(func(s *PromptSpec) { s.Requests, s.Warmup = 4, 1 })
	if !reflect.DeepEqual(a.Measured[:4], fewer.Measured) || !reflect.DeepEqual(a.Warmup[:1], fewer.Warmup) {
		t.Error("a prompt depends on how many there are")
	}
	for name, change := range map[string]func(*PromptSpec){
		"seed": func(s *PromptSpec) { s.Seed = 2 }, "cell": func(s *PromptSpec) { s.Cell = "chat.o32" },
	} {
		if other := build(change); other.Digest() == a.Digest() || other.Measured[0].Text[:16] == a.Measured[0].Text[:16] {
			t.Errorf("another %s gives the same prompts", name)
		}
	}
	begins, rests := map[string]bool{}, map[string]bool{}
	for _, one := range append(a.Warmup, a.Measured...) {
		begins[one.Text[:16]] = true
		rests[one.Text[17:200]] = true
	}
	if len(begins) != 13 || len(rests) != 13 {
		t.Errorf("%d different beginnings and %d different texts among 13 prompts", len(begins), len(rests))
	}
}

func TestPromptsWithoutTokenizer(t *testing.T) {
	absent := &openai.StatusError{Method: "POST", Path: "/tokenize", Status: 404}
	f := &fake{count: tokenizers["pieces of four"], noTokens: absent}
	spec := PromptSpec{Cell: "chat", API: openai.Chat, Tokens: 1000, Warmup: 1, Requests: 3}
	p, err := BuildPrompts(t.Context(), f, spec)
	if err != nil || p.Method != ByUsage || p.Exact(1000) {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, one := range p.Measured {
		s, _ := f.Stream(t.Context(), openai.Request{API: openai.Chat, Prompt: one.Text})
		if s.PromptTokens < 950 || s.PromptTokens > 1050 {
			t.Errorf("%d tokens, want about 1000", s.PromptTokens)
		}
	}
	f.noUsage = true
	p, err = BuildPrompts(t.Context(), f, spec)
	if err != nil || p.Method != Guess || len(p.Measured[0].Text) != 4000 {
		t.Errorf("%s, %v", p.Method, err)
	}
}

func TestPromptsThatCannotBe(t *testing.T) {
	broken := errors.New("connection refused")
	spec := PromptSpec{Cell: "chat", Tokens: 100, Requests: 2}
	if _, err := BuildPrompts(t.Context(), &fake{noTokens: broken}, spec); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	spec.Tokens = 0
	if _, err := BuildPrompts(t.Context(), &fake{count: tokenizers["bytes"]}, spec); err == nil {
		t.Error("prompts of no tokens")
	}
	spec.Tokens, spec.API = 5, openai.Chat
	if _, err := BuildPrompts(t.Context(), &fake{count: tokenizers["bytes"]}, spec); err == nil || !strings.Contains(err.Error(), "template") {
		t.Errorf("shorter than the template: %v", err)
	}
	spec.Tokens, spec.API, spec.Requests = 2, openai.Completions, 300
	if _, err := BuildPrompts(t.Context(), &fake{count: tokenizers["bytes"]}, spec); err == nil || !strings.Contains(err.Error(), "unique") {
		t.Errorf("300 unique prompts of one byte: %v", err)
	}
}
