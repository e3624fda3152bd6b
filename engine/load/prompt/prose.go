package prompt

import (
	_ "embed"
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

// words are classes of words, each word after a space.
type words map[rune][]string

// allWords is the whole vocabulary.
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
