// Package coherence tells text from garbage: which answers no sound engine gives, and
// whether a candidate's answers are worse text than its parent's. It does not know
// whether an answer is right, how fast it came or what follows from a finding: gates
// judge.
package coherence

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/measure"
)

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
		same := 0
		for i := period; i < len(runes); i++ {
			if runes[i] == runes[i-period] {
				same++
			}
		}
		if same == len(runes)-period {
			return Sign{Code: Repeated, Text: string(runes[:period])}
		}
	}
	return Sign{}
}

// entropy compares how evenly characters are used with the range of real texts.
func entropy(text string) Sign {
	bits, most, n := characterBits(text)
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

// characterBits is the Shannon entropy of a text's n characters in bits, the sum of −p
// log₂ p over the characters' shares p, and the maximum for a text in its kind of script.
func characterBits(text string) (bits, most float64, n int) {
	counts, wide := map[rune]int{}, 0
	for _, r := range text {
		counts[r]++
		n++
		if r >= utf8.RuneSelf {
			wide++
		}
	}
	shares := make([]int, 0, len(counts))
	for _, c := range counts {
		shares = append(shares, c)
	}
	slices.Sort(shares) // so the last bit does not depend on the map's order
	for _, c := range shares {
		p := float64(c) / float64(n)
		bits -= p * math.Log2(p)
	}
	if 20*wide > n {
		return bits, maxWideBits, n
	}
	return bits, maxBits, n
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
	if bits, most, n := characterBits(text); n >= minRunes && bits > most {
		return entropy(text)
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

// Incoherent is Coherent for all measured answers: for each that does not read as text,
// its request, the sign and its start. It is for answers that end by themselves; Signs is
// for those forced on.
func Incoherent(samples []measure.Sample) (found []Finding) {
	for s := range measure.Answered(samples) {
		text := generatedText(s)
		if ok, why := Coherent(text); !ok {
			found = append(found, Finding{Code: Garbage, Cell: s.Workload, Request: Request{s.Index, s.Turn}, Sign: why, Excerpt: excerpt(text)})
		}
	}
	return found
}

// generatedText is everything that an engine generated for a request.
func generatedText(s measure.Sample) string { return s.Reasoning + s.Text + s.Tools }
