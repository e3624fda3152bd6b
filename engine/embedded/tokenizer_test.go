package embedded

import (
	"slices"
	"strings"
	"testing"
)

// decode joins the spellings of tokens.
func (tk *tokenizer) decode(tokens []token) string {
	parts := make([][]byte, len(tokens))
	for i, t := range tokens {
		parts[i] = tk.piece(t)
	}
	return string(slices.Concat(parts...))
}

func FuzzTokenizerRoundTrip(f *testing.F) {
	tk := newCorpusTokenizer()
	for _, seed := range []string{
		"", " ", "  ", "a", "The capital of France is", " leading", "trailing ", "two  spaces",
		"line\nline\n\n\nparagraph",
		"\n\nThe  x\n1a'2", "\n\nUnknownword", "tab\tand\rreturn", "12345 67", "naïve café — “quotes”", "日本\xff语", "🙂🙃",
		"\xff\xfe\x80", "\x00", "<|endoftext|>", strings.Repeat("x", 100), strings.Repeat("é", 50),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := tk.encode(text)
		if got := tk.decode(tokens); got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
		special := func(id token) bool { return id >= eosToken && id < firstPiece }
		if len(tokens) > len(text) || slices.ContainsFunc(tokens, special) {
			t.Fatalf("%d bytes became the tokens %v: too many, or special ones, which no text spells",
				len(text), tokens)
		}
	})
}

func TestTokenizerSpellings(t *testing.T) {
	tk := newCorpusTokenizer()
	if got := tk.decode([]token{0}); got != "!" {
		t.Errorf("token 0 is %q: NaN logits should read as exclamation marks", got)
	}
	if got := tk.decode([]token{-1, eosToken, userToken, replyToken, systemToken, 1 << 30}); got != "" {
		t.Errorf("special and unknown tokens decode to %q", got)
	}
	if n := tk.size(); n > maxCodes {
		t.Errorf("%d tokens, but there are only %d codes", n, maxCodes)
	}
	split := words.FindAllString("The capital, of  1914\n\nFrance is", -1)
	want := []string{"The", " capital", ",", " of", " ", " 1914", "\n\nFrance", " is"}
	if !slices.Equal(split, want) {
		t.Errorf("split into %q, want %q", split, want)
	}
}

// A character that comes in parts is sent whole, a broken one is not waited for.
func TestCompleteUTF8(t *testing.T) {
	for text, want := range map[string]int{
		"x": 1, "x\xf0\x9f\x99": 1, "x\xf0\x9f\x99\x82": 5, "\xc3a": 2,
		"\xff": 1, "": 0,
	} {
		if got := completeUTF8([]byte(text)); got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
}
