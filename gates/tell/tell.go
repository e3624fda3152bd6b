// Package tell puts facts into words: it alone makes sentences of reasons, for the
// terminal, Markdown, HTML and JSON. It knows how values are printed and what each
// code means to a reader. It refuses to know how anything was decided, and nothing
// reads back what it says.
//
// Rules for messages:
//
//   - What happened, the value, what was required, what to do: in this order, each only
//     where there is something to say. One line where one will do.
//   - A comparison has one notation, everywhere:
//     "chat.tg.gain +21.5% (required ≥ +10%, lower bound +20.3%, 4 launches per arm)",
//     for a fail "upper bound +5.0%", and where it is open "bounds +3.1% to +12.9%, 8
//     launches per arm: undecided". Test statistics belong to explain.
//   - A unit stands behind a space (GB, tok/s, ms), % does not: +12.3%, 8%. ≥ and ≤ in
//     prose, >= and <= in rules that can be copied.
//   - Verdicts are verbs or labels, not adjectives: "level smoke failed", "smoke: fail".
//     Other words are those of docs/concepts.md: 4 launches per arm, bounds, variance.
//   - An error names what was given and ends with what to write instead. No blame, no
//     exclamation, no "please".
//   - A name that people gave is quoted where a sentence would read otherwise without.
package tell

import (
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Line is a reason on one line, followed by its causes.
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

// Lines are reasons, one per line.
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

// Joined are reasons on one line.
func Joined(reasons []verdict.Reason) string { return joined(reasons, Lines(reasons)) }

// joined puts the lines of reasons on one; the number left out follows the last in
// brackets.
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

// Because are reasons as they follow what they explain: ": one; another", or nothing if
// there are none.
func Because(reasons []verdict.Reason) string {
	if len(reasons) == 0 {
		return ""
	}
	return ": " + Joined(reasons)
}

// Behind is text after a separator, empty if there is no text.
func Behind(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// Pairs are names with their values on one line, sorted by name.
func Pairs(of map[string]string, is, separator string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, name+is+of[name])
	}
	return strings.Join(list, separator)
}
