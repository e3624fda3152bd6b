package embedded

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// What comes from the prefix cache must be the numbers that would have been
// computed, to the last bit.
func TestPrefixReuseIsExact(t *testing.T) {
	m := testModel(t, nil)
	text := m.tk.encode(corpusText)
	past := text[:200] // more than a chunk
	other := func(shared, length int) []token {
		return append(append([]token{}, past[:shared]...), text[300:300+length-shared]...)
	}
	for _, test := range []struct {
		name   string
		prompt []token
		cached int
	}{
		{"the same prompt", past, 192},
		{"the same, of whole blocks: the last is computed for its last token", past[:64], 48},
		{"one token more than blocks", past[:65], 64},
		{"a beginning shared", other(100, 190), 96},
		{"less than a block shared", other(15, 100), 0},
		{"a block shared", other(16, 100), 16},
		{"short", past[:10], 0},
		{"one token", past[:1], 0},
		{"the answer too", text[:206], 192},
	} {
		cache := newPrefixCache(m.shape, 4096)
		first := m.newSequence(past, 8)
		if _, err := m.step(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		cache.store(first)
		want, wantLogits := trace(t, m, test.prompt, 6)
		seq := m.newSequence(test.prompt, 6)
		if got := cache.reuse(seq); got != test.cached || seq.kv.length != got {
			t.Errorf("%s: %d tokens cached, want %d", test.name, got, test.cached)
		}
		got, logits := continueTrace(t, m, seq, 6)
		if fmt.Sprint(got) != fmt.Sprint(want) || furthest(logits, wantLogits) != 0 {
			t.Errorf("%s: %v, want %v; a logit moved by %v", test.name, got, want, furthest(logits, wantLogits))
		}
	}
}

// markSequence makes a sequence whose keys and values can be told from its
// tokens, so that whatever comes out of a cache can be checked.
func markSequence(s shape, tokens []token) *sequence {
	seq := &sequence{tokens: tokens, kv: newKVCache(s, len(tokens))}
	seq.kv.extend(0, len(tokens), s.kvDims())
	seq.kv.length = len(tokens)
	for position := range tokens {
		key, value := mark(tokens[:position+1])
		seq.kv.keys[0][position*s.kvDims()], seq.kv.values[0][position*s.kvDims()] = key, value
	}
	return seq
}

func mark(prefix []token) (key, value float32) {
	for _, t := range prefix {
		key = key*7 + float32(t)
		key -= float32(int(key/1e6)) * 1e6
	}
	return key, -key - 1
}

// Random sequences over few tokens, so that they share beginnings and the small
// cache drops blocks all the time.
func TestPrefixCacheHoldsItsPromises(t *testing.T) {
	s := shape{layers: 1, kvHeads: 1, headDim: 2}
	random := rand.New(rand.NewPCG(1, 2))
	const capacity = 6
	c := newPrefixCache(s, capacity*blockTokens+5)
	hits := 0
	for range 3000 {
		tokens := make([]token, 1+random.IntN(10*blockTokens))
		fill := token(random.IntN(3))
		for i := range tokens {
			if i%blockTokens == 0 {
				fill = token(random.IntN(3))
			}
			tokens[i] = fill
		}
		seq, n := &sequence{tokens: tokens, kv: newKVCache(s, 0)}, 0
		if random.IntN(2) == 0 { // what is stored was not always looked for before
			n = c.reuse(seq)
		}
		if n%blockTokens != 0 || n > 0 && n >= len(tokens) || seq.kv.length != n {
			t.Fatalf("%d of %d tokens came, the cache has %d", n, len(tokens), seq.kv.length)
		}
		for position := range n {
			key, value := mark(tokens[:position+1])
			if seq.kv.keys[0][position*2] != key || seq.kv.values[0][position*2] != value {
				t.Fatalf("position %d of %v holds another sequence's numbers", position, tokens)
			}
		}
		hits += n
		c.store(markSequence(s, tokens))
		want := min(len(tokens)/blockTokens, capacity)
		if got := len(c.walk(tokens)); got < want {
			t.Fatalf("%d blocks of what was just stored are found, want %d", got, want)
		}
		if len(c.blocks) > capacity || len(c.blocks) != c.recent.Len() {
			t.Fatalf("%d blocks, %d in order, room for %d", len(c.blocks), c.recent.Len(), capacity)
		}
		known := map[uint64]bool{0: true}
		for _, element := range c.blocks {
			known[element.Value.(*kvBlock).id] = true
		}
		for key := range c.blocks {
			if !known[key.parent] {
				t.Fatalf("a block outlived the one before it")
			}
		}
	}
	if hits == 0 {
		t.Error("nothing was ever found")
	}
}

// The least recently used goes first.
func TestPrefixCacheForgetsTheOldest(t *testing.T) {
	s := shape{layers: 1, kvHeads: 1, headDim: 2}
	c := newPrefixCache(s, 2*blockTokens)
	prompt := func(id token) []token {
		tokens := make([]token, blockTokens+1)
		for i := range tokens {
			tokens[i] = id
		}
		return tokens
	}
	found := func(id token) bool {
		return c.reuse(&sequence{tokens: prompt(id), kv: newKVCache(s, 0)}) > 0
	}
	c.store(markSequence(s, prompt(1)))
	c.store(markSequence(s, prompt(2)))
	if !found(1) { // which is a use of it
		t.Error("the first is gone though there is room")
	}
	c.store(markSequence(s, prompt(3)))
	if !found(1) || found(2) || !found(3) {
		t.Errorf("found %v %v %v, want the second to be gone", found(1), found(2), found(3))
	}
}
