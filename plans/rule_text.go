package plans

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/file"
)

// Limits on one rule: a rule is a sentence, not a program.
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

// lexicalLimits keeps the recursive parser from what would overflow the stack.
func lexicalLimits(src string) *ruleError {
	if strings.TrimSpace(src) == "" {
		return &ruleError{at: -1, summary: "Empty rule", detail: "A rule must compare something that was measured, for example chat.tg.gain >= 0.10."}
	}
	if len(src) > maxRuleBytes {
		return &ruleError{at: -1, summary: "Rule too long", detail: fmt.Sprintf("A rule may have %d bytes, this one has %d. Split it into several rules: a gate passes when all of them do.", maxRuleBytes, len(src))}
	}
	depth, run := 0, 0
	for i, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if c == '!' || c == '-' || c == '+' {
			run++
		} else if c != ' ' {
			run = 0
		}
		if depth > maxRuleDepth || run > maxRuleDepth {
			return &ruleError{at: i, length: 1, summary: "Rule nested too deeply", detail: fmt.Sprintf("A rule may nest %d levels.", maxRuleDepth)}
		}
	}
	return nil
}

func fromExpr(err error) *ruleError {
	if fe, ok := err.(*file.Error); ok {
		return &ruleError{at: fe.From, length: max(1, fe.To-fe.From), summary: "Invalid rule", detail: sentence(fe.Message) + hint(fe.Message)}
	}
	return &ruleError{at: -1, summary: "Invalid rule", detail: sentence(err.Error())}
}

// hint adds what people usually meant.
func hint(message string) string {
	switch {
	case strings.Contains(message, "U+2265") || strings.Contains(message, "≥"):
		return " Write >= for ≥."
	case strings.Contains(message, "U+2264") || strings.Contains(message, "≤"):
		return " Write <= for ≤."
	case strings.Contains(message, `Operator("=")`) || strings.Contains(message, `"="`):
		return " Write == to compare."
	}
	return ""
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

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
