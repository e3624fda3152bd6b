package prompt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

const (
	// anchor and tail are what pieces are counted between, since a vocabulary may treat
	// the start of a text specially, and a template may append characters that would
	// merge with a full stop.
	anchor, tail = "Yes.", " so"
	// maxSingles limits how often tokens are counted to find words of one token, and
	// singleGroup is how many words are counted at once.
	maxSingles, singleGroup = 256, 16
	// fewestOnes is how many words of one token are needed to draw prompts from them.
	fewestOnes = 32
	// nonceBits is how many bits make prompts unique.
	nonceBits = 64
)

// errNoUsage is the error of an engine that does not count prompt tokens.
var errNoUsage = errors.New("the engine does not report the number of tokens of a prompt")

// Knowledge is what was learned about one engine's tokenizer. Cells that share it do not
// ask the engine the same again. It holds for the engine's model and its chat template;
// what is learned does not depend on which prompts are built, so these do not depend on
// it. The zero value knows nothing.
type Knowledge struct {
	mu     sync.Mutex
	counts map[string]int
	ones   map[string][]string
}

// counter counts the tokens of texts. Pieces start with a space and a letter, where
// vocabularies split words, so the tokens of a text are the sum of its pieces' tokens.
type counter struct {
	learned *Knowledge
	// way tells ways of counting apart, whose counts differ; ask counts.
	way string
	ask func(ctx context.Context, text string) (int, error)
	// ones are words of one token each, none if they are too few, and words the same by
	// class.
	ones  []string
	words words
	// overhead is what ask counts beyond the text's own tokens: a token that starts every
	// text, and a chat template's if ask sends chats.
	overhead int
}

// count counts a text, and remembers the result. One text is counted at a time, so none is
// counted twice.
func (c *counter) count(ctx context.Context, text string) (int, error) {
	c.learned.mu.Lock()
	defer c.learned.mu.Unlock()
	if n, known := c.learned.counts[c.way+text]; known {
		return n, nil
	}
	n, err := c.ask(ctx, text)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, errNoUsage
	}
	if c.learned.counts == nil {
		c.learned.counts, c.learned.ones = map[string]int{}, map[string][]string{}
	}
	c.learned.counts[c.way+text] = n
	return n, nil
}

// cost is the number of tokens that a piece adds after another text.
func (c *counter) cost(ctx context.Context, piece string) (int, error) {
	base, err := c.count(ctx, anchor+tail)
	if err != nil {
		return 0, err
	}
	n, err := c.count(ctx, anchor+piece+tail)
	if err == nil && n < base {
		return 0, fmt.Errorf("the engine counts %d tokens in %q and %d in %q", base, anchor+tail, n, anchor+piece+tail)
	}
	return n - base, err
}

// learn finds the overhead and the words of one token.
func (c *counter) learn(ctx context.Context) error {
	// Each of these has at least one token, and in any vocabulary one of them has no more.
	for i, first := range []string{"a", "I", "The"} {
		n, err := c.count(ctx, first)
		if err != nil {
			return err
		}
		if i == 0 || n-1 < c.overhead {
			c.overhead = max(n-1, 0)
		}
	}
	c.learned.mu.Lock()
	ones, known := c.learned.ones[c.way]
	c.learned.mu.Unlock()
	asked := 0
	for group := range slices.Chunk(allWords.singles(), singleGroup) {
		if known {
			break
		}
		some, err := c.ofOne(ctx, group, &asked)
		if err != nil {
			return err
		}
		ones = append(ones, some...)
	}
	c.learned.mu.Lock()
	c.learned.ones[c.way] = ones
	c.learned.mu.Unlock()
	if len(ones) >= fewestOnes {
		c.ones, c.words = ones, allWords.only(ones)
	}
	return nil
}

// ofOne returns the words that are one token each. A word has at least one token, so as
// many tokens as words prove it for all of them at once; otherwise the halves are
// counted.
func (c *counter) ofOne(ctx context.Context, words []string, asked *int) ([]string, error) {
	if *asked++; *asked > maxSingles {
		return nil, nil
	}
	n, err := c.cost(ctx, strings.Join(words, ""))
	switch {
	case err != nil:
		return nil, err
	case n == len(words):
		return words, nil
	case n < len(words) || len(words) == 1:
		return nil, nil
	}
	left, err := c.ofOne(ctx, words[:len(words)/2], asked)
	if err != nil {
		return nil, err
	}
	right, err := c.ofOne(ctx, words[len(words)/2:], asked)
	return append(left[:len(left):len(left)], right...), err
}

// compose writes sentences of words of one token each until n tokens are reached, and one
// more word where the end of a sentence has no room. It starts with words that make the
// text unique, if it is to have a nonce, and ends with a letter. At the beginning of a
// prompt, where vocabularies differ, stands an opener; elsewhere it starts with a space.
// Nothing of a prompt but its opener is counted before it is sent: an engine could
// compute it while nothing is timed.
func (c *counter) compose(ctx context.Context, s *source, n int, begins, nonce bool) (string, error) {
	var b strings.Builder
	left, bits := n, float64(nonceBits)
	if begins && nonce {
		opener := openers[s.begin.IntN(len(openers))]
		count, err := c.count(ctx, opener)
		if err != nil {
			return "", err
		}
		if left -= count - c.overhead; left < 0 {
			return "", fmt.Errorf("found no text of %d tokens: %q alone has %d", n, opener, count-c.overhead)
		}
		bits -= math.Log2(float64(len(openers)))
		b.WriteString(opener)
	}
	for ; nonce && left > 0 && bits > 0; left-- {
		b.WriteString(c.ones[s.begin.IntN(len(c.ones))])
		bits -= math.Log2(float64(len(c.ones)))
	}
	for left > 1 {
		word, cost := s.next(c.words), 1
		if strings.HasSuffix(word, ".") {
			var err error
			if cost, err = c.cost(ctx, word); err != nil {
				return "", err
			}
			if cost < 1 || cost >= left {
				break
			}
		}
		b.WriteString(word)
		left -= cost
	}
	for range left {
		b.WriteString(c.ones[s.r.IntN(len(c.ones))])
	}
	return b.String(), nil
}
