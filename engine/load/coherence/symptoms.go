package coherence

import "strings"

const (
	// surelyBroken is how many broken characters are more than an emoji or two
	// that a tokenizer's boundary cut.
	surelyBroken = 8
	// windows is the length in characters of the pieces whose repetition is
	// counted, and maxLooped the share of them that may have come before. Prose
	// of thousands of characters has a tenth, lists and tables up to a third.
	windows, maxLooped = 8, 0.5
)

// hard are signs of garbage that no sound engine shows, however far it is forced
// on past the end of its answer: bytes that are no text, broken numerics, more
// different characters than any script uses, one token from the very first.
// There may be none.
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

// soft are signs that a sound engine shows as well when it is forced on: a text
// that turns in a circle, or no text at all since the tokens after the end of an
// answer are often invisible. How often is the model's and the prompts' doing,
// so only the parent's answers say how much of it is too much. There may be
// none.
func soft(text string) Sign {
	text = strings.TrimSpace(text)
	if text == "" {
		return Sign{Code: Empty}
	}
	if share := looped(text); share > maxLooped {
		return Sign{Code: Looped, Value: share}
	}
	if why := repeated(text); why.Code != "" {
		return why
	}
	return entropy(text)
}

// looped is the share of a text's pieces of 8 characters that it had before; 0
// for a text that is too short to say.
func looped(text string) float64 {
	runes := []rune(text)
	if len(runes) < minRunes {
		return 0
	}
	type piece [windows]rune
	seen, again := map[piece]bool{}, 0
	pieces := len(runes) - windows + 1
	for i := range pieces {
		one := piece(runes[i : i+windows])
		if seen[one] {
			again++
		}
		seen[one] = true
	}
	return float64(again) / float64(pieces)
}
