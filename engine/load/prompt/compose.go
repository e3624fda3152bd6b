package prompt

import (
	"context"
	"strings"
)

const (
	// misses is how many sentences are tried that are longer than what is left to
	// write, before words fill it.
	misses = 8
	// corrections bounds how often a text is mended whose parts did not add up.
	corrections = 4
)

// compose writes whole sentences and then single words, one at least, until n
// tokens are reached. It begins with a space, to be put behind other text, and
// ends with a letter. left is what could not be filled: not 0 in vocabularies
// without words of one token.
func (c *counting) compose(ctx context.Context, s *source, n int) (text string, left int, err error) {
	var b strings.Builder
	for missed := 0; n > 1 && missed < misses; {
		sentence := s.next()
		cost, err := c.cost(ctx, sentence)
		if err != nil {
			return "", 0, err
		}
		if cost >= n || cost < 1 {
			missed++
			continue
		}
		b.WriteString(sentence)
		n -= cost
	}
	if len(c.ones) > 0 {
		b.WriteString(c.fill(s, n))
		n = 0
	}
	return b.String(), n, nil
}

// fill is n words of one token each.
func (c *counting) fill(s *source, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(" " + c.ones[s.r.IntN(len(c.ones))])
	}
	return b.String()
}

// exactly makes a text that, put behind before, has total tokens by the
// tokenizer's count of both together; have is that count of before alone. The
// text begins with lead. ok is false where no such text was found.
func (c *counting) exactly(ctx context.Context, s *source, before string, have int, lead string, total int) (text string, ok bool, err error) {
	if lead != "" {
		if have, err = c.behind(ctx, before, have, lead); err != nil {
			return "", false, err
		}
	}
	if have > total {
		return "", false, nil
	}
	text, left, err := c.compose(ctx, s, total-have)
	if err != nil {
		return "", false, err
	}
	for range corrections {
		n, err := c.ask(ctx, before+lead+text)
		switch {
		case err != nil:
			return "", false, err
		case n == total:
			return lead + text, true, nil
		case n < total && left == 0:
			text += c.fill(s, total-n)
		case n > total && strings.Contains(text, " "):
			text = text[:strings.LastIndexByte(text, ' ')]
		default:
			return "", false, nil
		}
	}
	return "", false, nil
}

// behind is the number of tokens of before and lead together. The text before
// may be long, so what lead adds is counted behind the anchor.
func (c *counting) behind(ctx context.Context, before string, have int, lead string) (int, error) {
	if before == "" {
		n, err := c.ask(ctx, lead+tail)
		return n - 1, err // common words have one token; if not, it is mended
	}
	base, err := c.whole(ctx, anchor+tail)
	if err != nil {
		return 0, err
	}
	n, err := c.ask(ctx, anchor+lead+tail)
	return have + n - base, err
}
