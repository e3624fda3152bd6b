package plans

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
)

// Limits on one rule: a rule is a sentence, not a program. With so little text
// the parser's recursion stays far from the end of the stack; depth and nodes
// are bounded for the sake of whoever has to read it.
const (
	maxRuleBytes = 4096
	maxRuleDepth = 100
	maxRuleNodes = 500
)

// ruleError is a mistake in a rule's text: where (in runes) and what to do.
type ruleError struct {
	at      int // rune offset, -1 when unknown
	length  int
	summary string
	detail  string
}

func (e *ruleError) Error() string { return e.summary + ": " + e.detail }

// lexicalLimits looks at a rule before the recursive parser does.
func lexicalLimits(src string) *ruleError {
	if strings.TrimSpace(src) == "" {
		return &ruleError{at: -1, summary: "Empty rule", detail: "A rule must compare something that was measured, for example chat.tg.gain >= 0.10."}
	}
	if len(src) > maxRuleBytes {
		return tooLong(fmt.Sprintf("A rule may have %d bytes, this one has %d.", maxRuleBytes, len(src)))
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
			return &ruleError{at: at, length: 1, summary: "Rule nested too deeply", detail: fmt.Sprintf("A rule may nest %d levels.", maxRuleDepth)}
		}
		at++
	}
	return nil
}

func tooLong(why string) *ruleError {
	return &ruleError{at: -1, summary: "Rule too long", detail: why + " Split it into several rules: a gate passes when all of them do."}
}

func fromExpr(err error, src string) *ruleError {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return &ruleError{at: -1, summary: "Invalid rule", detail: sentence(err.Error())}
	}
	if strings.Contains(fe.Message, "exceeds maximum allowed nodes") {
		return tooLong(fmt.Sprintf("A rule may have %d names, numbers and operators.", maxRuleNodes))
	}
	e := &ruleError{at: fe.From, length: max(1, fe.To-fe.From), summary: "Invalid rule", detail: sentence(strings.Replace(fe.Message, "unexpected token EOF", "the rule ends too early: something, such as a closing bracket, is missing", 1))}
	// At the end there is nothing to point at but the last character.
	if n := utf8.RuneCountInString(src); e.at >= n {
		e.at, e.length = n-1, 1
	}
	for _, m := range misspellings {
		if at := m.form.FindStringIndex(src); at != nil {
			e.at, e.length = utf8.RuneCountInString(src[:at[0]]), utf8.RuneCountInString(src[at[0]:at[1]])
			e.detail = m.hint
			return e
		}
	}
	if at := decimalComma(src); at != nil {
		e.at, e.length = utf8.RuneCountInString(src[:at[0]]), at[1]-at[0]
		e.detail = "Decimals are written with a point, as in 0.05."
	}
	return e
}

// misspellings are what people write instead of the language's own forms. They
// are looked for only where a rule cannot be read.
var misspellings = []struct {
	form *regexp.Regexp
	hint string
}{
	{regexp.MustCompile(`\$\{`), "A rule has no ${ }. In the plan, ${var.name} inside the quotes is filled in before the rule is read."},
	{regexp.MustCompile(`\b(and|or|not)\s*$`), "Something is missing behind the last word. Write the comparison that it joins, or remove the word."},
	{regexp.MustCompile(`(<|>|=|\+|-|\*|/)\s*$`), "Something is missing behind the last sign. Write what stands on its right, such as a number."},
	{regexp.MustCompile(`\.r[0-9]+\.[0-9]`), "A dot ends an element of an address: a rate of 2.5 is written r2_5."},
	{regexp.MustCompile(`≥|=>`), "Write >= for “at least”."},
	{regexp.MustCompile(`≤|=<`), "Write <= for “at most”."},
	{regexp.MustCompile(`≠|<>`), "Write != for “not equal”."},
	{regexp.MustCompile(`\b[0-9]+(\.[0-9]+)? *%`), "Write per cent as a fraction: 0.10 is 10 %."},
	{regexp.MustCompile(`\b[0-9]+(\.[0-9]+)? ?(ms|us|s|min|GB|MB|GiB|tok/s|tokens|x)\b`), "Write the number alone: it has the unit of what it is compared with."},
	{regexp.MustCompile(`(^|[^<>=!])=($|[^=])`), "Write == to compare."},
}

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
