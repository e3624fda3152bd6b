package prompt

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/openai"
)

func TestPromptsAreExact(t *testing.T) {
	absent := &openai.StatusError{Method: "POST", Path: "/tokenize", Status: 404}
	for name, count := range tokenizers {
		for _, c := range []Spec{
			{API: openai.Completions},
			{API: openai.Completions, Depth: 300},
			{API: openai.Completions, Turns: 2},
			{API: openai.Completions, Depth: 20, SystemTokens: 100},
			{API: openai.Chat, CountTemplate: true},
			{API: openai.Chat, SystemTokens: 120, Depth: 200, CountTemplate: true},
			{API: openai.Chat, SystemTokens: 120, Turns: 3},
		} {
			for _, tokens := range []int{64, 511, 2048} {
				for _, hidden := range []bool{false, true} {
					f := &fake{count: count}
					method := Tokenizer
					if hidden {
						f.noTokens, method = absent, Pieces
					}
					if hidden && name != "words" && name != "pieces of four" {
						continue // no word is one token
					}
					c.Cell, c.Seed, c.Tokens, c.Warmup, c.Requests = "chat", 1, tokens, 2, 5
					at := fmt.Sprintf("%s %s %+v", name, method, c)
					p, err := Build(t.Context(), f, c)
					if err != nil {
						t.Fatalf("%s: %v", at, err)
					}
					if p.Method != method || !p.Exact() || len(p.Warmup) != 2 || len(p.Measured) != 5 {
						t.Errorf("%s: %s, verified %v, exact %v", at, p.Method, p.Verified, p.Exact())
					}
					for _, one := range p.Measured {
						asked := tokens
						if c.API == openai.Chat && !c.CountTemplate {
							asked += p.Template
						}
						if seen := f.sees(t, c.API, one); seen != asked+c.Depth+c.SystemTokens || one.Asked != asked {
							t.Errorf("%s: the engine sees %d tokens, want %d and %d", at, seen, asked, c.Depth+c.SystemTokens)
						}
						if text := one.Context + one.Text; c.API == openai.Chat && strings.TrimSpace(text) != text {
							t.Errorf("%s: %.40q would be trimmed by a template", at, text)
						}
						for next := one.Next; next != nil; next = next.Next {
							if n := count(next.Text) - 1; n != tokens && name != "pairs" {
								t.Errorf("%s: a later turn of %d tokens", at, n)
							}
						}
						if n := count(one.Context) - 1; c.API == openai.Chat && n != c.Depth && c.Depth > 0 && name != "pairs" {
							t.Errorf("%s: a context of %d tokens, want %d", at, n, c.Depth)
						}
					}
				}
			}
		}
	}
}

// What was learnt makes a prompt cost a few counts, whatever its length.
func TestPromptsCostFewCounts(t *testing.T) {
	f := &fake{count: tokenizers["pieces of four"]}
	spec := Spec{Cell: "chat", Tokens: 2048, Requests: 10, Learned: &Learned{}}
	for i, most := range []int{10*3 + 2*len(prose), 10 * 3} {
		f.counts, f.sent = 0, nil
		spec.Cell = fmt.Sprint("cell", i)
		p, err := Build(t.Context(), f, spec)
		if err != nil || !p.Exact() {
			t.Fatal(p, err)
		}
		if f.counts > most || len(f.sent) > 2 {
			t.Errorf("cell %d: %d counts, at most %d wanted, and %d requests", i, f.counts, most, len(f.sent))
		}
	}
	f.noTokens = &openai.StatusError{Status: 404}
	spec.Learned = &Learned{}
	for i, most := range []int{4 + maxSingles + pooled + len(openers) + 3, len(openers) + 2} {
		f.sent = nil
		spec.Cell = fmt.Sprint("cell", i)
		p, err := Build(t.Context(), f, spec)
		if err != nil || p.Method != Pieces || !p.Exact() {
			t.Fatal(p.Method, err)
		}
		if len(f.sent) > most {
			t.Errorf("cell %d: %d requests, at most %d wanted", i, len(f.sent), most)
		}
	}
}

// Arms must get the very same prompts, however many each asks for.
func TestPromptsAreTheSameEveryTime(t *testing.T) {
	build := func(change func(*Spec)) Prompts {
		t.Helper()
		spec := Spec{Cell: "chat", Seed: 1, Tokens: 128, Warmup: 3, Requests: 10}
		change(&spec)
		p, err := Build(t.Context(), &fake{count: tokenizers["pieces of four"]}, spec)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	same := func(*Spec) {}
	a, b := build(same), build(same)
	if !reflect.DeepEqual(a, b) || a.Digest() != b.Digest() {
		t.Error("two builds differ")
	}
	fewer := build(func(s *Spec) { s.Requests, s.Warmup = 4, 1 })
	if !reflect.DeepEqual(a.Measured[:4], fewer.Measured) || !reflect.DeepEqual(a.Warmup[:1], fewer.Warmup) {
		t.Error("a prompt depends on how many there are")
	}
	for name, change := range map[string]func(*Spec){
		"seed": func(s *Spec) { s.Seed = 2 }, "cell": func(s *Spec) { s.Cell = "chat.o32" },
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
	// No word is one token here, so that nothing adds up exactly.
	f := &fake{count: tokenizers["bytes"], noTokens: absent}
	spec := Spec{Cell: "chat", API: openai.Chat, CountTemplate: true, Tokens: 1000, Warmup: 1, Requests: 3}
	p, err := Build(t.Context(), f, spec)
	if err != nil || p.Method != ByUsage || p.Exact() {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, one := range p.Measured {
		if seen := f.sees(t, openai.Chat, one); seen < 950 || seen > 1050 {
			t.Errorf("%d tokens, want about 1000", seen)
		}
	}
	f.noUsage = true
	p, err = Build(t.Context(), f, spec)
	if err != nil || p.Method != Guess || p.Exact() || len(p.Measured[0].Text) != 4000 {
		t.Errorf("%s, %v", p.Method, err)
	}
	f.noTokens = nil
	if p, err = Build(t.Context(), f, spec); err != nil || p.Method != Tokenizer || p.Verified || p.Exact() {
		t.Errorf("counts that no usage confirmed are exact: %+v, %v", p.Method, err)
	}
}

// A tokenizer that is not the one that the engine uses must not be believed.
func TestPromptsOfAnotherTokenizer(t *testing.T) {
	f := &fake{count: tokenizers["words"]}
	lies := &liar{f}
	p, err := Build(t.Context(), lies, Spec{Cell: "chat", Tokens: 500, Requests: 3})
	if err != nil || p.Method != Pieces || !p.Exact() {
		t.Fatalf("%s %v, %v", p.Method, p.Exact(), err)
	}
	for _, one := range p.Measured {
		if seen := f.sees(t, openai.Completions, one); seen != 500 {
			t.Errorf("%d tokens, want 500", seen)
		}
	}
}

// liar counts bytes where its engine counts words.
type liar struct{ *fake }

func (l *liar) Tokenize(_ context.Context, text string) (int, []int, error) {
	return 1 + len(text), nil, nil
}

func TestPromptsThatCannotBe(t *testing.T) {
	broken := errors.New("connection refused")
	one := func(change func(*Spec)) Spec {
		s := Spec{Cell: "chat", Tokens: 100, Requests: 2}
		change(&s)
		return s
	}
	row := &Dataset{Name: "x.jsonl", Rows: []Row{{Line: 1, Turns: []string{"a"}}, {Line: 2, Turns: []string{"a"}}}}
	for want, c := range map[string]struct {
		engine *fake
		spec   Spec
	}{
		"connection refused":   {&fake{noTokens: broken}, one(func(*Spec) {})},
		"cannot be made":       {&fake{}, one(func(s *Spec) { s.Tokens = 0 })},
		"template alone":       {&fake{count: tokenizers["bytes"]}, one(func(s *Spec) { s.Tokens, s.API, s.CountTemplate = 5, openai.Chat, true })},
		"to be unique":         {&fake{count: tokenizers["bytes"]}, one(func(s *Spec) { s.Tokens, s.Requests = 2, 300 })},
		"unknown distribution": {&fake{}, one(func(s *Spec) { s.Lengths = &Lengths{Distribution: "zipf"} })},
		"as a chat":            {&fake{}, one(func(s *Spec) { s.Random, s.API = true, openai.Chat })},
		"no conversation":      {&fake{}, one(func(s *Spec) { s.Random, s.Turns = true, 2 })},
		"lists ids":            {&fake{count: tokenizers["bytes"]}, one(func(s *Spec) { s.Random = true })},
		"of its own":           {&fake{}, one(func(s *Spec) { s.Data, s.Depth = row, 5 })},
		"2 rows":               {&fake{}, one(func(s *Spec) { s.Data, s.Warmup = row, 1 })},
		"are the same":         {&fake{}, one(func(s *Spec) { s.Data = row })},
	} {
		if _, err := Build(t.Context(), c.engine, c.spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
