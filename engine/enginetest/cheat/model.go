package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/mxflow/mxflow/engine/load/prompt"
)

// language imitates a model's writing: words that follow each other as in the sentences
// that prompts are made of too.
type language struct {
	words []string
	next  map[string][]string
	known map[string]bool
}

// english is made from the project's own prose, backwards from the same words in another
// order: the text of another, worse model.
func english() *language {
	l := &language{next: map[string][]string{}, known: map[string]bool{}}
	for _, sentence := range prompt.Prose() {
		last := ""
		for _, w := range strings.Fields(sentence) {
			l.words = append(l.words, w)
			l.known[strings.Trim(w, `.,;:"`)] = true
			if last != "" {
				l.next[last] = append(l.next[last], w)
			}
			last = w
		}
	}
	return l
}

// count is the number of tokens of a text: one per known word and per mark after it, one
// per four letters of any other.
func (l *language) count(text string) (n int) {
	for _, w := range strings.Fields(text) {
		bare := strings.Trim(w, `.,;:"`)
		if len(bare) < len(w) {
			n++
		}
		switch {
		case bare == "":
		case l.known[bare]:
			n++
		default:
			n += (len(bare) + 3) / 4
		}
	}
	return max(n, 1)
}

// answer is what a model with a seed writes after a text: so many pieces, a token each,
// deterministic, and consistent when asked to continue its own output. A word with a mark
// is two pieces.
func (l *language) answer(text string, seed uint64, tokens int) (pieces []string) {
	said := strings.Fields(text)
	word, begins := said[len(said)-1], text[:min(len(text), 32)]
	for n := len(said); len(pieces) < tokens; n++ {
		h := fnv.New64a()
		fmt.Fprint(h, begins, n, word)
		r := rand.New(rand.NewPCG(h.Sum64(), seed))
		if after := l.next[word]; len(after) > 0 && r.IntN(8) > 0 {
			word = after[r.IntN(len(after))]
		} else {
			word = l.words[r.IntN(len(l.words))]
		}
		bare := strings.TrimRight(word, `.,;:"`)
		switch {
		case bare == "" || bare == word || strings.Trim(word, `.,;:"`) != bare:
			pieces = append(pieces, " "+word)
		default:
			pieces = append(pieces, " "+bare, word[len(bare):])
		}
	}
	return pieces[:tokens]
}

// random is words in no order, and letters without words if letters is set.
func (l *language) random(text string, tokens int, letters bool) (pieces []string) {
	h := fnv.New64a()
	h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 99))
	for range tokens {
		if !letters {
			pieces = append(pieces, " "+l.words[r.IntN(len(l.words))])
			continue
		}
		var b strings.Builder
		b.WriteByte(' ')
		for range 2 + r.IntN(7) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
		pieces = append(pieces, b.String())
	}
	return pieces
}
