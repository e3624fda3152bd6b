package coherence

import "strings"

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
	Count     int
	Of        int
	Value     float64
	FromStart bool
}

// Request tells the requests of a cell apart.
type Request struct {
	Index int
	Turn  int
}

// Finding is a finding in the answers to a cell's prompts. Request, Sign and Excerpt, the
// start of the answer, belong to the answer concerned or to an example.
type Finding struct {
	Code    Code
	Cell    string
	Request Request
	Sign    Sign
	Excerpt string
	Count   int
	Of      int
	Reverse int
}

// excerpt is the start of an answer.
func excerpt(text string) string { return firstRunes(strings.TrimSpace(text), 40) }

// firstRunes is the start of a text as valid UTF-8, so it survives being written and read
// again.
func firstRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), n)])
}
