package embedded

import "slices"

// token is an index into the vocabulary.
type token = int32

// The vocabulary begins with the 256 bytes, so that any input has an encoding.
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

// syllables are pieces that no text supplies whole, so that unknown words do
// not fall apart into single bytes.
var syllables = []string{
	" a", " b", " c", " d", " e", " f", " g", " h", " i", " m", " n", " o", " p", " r", " s", " t", " w",
	"th", "er", "in", "on", "an", "re", "ed", "es", "en", "al", "or", "ar", "le", "st", "ing", "ion", "ment",
	"ous", "ly", "ter", "ver", "con", "pro", "com", "per", "ble", "tion", "ness", "00", "10", "20",
}

// tokenizer maps text to tokens by longest match within words, with single
// bytes as the fallback. Special tokens have no spelling: text never encodes
// to them, and they decode to nothing.
type tokenizer struct {
	pieces [][]byte         // by token
	ids    map[string]token // spelling → token, specials excluded
}

// newTokenizer builds the vocabulary from the words of texts.
func newTokenizer(texts []string) *tokenizer {
	tk := &tokenizer{ids: map[string]token{}}
	for i := range 256 {
		b := byte(firstByte + i)
		tk.ids[string([]byte{b})] = token(i)
		tk.pieces = append(tk.pieces, []byte{b})
	}
	for len(tk.pieces) < int(firstPiece) {
		tk.pieces = append(tk.pieces, nil)
	}
	tk.add("\n")
	tk.add(paragraphBreak)
	for _, s := range syllables {
		tk.add(s)
	}
	for _, text := range texts {
		for _, word := range splitWords(text) {
			tk.add(word)
		}
	}
	return tk
}

func (tk *tokenizer) add(piece string) {
	if _, known := tk.ids[piece]; known || len(piece) > maxPieceSize {
		return
	}
	tk.ids[piece] = token(len(tk.pieces))
	tk.pieces = append(tk.pieces, []byte(piece))
}

func (tk *tokenizer) size() int { return len(tk.pieces) }

// encode splits text into tokens. decode(encode(s)) is s for every string,
// valid UTF-8 or not.
func (tk *tokenizer) encode(text string) []token {
	var out []token
	for _, word := range splitWords(text) {
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

// decode joins the spellings of tokens.
func (tk *tokenizer) decode(tokens []token) string {
	parts := make([][]byte, len(tokens))
	for i, t := range tokens {
		parts[i] = tk.piece(t)
	}
	return string(slices.Concat(parts...))
}

// splitWords cuts text where tokens may never cross: before a word with its
// leading space or line breaks, around runs of digits, and at other signs. A
// paragraph's first word includes the break before it, so that it is a token
// of its own and the memory can tell where it is.
func splitWords(text string) []string {
	var words []string
	for start := 0; start < len(text); {
		end := start
		if text[end] == ' ' && end+1 < len(text) && charClass(text[end+1]) != signClass {
			end++
		}
		class := charClass(text[end])
		end++
		for class != signClass && end < len(text) && charClass(text[end]) == class {
			end++
		}
		for class == newlineClass && end < len(text) && charClass(text[end]) == letterClass {
			end++
		}
		words = append(words, text[start:end])
		start = end
	}
	return words
}

const (
	signClass = iota
	letterClass
	digitClass
	newlineClass
)

// charClass counts all bytes beyond ASCII as letters: they are parts of UTF-8
// sequences, and only the spelling matters here.
func charClass(b byte) int {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '\'', b >= 0x80:
		return letterClass
	case b >= '0' && b <= '9':
		return digitClass
	case b == '\n':
		return newlineClass
	default:
		return signClass
	}
}
