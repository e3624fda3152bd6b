package embedded

import (
	"slices"
	"sync"
)

// blockTokens is the unit of the prefix cache, in tokens: only whole blocks are kept and
// found.
const blockTokens = 16

// prefixCache keeps keys and values of past sequences, so a prompt with the same start as
// one of them need not compute it again. The copied numbers are those computed once;
// whether tokens went through the layers together or one by one does not change them (see
// linear), so the text is the same with and without. Beyond capacity the least recently
// used sequence goes.
type prefixCache struct {
	capacity int // tokens, at least those of a sequence
	mu       sync.Mutex
	past     []*sequence // whole blocks, the latest use first
}

// reuse fills the empty cache of a sequence with the longest known prefix and returns its
// length in tokens. The last token is never taken from here: it must be computed to get
// logits.
func (c *prefixCache) reuse(seq *sequence) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	best, length := -1, 0
	for i, p := range c.past {
		if n := common(p.tokens, seq.tokens[:len(seq.tokens)-1]); n > length {
			best, length = i, n
		}
	}
	if best >= 0 {
		p := c.past[best]
		p.kv.copyTo(seq.kv, length)
		c.past = slices.Insert(slices.Delete(c.past, best, best+1), 0, p)
	}
	return length
}

// common is how many tokens in whole blocks two sequences begin with alike.
func common(a, b []token) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n / blockTokens * blockTokens
}

// store keeps what a sequence has computed, as far as it fills blocks, and replaces those
// that it begins with.
func (c *prefixCache) store(seq *sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	length := min(seq.kv.length, len(seq.tokens)) / blockTokens * blockTokens
	if length == 0 {
		return
	}
	kept := &sequence{
		tokens: slices.Clone(seq.tokens[:length]),
		kv:     newKVCache(len(seq.kv.layers), seq.kv.layers[0].cols, length),
	}
	for _, p := range c.past {
		if common(p.tokens, kept.tokens) == length {
			return
		}
	}
	seq.kv.copyTo(kept.kv, length)
	total := length
	past := []*sequence{kept}
	for _, p := range c.past {
		if common(p.tokens, kept.tokens) == len(p.tokens) {
			continue
		}
		if total += len(p.tokens); total > c.capacity {
			break
		}
		past = append(past, p)
	}
	c.past = past
}
