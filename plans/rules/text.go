package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans/lang"
)

// Limits on one rule: a rule is a sentence, not a program. With so little text the
// parser's recursion stays far from the end of the stack.
const (
	maxRuleBytes = 4096
	maxRuleDepth = 100
)

// Error is a mistake in a rule's text: where (in runes) and what to do.
type Error struct {
	At      int // rune offset, -1 when unknown
	Length  int
	Code    string
	Summary string
	Detail  string
	// About is set if a caller acts on this kind of mistake.
	About About
}

// About is what a mistake is about.
type About string

const (
	// AboutProtocol: a protocol does not send or test what is read.
	AboutProtocol About = "protocol"
	// AboutName: a word is not a name or function that rules have.
	AboutName About = "name"
)

func (e *Error) about(a About) *Error {
	e.About = a
	return e
}

// extra is the Extra of a mistake's diagnostic.
type extra struct {
	lang.Coded
	about About
}

// Extra is the Extra of the mistake's diagnostic.
func (e *Error) Extra() any { return extra{lang.Coded(e.Code), e.About} }

// AboutOf is what a diagnostic of a rule is about; empty for any other.
func AboutOf(d *hcl.Diagnostic) About {
	x, _ := hcl.DiagnosticExtra[extra](d)
	return x.about
}

// lexicalLimits checks a rule before the recursive parser sees it.
func lexicalLimits(src string) *Error {
	if strings.TrimSpace(src) == "" {
		return &Error{At: -1, Code: "empty-rule", Summary: "Empty rule", Detail: "A rule must compare a measured value, such as chat.tg.gain >= 0.10."}
	}
	if len(src) > maxRuleBytes {
		return &Error{At: -1, Code: "rule-too-long", Summary: "Rule too long", Detail: fmt.Sprintf("A rule may have up to %d bytes; this one has %d. Split it into several rules: a gate passes when all of them do.", maxRuleBytes, len(src))}
	}
	depth, at := 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth > maxRuleDepth {
			return &Error{At: at, Length: 1, Code: "nested-too-deeply", Summary: "Rule nested too deeply", Detail: fmt.Sprintf("A rule may nest up to %d levels.", maxRuleDepth)}
		}
		at++
	}
	return nil
}

// fromExpr turns an error of expr-lang into one that tells what to do. The original has a
// place and a sentence, but no code: the mistake must be recognised by its wording, and
// any other wording is quoted unchanged.
func fromExpr(err error, src string) *Error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return &Error{At: -1, Code: "invalid-rule", Summary: "Invalid rule", Detail: sentence(err.Error())}
	}
	e := &Error{At: fe.From, Length: max(1, fe.To-fe.From), Code: "invalid-rule", Summary: "Invalid rule", Detail: sentence(strings.Replace(fe.Message, "unexpected token EOF", "the rule ends too early: something is missing, such as a closing bracket", 1))}
	// At the end there is nothing to point at but the last character.
	if n := utf8.RuneCountInString(src); e.At >= n {
		e.At, e.Length = n-1, 1
	}
	for _, m := range misspellings {
		if at := m.form.FindStringIndex(src); at != nil {
			e.At, e.Length = utf8.RuneCountInString(src[:at[0]]), utf8.RuneCountInString(src[at[0]:at[1]])
			e.Detail = m.hint
			return e
		}
	}
	if at := decimalComma(src); at != nil {
		e.At, e.Length = utf8.RuneCountInString(src[:at[0]]), at[1]-at[0]
		e.Detail = "Write decimals with a point, as in 0.05."
	}
	return e
}

// misspellings are what people write instead of the language's own forms. They are
// checked only if a rule cannot be read.
var misspellings = []struct {
	form *regexp.Regexp
	hint string
}{
	{regexp.MustCompile(`\$\{`), "A rule has no ${ }. In the plan, ${var.name} inside the quotes is interpolated before the rule is read."},
	{regexp.MustCompile(`\b(AND|OR|NOT)\b`), "Write and, or and not in lower case."},
	{regexp.MustCompile(`\b(and|or|not)\s*$`), "Nothing follows the last word. Add the comparison that it joins, or remove the word."},
	{regexp.MustCompile(`(<|>|=|\+|-|\*|/)\s*$`), "Nothing follows the last operator. Add its right-hand side, such as a number."},
	{regexp.MustCompile(`\.r[0-9]+\.[0-9]`), "A dot ends an element of an address: write a rate of 2.5 as r2_5."},
	{regexp.MustCompile(`≥|=>`), "Write >= for “at least”."},
	{regexp.MustCompile(`≤|=<`), "Write <= for “at most”."},
	{regexp.MustCompile(`≠|<>`), "Write != for “not equal”."},
	{factor, "Write a factor with an asterisk, as in 2 * chat.tg.base."},
	{numberWithUnit, "Write the number without a unit: it has the unit of the value it is compared with. Write percentages as fractions: 0.10 is 10%."},
	{regexp.MustCompile(`[<>!=]\s+=`), "Write >=, <=, == and != without a space."},
	{regexp.MustCompile(`(^|[^<>=!])=($|[^=])`), "Write == to compare."},
}

var (
	factor         = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)? ?[x×] +[A-Za-z]`)
	numberWithUnit = regexp.MustCompile(`\b[0-9]+(?:\.[0-9]+)? ?(?:(?:ms|us|µs|s|min|h|GB|MB|GiB|MiB|tok/s|tokens|W|J|x)\b|[%×])`)
)

func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

var commaNumber = regexp.MustCompile(`\b[0-9]+,[0-9]+\b`)

// decimalComma is where a number contains a comma; nil if none does. In lists, commas
// stand between numbers.
func decimalComma(src string) []int {
	for _, at := range commaNumber.FindAllStringIndex(src, -1) {
		if before := src[:at[0]]; strings.Count(before, "[") <= strings.Count(before, "]") {
			return at
		}
	}
	return nil
}
