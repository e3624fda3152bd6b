package lies

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/load/prompt"
)

// language imitates models of one family: words that follow each other as in the sentences
// that prompts are made of too. What comes next depends on the whole text, and any part of
// an answer, sent back behind its prompt, is continued as that answer was.
type language struct {
	known map[string]bool     // with the space before it, and without
	words []string            // which may follow anything
	next  map[string][]string // what follows a word somewhere
	heart map[string]string   // what follows some tokens of it, which is known by heart
}

const (
	// byHeart is how many tokens of a sentence a model needs to know how it continues.
	byHeart = 5
	// bigram is the share of positions behind a word at which the last words alone decide.
	bigram = 0.6
)

// word is a word or a mark with the space before it.
var word = regexp.MustCompile(`[\s\x{a0}]*(?:[\pL\pN'-]+|[^\s\x{a0}])`)

func english() *language {
	l := &language{known: map[string]bool{}, next: map[string][]string{}, heart: map[string]string{}}
	tokens := word.FindAllString(" "+strings.Join(prompt.Prose(), " "), -1)
	for _, t := range []string{" Certainly", " Naturally"} {
		l.known[t], l.known[t[1:]] = true, true
	}
	for i, t := range tokens {
		bare := strings.TrimSpace(t)
		l.known[t], l.known[bare] = true, true
		if len(t) > 2 && t != bare {
			l.words = append(l.words, t)
		}
		if i > 0 && len(tokens[i-1]) > 1 {
			l.next[tokens[i-1]] = append(l.next[tokens[i-1]], t)
		}
		if i >= byHeart {
			l.heart[strings.Join(tokens[i-byHeart:i], "")] = t
		}
	}
	return l
}

// tokens are those of a text: known words and marks, and four letters of any other.
// Whatever separates them is a space, and none precedes a mark that never has one: a prompt
// may end in a space.
func (l *language) tokens(text string) (tokens []string) {
	for _, t := range word.FindAllString(text, -1) {
		bare := strings.TrimSpace(t)
		if bare != t {
			if t = " " + bare; l.known[bare] && !l.known[t] {
				t = bare
			}
		}
		for !l.known[bare] && len(t) > 5 {
			tokens, t = append(tokens, t[:5]), t[5:]
		}
		tokens = append(tokens, t)
	}
	return tokens
}

// count is the number of tokens of a text.
func (l *language) count(text string) int { return max(len(l.tokens(text)), 1) }

// answer is what a model writes after a text: so many pieces, a token each. It differs from
// the parent's in a share of the positions, the ones where that is least sure.
func (l *language) answer(text string, tokens int, differs float64) []string {
	said, all := l.tokens(text), fnv.New64a()
	begin := len(said)
	add := func(token string) { _, _ = io.WriteString(all, token+"\x00") }
	for _, t := range said {
		add(t)
	}
	for len(said) < begin+tokens {
		t := l.then(said, all.Sum64(), differs)
		said = append(said, t)
		add(t)
	}
	return said[begin:]
}

// then is the next token of a text with this hash.
func (l *language) then(said []string, all uint64, differs float64) string {
	last := func(n int) string { return strings.Join(said[max(len(said)-n, 0):], "") }
	if t := l.heart[last(byHeart)]; t != "" {
		return t
	}
	number := func(back int) int {
		n := 0
		if len(said) >= back {
			n, _ = strconv.Atoi(strings.TrimSpace(said[len(said)-back]))
		}
		return n
	}
	if by := number(1) - number(2); by > 0 && number(3) > 0 && number(2)-number(3) == by { // every model can count
		return " " + strconv.Itoa(number(1)+by)
	}
	r := rand.New(rand.NewPCG(all, 1))
	unsure := r.Float64() < differs
	if r.Float64() < bigram && len(last(1)) > 1 {
		r = rand.New(rand.NewPCG(hashOf(last(2)), 2))
	}
	choose := func() string {
		if after := l.next[last(1)]; len(after) > 0 && r.IntN(4) > 0 {
			return after[r.IntN(len(after))]
		}
		return l.words[r.IntN(len(l.words))]
	}
	first := choose()
	if !unsure {
		return first
	}
	second := choose()
	for second == first {
		second = choose()
	}
	return second
}
