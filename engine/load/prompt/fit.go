package prompt

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/openai"
)

const (
	// shortProbe and longProbe are the lengths in tokens of the probes by which
	// the engine's usage is compared with what was counted.
	shortProbe, longProbe = 24, 96
	// fewestOnes is how many words of one token are needed to put prompts together
	// without a tokenizer.
	fewestOnes = 32
	// nonceRoom is how many tokens a context must have to hold the nonce for the
	// prompt after it too.
	nonceRoom = 48
)

// fitter makes texts of so many tokens.
type fitter struct {
	spec   Spec
	method Method
	// tokens counts; nil where lengths are guessed by bytes, the average length of
	// a token.
	tokens *counting
	bytes  float64
	// system is the cell's system prompt, systemTokens its length.
	system       string
	systemTokens int
	// added is what the engine has beside the own tokens of the texts: the chat
	// template and what begins every text. verified says that two requests of
	// different lengths had it in their usage.
	added    int
	verified bool
}

// asked is what the engine shall count for a first message of so many tokens,
// and own what its text must have by itself.
func (f *fitter) asked(tokens int) (asked, own int, err error) {
	if f.spec.API == openai.Chat && !f.spec.CountTemplate {
		return tokens + f.added, tokens, nil
	}
	if tokens <= f.added {
		return 0, 0, fmt.Errorf("%d tokens are too few: the template alone has %d. Ask for more, or do not count the template", tokens, f.added)
	}
	return tokens, tokens - f.added, nil
}

// first is the first message of a conversation with what comes before it.
func (f *fitter) first(ctx context.Context, series string, index, tokens, depth int) (Prompt, error) {
	asked, own, err := f.asked(tokens)
	if err != nil {
		return Prompt{}, err
	}
	p := Prompt{System: f.system, Asked: asked, ContextTokens: f.systemTokens + depth}
	var before string
	have := 0
	if f.spec.API != openai.Chat {
		before, have = f.system, f.systemTokens
	}
	nonce := true
	if depth > 0 {
		got := 0
		s := f.source(series+" context", index)
		if p.Context, got, err = f.text(ctx, s, before, have, depth, true); err != nil {
			return Prompt{}, err
		}
		p.ContextTokens += got - depth
		before, have, nonce = before+p.Context, have+got, depth < nonceRoom
	}
	p.Text, p.Tokens, err = f.text(ctx, f.source(series, index), before, have, own, nonce)
	p.Tokens += asked - own
	return p, err
}

// later is a later message of a conversation. Where all is one text that grows,
// it follows an answer that nobody knows yet, so it is counted behind the anchor.
func (f *fitter) later(ctx context.Context, series string, index, turn, tokens int) (Prompt, error) {
	before, have := "", 0
	if f.spec.API != openai.Chat {
		before = anchor
		if f.tokens != nil {
			n, err := f.tokens.whole(ctx, anchor)
			if err != nil {
				return Prompt{}, err
			}
			have = n - f.tokens.overhead
		}
	}
	text, got, err := f.text(ctx, f.source(fmt.Sprintf("%s turn %d", series, turn), index), before, have, tokens, true)
	return Prompt{Text: text, Tokens: got, Asked: tokens}, err
}

func (f *fitter) source(series string, index int) func() *source {
	return func() *source { return newSource(f.spec.Seed, f.spec.Cell, series, index) }
}

// text makes a text that adds n tokens to those of the text before it, which
// has so many, and says how many it does add. What begins a text by itself is
// not counted.
func (f *fitter) text(ctx context.Context, from func() *source, before string, have, n int, nonce bool) (string, int, error) {
	switch f.method {
	case Tokenizer:
		return f.counted(ctx, from, before, have, n, nonce)
	case Pieces:
		return f.assembled(ctx, from(), before, n, nonce)
	}
	text := from().first(max(1, int(math.Round(float64(n)*f.bytes))))
	if before != "" {
		text = " " + strings.TrimSuffix(text, " ")
	}
	return text, n, nil
}

// counted makes a text with the engine's tokenizer.
func (f *fitter) counted(ctx context.Context, from func() *source, before string, have, n int, nonce bool) (string, int, error) {
	total := have + n + f.tokens.overhead
	s := from()
	lead := ""
	if nonce {
		lead = s.nonce + "."
	}
	if before != "" && lead != "" {
		lead = " " + lead
	}
	text, ok, err := f.tokens.exactly(ctx, s, before, have+f.tokens.overhead, lead, total)
	if ok || err != nil {
		return text, n, err
	}
	glue := ""
	if before != "" {
		glue = " "
	}
	text, got, err := f.search(ctx, from(), before+glue, total)
	return glue + text, got - have - f.tokens.overhead, err
}

// assembled makes a text of pieces whose tokens are known.
func (f *fitter) assembled(ctx context.Context, s *source, before string, n int, nonce bool) (string, int, error) {
	s.pool = pooled
	var b strings.Builder
	left := n
	if nonce {
		start, rest := s.words(openers, f.tokens.ones)
		cost := 1
		if before == "" {
			whole, err := f.tokens.whole(ctx, start)
			if err != nil {
				return "", 0, err
			}
			cost = whole - f.tokens.overhead
		} else {
			start, rest = rest[0], rest[1:]
		}
		if cost > n {
			return "", 0, fmt.Errorf("no text of %d tokens was found: %q alone has %d", n, start, cost)
		}
		rest = rest[:min(len(rest), n-cost)]
		b.WriteString(start + strings.Join(rest, ""))
		left -= cost + len(rest)
	}
	text, left, err := f.tokens.compose(ctx, s, left)
	return b.String() + text, n - left, err
}
