package tell

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// phrases are the words for codes: a template (string), or a function where the words
// depend on the values (func(verdict.Reason) string). What a reason follows from is
// added behind its phrase, ": one; another", unless a template says {causes} itself.
//
// A template holds, in braces, the name of an argument, or "subject", "verdict" or
// "causes":
//
//	{path}                 as values of its kind are written: "31.68 tok/s", "a, b"
//	{path:q}               in quotes
//	{took:2} {took:3}      a number, or both ends of a span, with so many digits
//	{p:is}                 a chance: "p = 0.002", "p < 0.000001"
//	{names:and} {names:or} a list as a sentence joins it
//	{n|launch|launches}    a count with its noun
//	{verdict:did}          what came of something: "failed", "is invalid"
//	{verdict:would}        what would: "would fail", "would be invalid"
//	{why?: {why}}          what stands behind the ?, where the argument is there
//	{why!nothing}          what stands behind the !, where it is not
type phrases map[code.Code]any

// whole is a phrase function that includes the causes itself.
type whole func(verdict.Reason) string

// say is the phrase of a reason without its causes, and whether the phrase included them.
func say(r verdict.Reason) (text string, all bool) {
	switch p := catalogue[r.Code].(type) {
	case string:
		return fill(p, r), strings.Contains(p, "{causes")
	case func(verdict.Reason) string:
		return p(r), false
	case whole:
		return p(r), true
	case func(verdict.Reason) (string, bool):
		return p(r)
	}
	// A code of a newer version, or none: its facts as they are.
	text = string(r.Code)
	if r.Subject != "" {
		text += " " + r.Subject
	}
	if r.Verdict != "" {
		text += " " + string(r.Verdict)
	}
	return text, false
}

// fill puts the values of a reason into a template.
func fill(template string, r verdict.Reason) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(template, '{')
		if i < 0 {
			return b.String() + template
		}
		b.WriteString(template[:i])
		end := closing(template, i)
		b.WriteString(expand(template[i+1:end], r))
		template = template[end+1:]
	}
}

// closing is the index of the brace that closes the one at i; templates are ours, and a
// test fills every one.
func closing(s string, i int) int {
	depth := 0
	for j := i; j < len(s); j++ {
		switch s[j] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return j
			}
		}
	}
	panic("tell: a brace is not closed in " + s)
}

// expand is the text for one pair of braces.
func expand(inner string, r verdict.Reason) string {
	at := strings.IndexAny(inner, ":|?!")
	if at < 0 {
		return Value(lookup(inner, r))
	}
	name, rest := inner[:at], inner[at+1:]
	v := lookup(name, r)
	switch inner[at] {
	case '?':
		if !present(v) {
			return ""
		}
		return fill(rest, r)
	case '!':
		if present(v) {
			return ""
		}
		return fill(rest, r)
	case '|':
		one, many, _ := strings.Cut(rest, "|")
		if v.Number != nil && *v.Number == 1 {
			many = one
		}
		return Value(v) + " " + many
	}
	switch rest {
	case "did":
		return Did(verdict.Verdict(v.Text))
	case "would":
		return would(verdict.Verdict(v.Text))
	case "q":
		return fmt.Sprintf("%q", Value(v))
	case "and", "or":
		return verdict.Joined(v.List, rest)
	case "is":
		if v.Number != nil {
			return PIs(*v.Number)
		}
	case "2", "3":
		if v.Number != nil {
			digits := func(x float64) string { return Digits(x, v.Unit, int(rest[0]-'0')-4) }
			if v.To != nil && digits(*v.To) != digits(*v.Number) {
				return digits(*v.Number) + " to " + digits(*v.To)
			}
			return digits(*v.Number)
		}
	}
	return Value(v)
}

// Did is a verdict as a predicate: "failed".
func Did(v verdict.Verdict) string {
	switch v {
	case verdict.Pass:
		return "passed"
	case verdict.Fail:
		return "failed"
	case verdict.Error:
		return "ended in error"
	}
	return "is " + string(v)
}

func would(v verdict.Verdict) string {
	switch v {
	case verdict.Pass, verdict.Fail:
		return "would " + string(v)
	case verdict.Error:
		return "would end in error"
	}
	return "would be " + string(v)
}

func lookup(name string, r verdict.Reason) verdict.Value {
	switch name {
	case "subject":
		return verdict.Value{Text: r.Subject}
	case "verdict":
		return verdict.Value{Text: string(r.Verdict)}
	case "causes":
		return verdict.Value{Text: Joined(r.Causes)}
	}
	return r.Args[name]
}

func present(v verdict.Value) bool {
	return v.Text != "" || v.Number != nil || len(v.List) > 0 || len(v.Numbers) > 0
}

// Value formats one value as phrases do.
func Value(v verdict.Value) string {
	switch {
	case v.Number != nil && v.To != nil:
		low, high := Apart(*v.Number, *v.To, v.Unit)
		return low + " to " + high
	case v.Numbers != nil:
		each := make([]string, len(v.Numbers))
		for i, x := range v.Numbers {
			each[i] = Number(x, v.Unit)
		}
		return strings.Join(each, ", ")
	case v.Number != nil:
		return Number(*v.Number, v.Unit)
	case v.List != nil:
		return strings.Join(v.List, ", ")
	}
	return v.Text
}
