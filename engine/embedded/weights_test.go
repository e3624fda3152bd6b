package embedded

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
)

// The memory's margins rely on this bound.
func TestCodesAreNearlyOrthogonal(t *testing.T) {
	var negative []uint32 // by code: a bit for each -1
	for i := 1; i <= maxCodes; i++ {
		var signs uint32
		for k, c := range signCode(i) {
			if c < 0 {
				signs |= 1 << k
			}
		}
		negative = append(negative, signs)
	}
	for i := range negative {
		for j := range i {
			if d := bits.OnesCount32(negative[i] ^ negative[j]); d != 12 && d != 16 && d != 20 {
				t.Fatalf("codes %d and %d differ in %d of 32 places, want 12, 16 or 20", i+1, j+1, d)
			}
		}
	}
}

// The text is written so that three tokens always determine the next one. A new paragraph
// that breaks this would make generation loop.
func TestCorpusIsPredictable(t *testing.T) {
	tk := newCorpusTokenizer()
	prose, talks := readCorpus(corpusText)
	streams := corpusTokens(tk, prose, talks)
	said := map[string]token{}
	for _, c := range planMemory(streams) {
		said[fmt.Sprint(c.context)] = c.next
	}
	for _, stream := range streams {
		for i := contextSlots; i < len(stream); i++ {
			if stream[0] == userToken && i <= slices.Index(stream, replyToken) {
				continue // the model need not ask the questions
			}
			context := stream[i-contextSlots : i]
			got, known := noToken, false
			for n := range context { // the longest that it remembers
				if got, known = said[fmt.Sprint(context[n:])]; known {
					break
				}
			}
			if got != stream[i] {
				t.Errorf("after %q the memory says %q, the text %q", tk.decode(context), tk.decode([]token{got}),
					tk.decode(stream[i:i+1]))
			}
		}
	}
}

// Documents come back word for word, whatever the seed and the depth of the model, as long as all of it fits.
func TestModelKnowsTheTextByHeart(t *testing.T) {
	for _, test := range []struct {
		seed              uint64
		layers, documents int
	}{{0, 4, 3}, {1, 2, 2}, {3, 8, 1}} {
		m := testModel(t, func(c *Config) { c.Seed, c.Layers = test.seed, test.layers })
		prose, _ := readCorpus(corpusText)
		for _, doc := range prose[:min(test.documents, len(prose))] {
			want := append(m.tk.encode(paragraphBreak+doc.answer), eosToken)
			got, _ := trace(t, m, want[:contextSlots], len(want)-contextSlots)
			if !slices.Equal(got, want[contextSlots:]) {
				t.Errorf("%+v: %q continues %q", test, m.tk.decode(want[:contextSlots]), m.tk.decode(got))
			}
		}
	}
}
