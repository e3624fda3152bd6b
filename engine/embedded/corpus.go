package embedded

import (
	_ "embed"
	"strings"
)

// corpusText is the text that the model holds by heart, written for this
// package. Paragraphs are documents; one that begins "Q: " with a line "A: " is
// a conversation. Facts come first: a model with few layers runs out of
// memory cells towards the end.
//
//go:embed corpus.txt
var corpusText string

const paragraphBreak = "\n\n"

// turn is a question and its answer. Prose is a turn without a question.
type turn struct{ question, answer string }

func readCorpus(text string) (prose, talks []turn) {
	for _, paragraph := range strings.Split(strings.TrimSpace(text), paragraphBreak) {
		question, answer, isTalk := strings.Cut(strings.TrimPrefix(paragraph, "Q: "), "\nA: ")
		if isTalk {
			talks = append(talks, turn{question, answer})
		} else {
			prose = append(prose, turn{answer: paragraph})
		}
	}
	return prose, talks
}

// anyQuestion, as a question, stands for all that have no answer of their own,
// with a question mark or without.
const anyQuestion = "..."

// anyQuestionWeight is how often the answer to any question counts: more often
// than the answers that several questions share.
const anyQuestionWeight = 3

// corpusTokens is the token stream that the memory is built from. All prose
// is one ring: after its end token a document runs on into the next, and the
// last into the first, so that generation with ignore_eos stays readable.
// Conversations follow as separate streams that end in the ring.
func corpusTokens(tk *tokenizer, prose, talks []turn) [][]token {
	var ring []token
	for _, doc := range prose {
		ring = append(ring, tk.encode(paragraphBreak+doc.answer)...)
		ring = append(ring, eosToken)
	}
	first := ring[0]
	ring = append(ring, ring[:contextSlots]...)
	streams := [][]token{ring}
	for _, talk := range talks {
		answer := append([]token{replyToken}, tk.encode(talk.answer)...)
		answer = append(answer, eosToken, first)
		if talk.question != anyQuestion {
			opening := append([]token{userToken}, tk.encode(talk.question)...)
			streams = append(streams, append(opening, answer...))
			continue
		}
		for range anyQuestionWeight {
			streams = append(streams, answer, append(tk.encode("?"), answer...))
		}
	}
	return streams
}

// newCorpusTokenizer is the tokenizer of the shipped text.
func newCorpusTokenizer() *tokenizer {
	prose, talks := readCorpus(corpusText)
	var texts []string
	for _, t := range prose {
		texts = append(texts, paragraphBreak+t.answer)
	}
	for _, t := range talks {
		texts = append(texts, t.question, t.answer)
	}
	return newTokenizer(texts)
}
