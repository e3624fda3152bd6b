package prompt

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// sentences are our own, one a line, ASCII only.
//
//go:embed prose.txt
var sentences string

// Prose returns sentences, for callers that need some sound English. No prompt has them.
func Prose() []string { return strings.Split(strings.TrimSpace(sentences), "\n") }

// A prompt is drawn word by word: an engine that keeps the key-value cache of what it has
// seen meets no run of more than a few words again. Its sentences follow patterns, so a
// model reads English and answers in it.

// vocabulary are words by their class, one letter that starts each line: D and d determine
// a noun, at the start of a sentence and within, a are adjectives, n nouns, v verbs, b
// adverbs, p prepositions, c conjunctions, and e ends a sentence. All are plain ASCII, so a
// text may be cut at any byte, and common, so most are one token in most vocabularies.
//
//go:embed words.txt
var vocabulary string

// patterns are sentences by the classes of their words.
var patterns = []string{
	"Dnvdne", "Danvdne", "Dnbvdane", "Dnvdnpdane", "Danvdnpdne", "Danbvdanpdane",
	"Dnvdncdnvdne", "Danvdncdnbvdane", "Dnbvdanpdncdanvdne", "Dnpdanvdne", "Danpdnbvdancdnvdnpdane",
}

var openers = strings.Fields(`
	In At On By For From With Under Over After Before Where When While Some Most
	Many Each Every Both All Only Here There Then Now Our Their His Her My One`)

// words are classes of words, each word after a space.
type words map[rune][]string

var allWords = func() words {
	all := words{}
	for line := range strings.Lines(vocabulary) {
		for _, word := range strings.Fields(line)[1:] {
			all[rune(line[0])] = append(all[rune(line[0])], " "+word)
		}
	}
	return all
}()

// singles are all words that do not end a sentence, each once, a few of every class first.
func (w words) singles() (all []string) {
	for i, more := 0, true; more; i++ {
		more = false
		for _, class := range "Ddpcbavn" {
			if i >= len(w[class]) {
				continue
			}
			if more = true; !slices.Contains(all, w[class][i]) {
				all = append(all, w[class][i])
			}
		}
	}
	return all
}

// only are those among some, and what ends a sentence.
func (w words) only(some []string) words {
	left := words{}
	for class, all := range w {
		for _, word := range all {
			if class == 'e' || slices.Contains(some, word) {
				left[class] = append(left[class], word)
			}
		}
	}
	return left
}

type source struct {
	// r draws the text, begin its unique part; the same if no part of the text is shared.
	r, begin *rand.Rand
	// nonce is 16 hexadecimal digits that differ from those of every other prompt, for
	// vocabularies whose words are not known. The first is a letter and the second is not,
	// so what precedes them in a chat template merges with the same single letter in every
	// prompt, or with none.
	nonce string
	text  strings.Builder
	// sentence is the classes of the words that the current one still lacks.
	sentence string
}

// source derives a text from the spec and the arguments alone.
func (s Spec) source(series string, index int) *source {
	sum := func(from string) [sha256.Size]byte {
		return sha256.Sum256(fmt.Appendf(nil, "mxflow prompt 2\n%d\n%q\n%s\n%d\n%s", s.Seed, s.Cell,
			series, index, from))
	}
	random := func(sum [sha256.Size]byte) *rand.Rand {
		return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	}
	own := sum(s.Draw)
	text := &source{r: random(own), begin: random(own)}
	text.nonce = fmt.Sprintf("%c%c%s", "abcdef"[own[24]%6], "0123456789"[own[25]%10], hex.EncodeToString(own[16:23]))
	if s.Body != "" {
		text.r = random(sum("body " + s.Body))
	} else {
		text.begin = text.r
	}
	return text
}

// next is the next word of the text, after a space. A class without words is left out.
func (s *source) next(of words) string {
	for {
		if s.sentence == "" {
			s.sentence = patterns[s.r.IntN(len(patterns))]
		}
		some := of[rune(s.sentence[0])]
		s.sentence = s.sentence[1:]
		if len(some) > 0 {
			return some[s.r.IntN(len(some))]
		}
	}
}

// first returns the first n bytes of the text. It starts with the nonce: caches work on
// prefixes, so the unique part must come first. If it would end in a space it ends in a
// full stop: chat templates trim their input, and some vocabularies count a trailing
// space separately.
func (s *source) first(n int) string {
	if s.text.Len() == 0 {
		s.text.WriteString(s.nonce + ".")
	}
	for s.text.Len() < n {
		s.text.WriteString(s.next(allWords))
	}
	text := s.text.String()[:n]
	if cut, spaced := strings.CutSuffix(text, " "); spaced {
		return cut + "."
	}
	return text
}
