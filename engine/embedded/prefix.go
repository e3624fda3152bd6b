package embedded

import (
	"container/list"
	"sync"
)

// blockTokens is how many tokens a block of the prefix cache holds. Only whole blocks are
// kept and found.
const blockTokens = 16

// prefixCache keeps keys and values of past sequences, so a prompt with the same start as
// one of them need not compute it again. A block is found by its tokens and by the block
// before it, and so by all tokens up to its end: nothing is hashed, so nothing can
// collide. The copied numbers are those computed once; whether tokens went through the
// layers together or one by one does not change them (see linear), so the text is the
// same with and without.
//
// Memory is bounded: beyond capacity the least recently used block is evicted. A use of a
// block counts as a later use of those before it, so an evicted block never has a
// successor, which could not be found any more.
type prefixCache struct {
	shape    shape
	capacity int // blocks

	mu     sync.Mutex
	blocks map[blockKey]*list.Element
	recent *list.List // of *kvBlock, the latest use first
	lastID uint64
}

// blockKey names a block: parent is the ID of the block before it, 0 at the start of a
// sequence. IDs are never reused.
type blockKey struct {
	parent uint64
	tokens [blockTokens]token
}

type kvBlock struct {
	id   uint64
	key  blockKey
	data []float32 // per layer, the keys and then the values of all tokens
}

// newPrefixCache has room for a number of tokens, rounded down to blocks.
func newPrefixCache(s shape, tokens int) *prefixCache {
	return &prefixCache{shape: s, capacity: tokens / blockTokens, blocks: map[blockKey]*list.Element{}, recent: list.New()}
}

// reuse fills the empty cache of a sequence with the longest known prefix and returns its
// length in tokens. The last token is never taken from here: it must be computed to get
// logits.
func (c *prefixCache) reuse(seq *sequence) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	chain := c.walk(seq.tokens[:max(0, len(seq.tokens)-1)])
	for _, element := range chain {
		c.give(element.Value.(*kvBlock), seq.kv)
	}
	c.touch(chain)
	return seq.kv.length
}

// store keeps what a sequence has computed, as far as it fills blocks.
func (c *prefixCache) store(seq *sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tokens := seq.tokens[:min(seq.kv.length, len(seq.tokens), c.capacity*blockTokens)]
	chain := c.walk(tokens)
	c.touch(chain) // a chain about to grow must not be evicted
	parent := uint64(0)
	if len(chain) > 0 {
		parent = chain[len(chain)-1].Value.(*kvBlock).id
	}
	for at := len(chain) * blockTokens; at+blockTokens <= len(tokens); at += blockTokens {
		block := c.room()
		c.lastID++
		block.id, block.key = c.lastID, newBlockKey(parent, tokens[at:])
		c.take(block, seq.kv, at)
		element := c.recent.PushFront(block)
		c.blocks[block.key] = element
		chain, parent = append(chain, element), block.id
	}
	c.touch(chain)
}

func newBlockKey(parent uint64, tokens []token) blockKey {
	return blockKey{parent, [blockTokens]token(tokens[:blockTokens])}
}

// walk returns the blocks that tokens start with, first to last.
func (c *prefixCache) walk(tokens []token) (chain []*list.Element) {
	parent := uint64(0)
	for at := 0; at+blockTokens <= len(tokens); at += blockTokens {
		element, known := c.blocks[newBlockKey(parent, tokens[at:])]
		if !known {
			break
		}
		chain, parent = append(chain, element), element.Value.(*kvBlock).id
	}
	return chain
}

// touch marks a chain as used, its first block last.
func (c *prefixCache) touch(chain []*list.Element) {
	for i := len(chain) - 1; i >= 0; i-- {
		c.recent.MoveToFront(chain[i])
	}
}

// room returns a block to write to: a new one, or the memory of an evicted one.
func (c *prefixCache) room() *kvBlock {
	if c.recent.Len() < c.capacity {
		return &kvBlock{data: make([]float32, 2*c.shape.layers*blockTokens*c.shape.kvDims())}
	}
	oldest := c.recent.Remove(c.recent.Back()).(*kvBlock)
	delete(c.blocks, oldest.key)
	return oldest
}

// halves are the keys and the values of one layer in a block.
func (c *prefixCache) halves(block *kvBlock, layer int) (keys, values []float32) {
	size := blockTokens * c.shape.kvDims()
	return block.data[2*layer*size:][:size], block.data[(2*layer+1)*size:][:size]
}

// take fills a block from the cache of a sequence, from a position on.
func (c *prefixCache) take(block *kvBlock, kv *kvCache, position int) {
	for layer := range c.shape.layers {
		keys, values := c.halves(block, layer)
		copy(keys, kv.keys[layer][position*c.shape.kvDims():])
		copy(values, kv.values[layer][position*c.shape.kvDims():])
	}
}

// give appends a block to the cache of a sequence.
func (c *prefixCache) give(block *kvBlock, kv *kvCache) {
	for layer := range c.shape.layers {
		keys, values := c.halves(block, layer)
		kv.extend(layer, blockTokens, c.shape.kvDims())
		copy(kv.keys[layer][kv.length*c.shape.kvDims():], keys)
		copy(kv.values[layer][kv.length*c.shape.kvDims():], values)
	}
	kv.length += blockTokens
}
