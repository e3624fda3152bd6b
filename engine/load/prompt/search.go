package prompt

import (
	"context"
	"fmt"
	"math"
)

const (
	// guessedBytes is what a token of English text usually has in vocabularies
	// of 100,000 and more.
	guessedBytes = 4
	// maxCounts bounds how often the tokenizer is asked for one prompt.
	maxCounts = 64
)

// search is for vocabularies whose pieces do not add up, and for texts that are
// shorter than the nonce. It looks for a length in bytes at which the text, put
// behind before, has the tokens wanted, and returns the text alone with the
// count of both. A byte more adds a token, or none, or rarely takes one away; so
// the count nearly always passes through every number, and stepping by the
// average length of a token within the bounds found so far gets there in a
// handful of counts.
func (f *fitter) search(ctx context.Context, from *source, before string, want int) (string, int, error) {
	bytes := float64(guessedBytes)
	length := max(1, int(math.Round(float64(want)*bytes))-len(before))
	below, above := 0, math.MaxInt // lengths with too few and too many tokens
	for range maxCounts {
		text := from.first(length)
		n, err := f.tokens.ask(ctx, before+text)
		if err != nil {
			return "", 0, err
		}
		if n == want {
			return text, n, nil
		}
		if n > 0 {
			bytes = max(0.5, float64(len(before)+length)/float64(n))
		}
		if n < want {
			below = max(below, length)
		} else {
			above = min(above, length)
		}
		if above-below <= 1 {
			break
		}
		step := int(math.Round(float64(want-n) * bytes))
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
	return f.pad(ctx, from, before, below, want)
}

// pads are short texts that most vocabularies hold as one token, or two.
var pads = []string{"", ".", " a", " I", ",", " .", " the", " 1", "!", " and", " . a", "? a b"}

// pad is for a vocabulary in which a byte more adds two tokens at once: it ends
// a somewhat shorter text with something else. Where that fails too, the text
// is short of what was wanted, and its count says so.
func (f *fitter) pad(ctx context.Context, from *source, before string, below, want int) (string, int, error) {
	best, bestN := "", -1
	for back := 0; back < 8 && below-back > 0; back++ {
		base := from.first(below - back)
		for _, pad := range pads {
			n, err := f.tokens.ask(ctx, before+base+pad)
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
