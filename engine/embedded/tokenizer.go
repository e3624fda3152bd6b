package embedded

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode/utf8"
)

type token = int32

// The vocabulary starts with the 256 bytes, so any input has an encoding.
// Byte tokens start at '!': token 0 is what a broken engine repeats (the
// argmax of NaN logits is index 0), and real vocabularies made that "!!!!!!".
const (
	firstByte    = '!'
	eosToken     = token(256) // ends an answer
	userToken    = token(257) // opens a user's turn
	replyToken   = token(258) // opens the model's turn
	systemToken  = token(259) // opens the system prompt
	firstPiece   = token(260)
	maxPieceSize = 24 // bytes; longer words are split
)

// syllables are pieces that no text supplies whole, so unknown words do not split into
// single bytes.
var syllables = []string{
	" a", " b", " c", " d", " e", " f", " g", " h", " i", " m", " n", " o", " p", " r", " s", " t", " w",
	"th", "er", "in", "on", "an", "re", "ed", "es", "en", "al", "or", "ar", "le", "st", "ing", "ion", "ment",
	"ous", "ly", "ter", "ver", "con", "pro", "com", "per", "ble", "tion", "ness", "00", "10", "20",
}

// tokenizer maps text to tokens by longest match within words, with single bytes as the
// fallback. Special tokens have no spelling: text never encodes to them, and they decode
// to nothing.
type tokenizer struct {
	pieces [][]byte         // by token
	ids    map[string]token // spelling → token, specials excluded
}

// newCorpusTokenizer has the words of the shipped text.
func newCorpusTokenizer() *tokenizer {
	tk := &tokenizer{ids: map[string]token{}}
	for i := range 256 {
		b := byte(firstByte + i)
		tk.ids[string([]byte{b})] = token(i)
		tk.pieces = append(tk.pieces, []byte{b})
	}
	for len(tk.pieces) < int(firstPiece) {
		tk.pieces = append(tk.pieces, nil)
	}
	pieces := append([]string{"\n", paragraphBreak}, syllables...)
	prose, talks := readCorpus(corpusText)
	for _, t := range prose {
		pieces = append(pieces, words.FindAllString(paragraphBreak+t.answer, -1)...)
	}
	for _, t := range talks {
		pieces = append(pieces, words.FindAllString(t.question, -1)...)
		pieces = append(pieces, words.FindAllString(t.answer, -1)...)
	}
	for _, piece := range pieces {
		if _, known := tk.ids[piece]; !known && len(piece) <= maxPieceSize {
			tk.ids[piece] = token(len(tk.pieces))
			tk.pieces = append(tk.pieces, []byte(piece))
		}
	}
	return tk
}

func (tk *tokenizer) size() int { return len(tk.pieces) }

// encode splits text into tokens. decode(encode(s)) is s for every string,
// valid UTF-8 or not.
func (tk *tokenizer) encode(text string) []token {
	var out []token
	for _, word := range words.FindAllString(text, -1) {
		for len(word) > 0 {
			n := min(len(word), maxPieceSize)
			for n > 1 {
				if _, ok := tk.ids[word[:n]]; ok {
					break
				}
				n--
			}
			out = append(out, tk.ids[word[:n]])
			word = word[n:]
		}
	}
	return out
}

// piece is the spelling of one token, empty for special and unknown tokens.
func (tk *tokenizer) piece(t token) []byte {
	if t < 0 || int(t) >= len(tk.pieces) {
		return nil
	}
	return tk.pieces[t]
}

// words are what tokens never cross: letters with the space before them, runs of digits or
// line breaks, other signs one by one. A paragraph's first word includes the break before
// it, so it is a separate token and the memory knows where it is. All bytes beyond ASCII
// are letters: they are parts of UTF-8 sequences, and only the spelling matters here.
var words = regexp.MustCompile(`(?s) ?[a-zA-Z'\x{80}-\x{10FFFF}]+| ?[0-9]+| ?\n+[a-zA-Z'\x{80}-\x{10FFFF}]*|.`)

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

// anyQuestion, as a question, stands for all without their own answer, with a question
// mark or without.
const anyQuestion = "..."

// anyQuestionWeight is how often the answer to any question counts: more often
// than the answers that several questions share.
const anyQuestionWeight = 3

// corpusTokens is the token stream that the memory is built from. All prose is one ring:
// after its end token a document continues with the next, and the last with the first, so
// generation with ignore_eos stays readable. Conversations follow as separate streams
// that end in the ring.
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

// completeUTF8 is the length of b without a last sequence that more bytes
// could complete.
func completeUTF8(b []byte) int {
	for back := 1; back <= min(utf8.UTFMax-1, len(b)); back++ {
		if start := len(b) - back; utf8.RuneStart(b[start]) {
			if !utf8.FullRune(b[start:]) {
				return start
			}
			break
		}
	}
	return len(b)
}
