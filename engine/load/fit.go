package load

import (
	"context"
	"fmt"
	"math"

	"github.com/mxflow/mxflow/engine/openai"
)

const (
	// shortProbe and longProbe are the lengths in bytes of the texts by which the
	// length of a token is found.
	shortProbe, longProbe = 512, 2048
	// guessedBytes is what a token of English text usually has in vocabularies
	// of 100,000 and more.
	guessedBytes = 4
	// maxCounts bounds how often the tokenizer is asked for one prompt.
	maxCounts = 64
)

// fitter cuts texts to a number of tokens.
type fitter struct {
	method Method
	count  func(ctx context.Context, text string) (int, error) // nil unless Tokenizer
	// A text of n bytes has about template + n/bytes tokens.
	bytes    float64
	template int
}

// newFitter finds out how the engine can be asked for lengths. What it learns
// depends on the engine and the spec alone, never on prompts that were built
// before, so that each prompt is the same however many there are.
func newFitter(ctx context.Context, engine Engine, spec PromptSpec) (*fitter, error) {
	long := newSource(spec.Seed, spec.Cell, "probe", 0).first(longProbe)
	n, _, err := engine.Tokenize(ctx, long)
	switch {
	case err == nil:
		f := &fitter{method: Tokenizer, bytes: longProbe / float64(max(n, 1))}
		f.count = func(ctx context.Context, text string) (int, error) {
			n, _, err := engine.Tokenize(ctx, text)
			return n, err
		}
		if spec.API == openai.Chat {
			err = f.findTemplate(ctx, engine, spec)
		}
		return f, err
	case noTokenizer(err):
		return fitByUsage(ctx, engine, spec, long)
	}
	return nil, err
}

// findTemplate finds how many tokens the chat template adds, from the usage of
// one short chat. An engine without usage leaves it unknown, taken as none.
func (f *fitter) findTemplate(ctx context.Context, engine Engine, spec PromptSpec) error {
	text := newSource(spec.Seed, spec.Cell, "probe", 1).first(64)
	alone, err := f.count(ctx, text)
	if err != nil {
		return err
	}
	seen, err := usage(ctx, engine, spec, text)
	if err != nil {
		return err
	}
	if seen >= 0 {
		f.template = seen - alone
	}
	return nil
}

// fitByUsage draws a line through the lengths of two texts.
func fitByUsage(ctx context.Context, engine Engine, spec PromptSpec, long string) (*fitter, error) {
	short := newSource(spec.Seed, spec.Cell, "probe", 1).first(shortProbe)
	a, err := usage(ctx, engine, spec, short)
	if err != nil {
		return nil, err
	}
	b, err := usage(ctx, engine, spec, long)
	if err != nil {
		return nil, err
	}
	if a < 0 || b <= a {
		return &fitter{method: Guess, bytes: guessedBytes}, nil
	}
	bytes := float64(longProbe-shortProbe) / float64(b-a)
	template := int(math.Round(float64(b) - longProbe/bytes))
	return &fitter{method: ByUsage, bytes: bytes, template: template}, nil
}

// usage is the engine's count of the tokens of a prompt, -1 if it has none.
func usage(ctx context.Context, engine Streamer, spec PromptSpec, text string) (int, error) {
	s, err := engine.Stream(ctx, openai.Request{API: spec.API, Prompt: text, MaxTokens: 1, Timeouts: spec.Timeouts})
	if err != nil {
		return 0, err
	}
	return s.PromptTokens, nil
}

// fit cuts a text to a number of tokens, the template's included.
func (f *fitter) fit(ctx context.Context, from *source, tokens int) (Prompt, error) {
	want := tokens - f.template
	if want < 1 {
		return Prompt{}, fmt.Errorf("%d tokens are too few: the template alone has %d", tokens, f.template)
	}
	length := max(1, int(math.Round(float64(want)*f.bytes)))
	if f.count == nil {
		return Prompt{Text: from.first(length), Tokens: tokens}, nil
	}
	text, n, err := f.search(ctx, from, length, want)
	return Prompt{Text: text, Tokens: n + f.template}, err
}

// search looks for a length in bytes at which the text has the tokens wanted.
// A byte more adds a token, or none, or rarely takes one away; so the count
// nearly always passes through every number, and stepping by the average length
// of a token within the bounds found so far gets there in a handful of counts.
func (f *fitter) search(ctx context.Context, from *source, length, want int) (string, int, error) {
	below, above := 0, math.MaxInt // lengths with too few and too many tokens
	for range maxCounts {
		text := from.first(length)
		n, err := f.count(ctx, text)
		if err != nil {
			return "", 0, err
		}
		if n == want {
			return text, n, nil
		}
		if n < want {
			below = max(below, length)
		} else {
			above = min(above, length)
		}
		if above-below <= 1 {
			break
		}
		step := int(math.Round(float64(want-n) * f.bytes))
		if step == 0 {
			step = 1
			if n > want {
				step = -1
			}
		}
		if length += step; length <= below || length >= above {
			length = below + max(1, min(above-below, 1<<20)/2)
		}
	}
	return f.pad(ctx, from, below, want)
}

// pads are short texts that most vocabularies hold as one token, or two.
var pads = []string{"", ".", " a", " I", ",", " .", " the", " 1", "!", " and", " . a", "? a b"}

// pad is for a vocabulary in which a byte more adds two tokens at once: it ends
// a somewhat shorter text with something else. Where that fails too, the text
// is short of what was wanted, and its count says so.
func (f *fitter) pad(ctx context.Context, from *source, below, want int) (string, int, error) {
	best, bestN := "", -1
	for back := 0; back < 8 && below-back > 0; back++ {
		base := from.first(below - back)
		for _, pad := range pads {
			n, err := f.count(ctx, base+pad)
			if err != nil {
				return "", 0, err
			}
			if n == want {
				return base + pad, n, nil
			}
			if n < want && n > bestN {
				best, bestN = base+pad, n
			}
		}
	}
	if bestN < 1 {
		return "", 0, fmt.Errorf("no text of %d tokens was found", want)
	}
	return best, bestN, nil
}
