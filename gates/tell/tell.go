// Package tell puts facts into words: it alone makes sentences of reasons, for the
// terminal, Markdown, HTML and JSON. It knows how values are printed and what each
// code means to a reader. It refuses to know how anything was decided, and nothing
// reads back what it says.
package tell

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Line is a reason in one line, with what it follows from behind it.
func Line(r verdict.Reason) string {
	if r.IsZero() {
		return ""
	}
	text, all := say(r)
	if !all {
		text += Because(r.Causes)
	}
	return swapped(r.Code, text)
}

// Lines are reasons, a line each.
func Lines(reasons []verdict.Reason) []string {
	if reasons == nil {
		return nil
	}
	out := make([]string, len(reasons))
	for i, r := range reasons {
		out[i] = Line(r)
	}
	return out
}

// Joined are reasons in one line.
func Joined(reasons []verdict.Reason) string { return joined(reasons, Lines(reasons)) }

// joined puts the lines of reasons into one; how many more there are stands behind
// the last in brackets of its own.
func joined(reasons []verdict.Reason, lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		switch {
		case i == 0:
		case reasons[i].Code == code.More:
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// Because are reasons as they stand behind what they explain: ": one; another", and
// nothing where there are none.
func Because(reasons []verdict.Reason) string {
	if len(reasons) == 0 {
		return ""
	}
	return ": " + Joined(reasons)
}
