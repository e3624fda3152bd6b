// Package answers judges the answers of engines: whether they are text or garbage,
// whether two engines did the same work for them, and how far two engines' answers to the
// same prompts are apart at temperature 0. It sends no requests (engine/openai does), and
// knows no limits: gates judge.
package answers

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Code names what was found in one text, or in the answers to a cell's prompts.
type Code string

// What Coherent finds in one text.
const (
	Empty      Code = "empty"       // nothing but white space
	OnlyBroken Code = "only-broken" // nothing but replacement characters
	Broken     Code = "broken"      // Count of Of characters are replacement, control or private ones
	NotNumbers Code = "not-numbers" // Count of Of words are NaN or infinite
	OneWord    Code = "one-word"    // Text is Count of Of words
	Repeated   Code = "repeated"    // Text again and again
	TooEven    Code = "too-even"    // Value bits of entropy a character, less than any text has
	TooRandom  Code = "too-random"  // and more than any
)

// What Incoherent and Signs find in answers.
const (
	// Garbage is one answer that shows Sign.
	Garbage Code = "garbage"
	// Circles are Count of Of answers that show a sign such as Sign where the parent's do
	// not, and Reverse the other way round.
	Circles Code = "circles"
)

// Sign is a feature of a text that sound text does not have; without a code, none.
type Sign struct {
	Code Code
	// Text is the start of what is repeated.
	Text      string
	Count, Of int
	Value     float64
	FromStart bool
}

// Limits of Coherent. They are deliberately wide: a check that calls a strange but sound
// answer garbage would invalidate measurements at random. Subtle damage is for the
// comparison with a baseline to find.
const (
	// minRepeats is how many words, and minRunes how many characters, a text needs for
	// repetition and entropy to be meaningful.
	minRepeats, minRunes = 12, 64
	// minSame is the minimum length of a text of a single character: less than the
	// shortest measured answers, since "!!!!!!!!" is what NaNs look like.
	minSame = 8
	// maxShare is the largest share that one word or one character may have.
	maxShare = 0.9
	// maxBroken is the largest share of replacement and control characters.
	maxBroken = 0.02
	// minBits and maxBits bound the entropy of characters, in bits per character. A
	// binary number has 1, English 4.1 to 4.6, source code and JSON up to 5.3, base64
	// nearly 6; random printable ASCII 6.6.
	minBits, maxBits = 0.8, 6.2
	// maxWideBits is the upper bound for scripts with thousands of characters: Chinese
	// text has up to 9.5.
	maxWideBits = 10.5
	// truncated is how many replacement characters a character cut at the token limit may
	// leave at the end.
	truncated = 3
)

// Coherent is an absolute check of a generated text against garbage: whether it is empty,
// consists of replacement or control characters, of NaNs, of one repeated token, or has
// too few or too many different characters for any language. If so, why is the sign it
// shows. It knows no language and judges no meaning: a wrong answer in good English is
// coherent. It is for answers that end by themselves; a text forced past its end may
// repeat itself legitimately.
func Coherent(text string) (ok bool, why Sign) {
	text = strings.TrimSpace(text)
	if text == "" {
		return false, Sign{Code: Empty}
	}
	for _, check := range []func(string) Sign{broken, notNumbers, repeated, entropy} {
		if why := check(text); why.Code != "" {
			return false, why
		}
	}
	return true, Sign{}
}

// broken finds characters that stand for invalid bytes.
func broken(text string) Sign {
	for range truncated {
		text = strings.TrimSuffix(text, "\uFFFD")
	}
	if text == "" {
		return Sign{Code: OnlyBroken}
	}
	bad, n := brokenRunes(text)
	if share := float64(bad) / float64(n); share > maxBroken {
		return Sign{Code: Broken, Count: bad, Of: n}
	}
	return Sign{}
}

// brokenRunes counts replacement, control and private characters, of n.
func brokenRunes(text string) (bad, n int) {
	for i, r := range text {
		n++
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size <= 1, r == '\uFFFD':
			bad++
		case unicode.IsControl(r) && !unicode.IsSpace(r), unicode.Is(unicode.Co, r):
			bad++
		}
	}
	return bad, n
}

// notNumbers finds broken numerics that were printed.
func notNumbers(text string) Sign {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;[]()", r)
	})
	bad := 0
	for _, w := range words {
		switch strings.TrimLeft(w, "+-") {
		case "nan", "inf", "infinity":
			bad++
		}
	}
	if bad > 0 && 2*bad > len(words) {
		return Sign{Code: NotNumbers, Count: bad, Of: len(words)}
	}
	return Sign{}
}

// repeated finds one word, or one short piece without spaces, over and over: a token id 0
// for every NaN shows as "!!!!!!".
func repeated(text string) Sign {
	words := strings.Fields(text)
	if len(words) >= minRepeats {
		counts := map[string]int{}
		for _, w := range words {
			counts[w]++
			if n := counts[w]; float64(n) > maxShare*float64(len(words)) {
				return Sign{Code: OneWord, Text: firstRunes(w, 20), Count: n, Of: len(words)}
			}
		}
	}
	runes := []rune(text)
	if one := string(runes[0]); len(runes) >= minSame && strings.Count(text, one) == len(runes) {
		return Sign{Code: Repeated, Text: one}
	}
	if len(runes) < minRunes {
		return Sign{}
	}
	for period := 1; period <= 8; period++ {
		if slices.Equal(runes[period:], runes[:len(runes)-period]) {
			return Sign{Code: Repeated, Text: string(runes[:period])}
		}
	}
	return Sign{}
}

// entropy compares how evenly characters are used with the range of texts in their kind of
// script, by the Shannon entropy: the sum of −p log₂ p over the characters' shares p.
func entropy(text string) Sign {
	counts, n, wide := map[rune]int{}, 0, 0
	for _, r := range text {
		counts[r]++
		n++
		if r >= utf8.RuneSelf {
			wide++
		}
	}
	bits := 0.0
	for _, c := range slices.Sorted(maps.Values(counts)) { // so the last bit does not depend on the map's order
		p := float64(c) / float64(n)
		bits -= p * math.Log2(p)
	}
	most := maxBits
	if 20*wide > n {
		most = maxWideBits
	}
	switch {
	case n < minRunes:
		return Sign{}
	case bits < minBits:
		return Sign{Code: TooEven, Value: bits}
	case bits > most:
		return Sign{Code: TooRandom, Value: bits}
	}
	return Sign{}
}

// surelyBroken is more broken characters than an emoji or two cut at a tokenizer's
// boundary.
const surelyBroken = 8

// hard returns signs of garbage that no sound engine shows, however far it is forced past
// the end of its answer: invalid bytes, broken numerics, more different characters than
// any script uses, one token from the very start. There may be none.
func hard(text string) Sign {
	text = strings.TrimSpace(text)
	if text == "" {
		return Sign{}
	}
	if bad, n := brokenRunes(strings.TrimRight(text, "\uFFFD")); bad >= surelyBroken || 3*bad > n {
		if why := broken(text); why.Code != "" {
			return why
		}
	}
	if why := notNumbers(text); why.Code != "" {
		return why
	}
	if why := entropy(text); why.Code == TooRandom {
		return why
	}
	if why := repeated(text); why.Code != "" {
		words := strings.Fields(text)
		if len(words) < 3 || words[0] == words[1] && words[1] == words[2] {
			why.FromStart = true
			return why
		}
	}
	return Sign{}
}

// soft returns signs that a sound engine shows as well when forced on: one word again and
// again, or no text at all, since tokens after the end of an answer are often invisible.
// There may be none.
func soft(text string) Sign {
	text = strings.TrimSpace(text)
	if text == "" {
		return Sign{Code: Empty}
	}
	if why := repeated(text); why.Code != "" {
		return why
	}
	return entropy(text)
}
