package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestPromptsAreExact(t *testing.T) {
	absent := &openai.StatusError{Method: "POST", Path: "/tokenize", Status: 404}
	for _, name := range []string{"words", "pieces of four"} { // no word of the others is a single token
		count := tokenizers[name]
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
						f.noTokens, method = absent, ByUsage
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
						want := asked + c.Depth + c.SystemTokens
						if seen := f.sees(t, c.API, one); seen != want || one.Tokens != asked {
							t.Errorf("%s: the engine sees %d tokens, want %d and %d", at, seen, asked,
								c.Depth+c.SystemTokens)
						}
						if text := one.Context + one.Text; c.API == openai.Chat && strings.TrimSpace(text) != text {
							t.Errorf("%s: %.40q would be trimmed by a template", at, text)
						}
						for next := one.Next; next != nil; next = next.Next {
							if n := count(next.Text) - 1; n != tokens {
								t.Errorf("%s: a later turn of %d tokens", at, n)
							}
						}
						if n := count(one.Context) - 1; c.API == openai.Chat && n != c.Depth && c.Depth > 0 {
							t.Errorf("%s: a context of %d tokens, want %d", at, n, c.Depth)
						}
					}
				}
			}
		}
	}
}

// With what was learnt, a prompt costs a few counts, whatever its length.
func TestPromptsCostFewCounts(t *testing.T) {
	f := &fake{count: tokenizers["pieces of four"]}
	spec := Spec{Cell: "chat", Tokens: 2048, Requests: 10, Learned: &Knowledge{}}
	for i, most := range []int{10*3 + maxSingles + len(allWords['e']) + 20, 10 * 3} {
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
	spec.Learned = &Knowledge{}
	for i, most := range []int{4 + maxSingles + len(allWords['e']) + len(openers) + 3, len(openers) + 2} {
		f.sent = nil
		spec.Cell = fmt.Sprint("cell", i)
		p, err := Build(t.Context(), f, spec)
		if err != nil || p.Method != ByUsage || !p.Exact() {
			t.Fatal(p.Method, err)
		}
		if len(f.sent) > most {
			t.Errorf("cell %d: %d requests, at most %d wanted", i, len(f.sent), most)
		}
	}
}

// An engine asked to count a prompt could compute its answer meanwhile, so it sees no
// prompt before it is sent: neither the whole nor, without the nonce, the rest.
func TestPromptsAreNotShownBefore(t *testing.T) {
	for _, name := range []string{"words", "pieces of four"} { // the others' parts do not add up
		f := &fake{count: tokenizers[name]}
		p, err := Build(t.Context(), f,
			Spec{Cell: "chat", Tokens: 500, Depth: 200, SystemTokens: 60, Warmup: 1, Requests: 5})
		if err != nil || !p.Exact() {
			t.Fatalf("%s: %v, %v", name, p.Method, err)
		}
		for _, one := range p.Measured {
			for _, whole := range []string{one.Context, one.Text} {
				_, rest, _ := strings.Cut(whole, ".")
				for _, text := range f.asked {
					if strings.Contains(text, rest) {
						t.Errorf("%s: the engine was shown %.60q… before it was sent", name, rest)
					}
				}
			}
			if seen := f.sees(t, openai.Completions, one); seen != 500+200+60 {
				t.Errorf("%s: %d tokens", name, seen)
			}
		}
	}
}

// Arms must get exactly the same prompts, however many each requests.
func TestPromptsAreTheSameEveryTime(t *testing.T) {
	build := func(change func(*Spec)) Prompts {
		t.Helper()
		spec := Spec{Cell: "chat", Seed: 1, Tokens: 128, Warmup: 3, Requests: 10}
		change(&spec)
		p, err := Build(t.Context(), &fake{count: tokenizers["pieces of four"]}, spec)
		must.Do(t, err)
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
		if other := build(change); other.Digest() == a.Digest() ||
			other.Measured[0].Text[:16] == a.Measured[0].Text[:16] {
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

// Launches are sent their own texts, of one length; if they share a body, it follows a
// beginning of each launch's own.
func TestPromptsOfEachLaunch(t *testing.T) {
	for _, hidden := range []error{nil, &openai.StatusError{Method: "POST", Path: "/tokenize", Status: 404}} {
		f := &fake{count: tokenizers["words"], noTokens: hidden}
		spec := Spec{Cell: "chat", Seed: 1, Tokens: 300, Requests: 4, API: openai.Completions}
		build := func(draw, body string) []Prompt {
			spec.Draw, spec.Body = draw, body
			p, err := Build(t.Context(), f, spec)
			if err != nil || !p.Exact() {
				t.Fatalf("draw %q, body %q: %v, %s", draw, body, err, p.Method)
			}
			return p.Measured
		}
		one, other, again := build("a", ""), build("b", ""), build("a", "")
		left, right := build("a", "x"), build("b", "x")
		for i := range one {
			if one[i].Text != again[i].Text || one[i].Tokens != other[i].Tokens {
				t.Errorf("%q, again %q", one[i].Text, again[i].Text)
			}
			if n := common(one[i].Text, other[i].Text); n > len(one[i].Text)/4 {
				t.Errorf("%d bytes at the end are the same in another launch", n)
			}
			if n := common(left[i].Text, right[i].Text); n < len(left[i].Text)/2 ||
				left[i].Text[:12] == right[i].Text[:12] {
				t.Errorf("of a shared body %d bytes are the same\n%q\n%q", n, left[i].Text, right[i].Text)
			}
		}
	}
}

// common is the length of the end that two texts share, except for a few words that pad them.
func common(a, b string) (n int) {
	for cut := range 60 {
		for other := range 60 {
			x, y := a[:len(a)-cut], b[:len(b)-other]
			k := 0
			for k < min(len(x), len(y)) && x[len(x)-1-k] == y[len(y)-1-k] {
				k++
			}
			n = max(n, k)
		}
	}
	return n
}

func TestPromptsWithoutTokenizer(t *testing.T) {
	absent := &openai.StatusError{Method: "POST", Path: "/tokenize", Status: 404}
	// No word is a single token here, so nothing adds up exactly.
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
	// A tokenizer's counts of whole texts are exact nevertheless.
	f.noUsage = false
	if p, err = Build(t.Context(), f, spec); err != nil || p.Method != Tokenizer || !p.Exact() {
		t.Fatalf("%+v, %v", p.Method, err)
	}
	for _, one := range p.Measured {
		if seen := f.sees(t, openai.Chat, one); seen != 1000 {
			t.Errorf("%d tokens, want 1000", seen)
		}
	}
}

// A page that breaks is no better than none; one that is not up yet is no answer.
func TestPromptsWithABrokenTokenizer(t *testing.T) {
	for status, want := range map[int]Method{404: ByUsage, 500: ByUsage, 501: ByUsage, 502: "", 503: ""} {
		f := &fake{
			count:    tokenizers["words"],
			noTokens: &openai.StatusError{Method: "POST", Path: "/tokenize", Status: status},
		}
		p, err := Build(t.Context(), f, Spec{Cell: "chat", API: openai.Completions, Tokens: 100, Requests: 2})
		if p.Method != want || (err == nil) != (want != "") {
			t.Errorf("%d: %q, %v", status, p.Method, err)
		}
	}
}

// A tokenizer other than the engine's own must not be believed.
func TestPromptsOfAnotherTokenizer(t *testing.T) {
	f := &fake{count: tokenizers["words"]}
	lies := &liar{f}
	p, err := Build(t.Context(), lies, Spec{Cell: "chat", Tokens: 500, Requests: 3})
	if err != nil || p.Method != ByUsage || !p.Exact() {
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
		"connection refused":        {&fake{noTokens: broken}, one(func(*Spec) {})},
		"invalid lengths or counts": {&fake{}, one(func(s *Spec) { s.Tokens = 0 })},
		"template alone": {&fake{count: tokenizers["bytes"]}, one(func(s *Spec) {
			s.Tokens, s.API, s.CountTemplate = 5, openai.Chat, true
		})},
		"to be unique": {&fake{count: tokenizers["words"]}, one(func(s *Spec) {
			s.Tokens, s.Requests = 2, 300
		})},
		"cannot be drawn": {&fake{}, one(func(s *Spec) { s.Lengths = &Lengths{Distribution: "zipf"} })},
		"2 rows":          {&fake{}, one(func(s *Spec) { s.Data, s.Warmup = row, 1 })},
		"are the same":    {&fake{}, one(func(s *Spec) { s.Data = row })},
	} {
		if _, err := Build(t.Context(), c.engine, c.spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Prompts that fit into no memory are refused before the engine is asked anything.
func TestPromptsWithoutRoom(t *testing.T) {
	for name, spec := range map[string]Spec{
		"one that is too long": {Tokens: 500_000_000, Requests: 1},
		"its context":          {Tokens: 8, Depth: 500_000_000, Requests: 1},
		"its turns":            {API: openai.Chat, Tokens: 50_000_000, Turns: 9, Requests: 1},
		"drawn": {
			Lengths:  &Lengths{Distribution: Normal, Min: 1, Max: 100_000_000, Mean: 90_000_000},
			Requests: 5,
		},
		"with the warm-ups": {Tokens: 10_000_000, Requests: 30, Warmup: 30},
		"messages":          {API: openai.Chat, Tokens: 1, Turns: 1000, Requests: 1_000_000},
	} {
		if _, err := Build(t.Context(), nil, spec); err == nil || !strings.Contains(err.Error(), "exceed the limit") {
			t.Errorf("%s: %v", name, err)
		}
	}
	usual := Spec{Tokens: 131_072, Requests: 1000, Warmup: 100}
	if err := usual.check(); err != nil {
		t.Error(err)
	}
}

// Exact reports whether the lengths of prompts are what the engine's usage confirmed.
func (p Prompts) Exact() bool { return p.Verified }

// Digest is the SHA-256 of all that is sent for the prompts in order, in hexadecimal: equal digests mean equal
// prompts. Each is preceded by its length, so no two lists read the same.
func (p Prompts) Digest() string {
	h := sha256.New()
	for _, series := range [][]Prompt{p.Warmup, p.Measured} {
		fmt.Fprintf(h, "%d\n", len(series))
		for _, one := range series {
			text := encode(one)
			fmt.Fprintf(h, "%d\n%s", len(text), text)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fake is an engine with a configurable tokenizer. Its chat template adds 7 tokens.
type fake struct {
	mu       sync.Mutex
	count    func(text string) int
	noTokens error // of Tokenize
	noUsage  bool
	counts   int
	bytes    int // that were counted
	asked    []string
	sent     []openai.Request
}

func (f *fake) Tokenize(_ context.Context, text string) (int, []int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts++
	f.bytes += len(text)
	f.asked = append(f.asked, text)
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
		s.PromptTokens = f.count(r.Prompt)
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
	must.Do(t, err)
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
}

func encode(p Prompt) []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return text
}

// Words must be countable one by one: they start with a letter, are plain ASCII, and are
// there once in their class.
func TestWords(t *testing.T) {
	if len(Prose()) < 200 || len(allWords.singles()) < 300 || len(allWords) != 9 {
		t.Errorf("%d sentences, %d words in %d classes", len(Prose()), len(allWords.singles()), len(allWords))
	}
	for name, texts := range map[rune][]string{'P': Prose(), 'O': slices.Clone(openers)} {
		for i := range texts {
			texts[i] = " " + texts[i]
		}
		allOf(t, name, texts)
	}
	for class, texts := range allWords {
		allOf(t, class, texts)
		for _, text := range texts {
			if strings.Contains(text[1:], " ") || strings.HasSuffix(text, ".") != (class == 'e') {
				t.Errorf("%c: %q", class, text)
			}
		}
	}
	for _, pattern := range patterns {
		for _, class := range pattern {
			if len(allWords[class]) == 0 {
				t.Errorf("the pattern %s has %c, a class without words", pattern, class)
			}
		}
		if pattern[0] != 'D' || !strings.HasSuffix(pattern, "e") {
			t.Errorf("the pattern %s is no sentence", pattern)
		}
	}
}

func allOf(t *testing.T, class rune, texts []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			t.Errorf("%c: %q is there twice", class, text)
		}
		seen[text] = true
		letter := strings.ToLower(text[1:2])
		if text[0] != ' ' || letter < "a" || letter > "z" || strings.Contains(text, "  ") ||
			strings.TrimSpace(text) != text[1:] {
			t.Errorf("%c: %q", class, text)
		}
		for _, c := range []byte(text) {
			if c < ' ' || c > '~' {
				t.Errorf("%c: %q is not plain ASCII", class, text)
				break
			}
		}
	}
}

// Prompts have no run of words in common that is worth remembering, in a launch or in several.
func TestPromptsShareNoRuns(t *testing.T) {
	const run = 7
	for _, name := range []string{"words", "pieces of four", "bytes"} {
		// with all words, with short ones, and by length
		seen, all := map[string]int{}, 0
		for launch := range 4 {
			p, err := Build(t.Context(), &fake{count: tokenizers[name]},
				Spec{Cell: "chat", Draw: strings.Repeat("a", launch), Tokens: 2000, Requests: 16})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range p.Measured {
				words := strings.Fields(one.Text)
				for i := range len(words) - run {
					seen[strings.Join(words[i:i+run], " ")]++
					all++
				}
			}
		}
		repeated := 0
		for _, n := range seen {
			repeated += n - 1
		}
		if repeated*10_000 > all {
			t.Errorf("%s: %d of %d runs of %d words are there again", name, repeated, all, run)
		}
	}
}

// The lengths drawn must have the requested moments, of the length itself.
func TestLengthsFollowTheirDistribution(t *testing.T) {
	const n = 20_000
	for name, c := range map[string]struct {
		lengths   Lengths
		mean, std float64
	}{
		"uniform":   {Lengths{Distribution: Uniform, Min: 101, Max: 300}, 200.5, math.Sqrt((200*200 - 1) / 12.0)},
		"one":       {Lengths{Distribution: Uniform, Min: 7, Max: 7}, 7, 0},
		"normal":    {Lengths{Distribution: Normal, Min: 1, Max: 9000, Mean: 1000, Std: 100}, 1000, 100},
		"constant":  {Lengths{Distribution: Normal, Min: 1, Max: 90, Mean: 12}, 12, 0},
		"lognormal": {Lengths{Distribution: Lognormal, Min: 1, Max: 9000, Mean: 1000, Std: 300}, 1000, 300},
	} {
		sum, squares := 0.0, 0.0
		for i := range n {
			x := float64(c.lengths.at(1, "prompt", "measured", i, 0))
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / n
		std := math.Sqrt(max(0, squares/n-mean*mean))
		// Six standard errors; that of the deviation is wider for a long tail.
		if math.Abs(mean-c.mean) > 6*c.std/math.Sqrt(n) || math.Abs(std-c.std) > 0.06*c.std {
			t.Errorf("%s: mean %.1f and deviation %.1f, want %.1f and %.1f", name, mean, std, c.mean, c.std)
		}
	}
}

func TestLengthsKeepTheirBounds(t *testing.T) {
	l := Lengths{Distribution: Lognormal, Min: 50, Max: 60, Mean: 100, Std: 200}
	seen := map[int]bool{}
	for i := range 1000 {
		seen[l.at(1, "prompt", "measured", i, 0)] = true
		if n := (Lengths{Distribution: Normal, Min: 1, Max: 9000, Mean: 1, Std: 1000}).at(1, "output",
			"measured", i, 0); n < 1 {
			t.Fatalf("%d tokens", n)
		}
	}
	for n := range seen {
		if n < 50 || n > 60 {
			t.Errorf("%d is outside 50 to 60", n)
		}
	}
	if !seen[50] || !seen[60] {
		t.Error("what falls outside is not moved to the ends")
	}
	if a, b := l.at(1, "prompt", "measured", 3, 0), l.at(1, "prompt", "measured", 3, 0); a != b {
		t.Error("drawn twice, it differs")
	}
}
