package coherence

import (
	"fmt"
	"strings"
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
	Looped     Code = "looped"      // a share of Value came before
)

// What Incoherent and Relative find in answers.
const (
	// Garbage is one answer that shows Sign.
	Garbage Code = "garbage"
	// Circles are Count of Of answers that show a sign such as Sign where the
	// parent's do not, and Reverse the other way round.
	Circles Code = "circles"
	// Random is wording more surprising than the parent's by Bits over Of prompts,
	// ParentRandom the same where it is the parent that is like words at random.
	Random       Code = "random"
	ParentRandom Code = "parent-random"
	// Unlike are Count of Of answers that are worded unlike the parent's.
	Unlike Code = "unlike"
)

// Sign is what a text shows that sound text does not; without a code, nothing.
type Sign struct {
	Code Code `json:"code,omitempty"`
	// Text is the beginning of what is repeated.
	Text      string  `json:"text,omitempty"`
	Count     int     `json:"count,omitempty"`
	Of        int     `json:"of,omitempty"`
	Value     float64 `json:"value,omitempty"`
	FromStart bool    `json:"from_start,omitempty"`
}

// Request tells the requests of a cell apart.
type Request struct {
	Index int `json:"index"`
	Turn  int `json:"turn,omitempty"`
}

// Finding is something found in the answers to a cell's prompts. Request, Sign
// and Excerpt, the beginning of the answer, are of the answer that it is about
// or that is an example of it.
type Finding struct {
	Code    Code    `json:"code"`
	Cell    string  `json:"cell"`
	Request Request `json:"request,omitzero"`
	Sign    Sign    `json:"sign,omitzero"`
	Excerpt string  `json:"excerpt,omitempty"`
	Count   int     `json:"count,omitempty"`
	Of      int     `json:"of,omitempty"`
	Reverse int     `json:"reverse,omitempty"`
	Bits    float64 `json:"bits,omitempty"`
}

// excerpt is the beginning of an answer.
func excerpt(text string) string { return firstRunes(strings.TrimSpace(text), 40) }

// firstRunes is the beginning of a text as valid UTF-8, so that it is the same
// when it was written down and read again.
func firstRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), n)])
}

func (s Sign) String() string {
	said := ""
	switch s.Code {
	case Empty:
		said = "empty"
	case OnlyBroken:
		said = "nothing but replacement characters"
	case Broken:
		said = fmt.Sprintf("%d of %d characters are replacement, control or private ones", s.Count, s.Of)
	case NotNumbers:
		said = fmt.Sprintf("%d of %d words are NaN or infinite", s.Count, s.Of)
	case OneWord:
		said = fmt.Sprintf("%q is %d of %d words", s.Text, s.Count, s.Of)
	case Repeated:
		said = fmt.Sprintf("%q again and again", s.Text)
	case TooEven:
		said = fmt.Sprintf("character entropy of %.2f bits, less than any text has", s.Value)
	case TooRandom:
		said = fmt.Sprintf("character entropy of %.2f bits, more than any text has", s.Value)
	case Looped:
		said = fmt.Sprintf("%.0f %% of it repeats what came before", 100*s.Value)
	default:
		said = string(s.Code)
	}
	if s.FromStart {
		said += ", from its beginning"
	}
	return said
}

func (r Request) String() string {
	if r.Turn > 0 {
		return fmt.Sprintf("request %d, turn %d", r.Index, r.Turn)
	}
	return fmt.Sprintf("request %d", r.Index)
}

// String words a finding without its cell.
func (f Finding) String() string {
	switch f.Code {
	case Garbage:
		return fmt.Sprintf("%s: %s (%q)", f.Request, f.Sign, f.Excerpt)
	case Circles:
		return fmt.Sprintf("%d of %d answers turn in circles or are empty where the parent's do not, and %d the other way round, such as %s: %s (%q)",
			f.Count, f.Of, f.Reverse, f.Request, f.Sign, f.Excerpt)
	case Random:
		return fmt.Sprintf("the wording is more surprising than the parent's by %.2f bits a character over %d prompts, as words at random are", f.Bits, f.Of)
	case ParentRandom:
		return fmt.Sprintf("the wording differs from the parent's by %.2f bits a character over %d prompts, but it is the parent's that is more like words at random", f.Bits, f.Of)
	case Unlike:
		return fmt.Sprintf("%d of %d answers are worded unlike the parent's", f.Count, f.Of)
	}
	return string(f.Code)
}
