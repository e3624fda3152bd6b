package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mxflow/mxflow/plans/redact"
)

// mark is a cty mark of ours.
type mark string

// sensitive marks values that must not be shown. Whatever is computed from one
// carries the mark too.
const sensitive = mark("sensitive")

// secrets are the sensitive texts that a load has come across.
type secrets struct {
	// marked is set as soon as there is a sensitive value, so that all other
	// plans do not pay for looking.
	marked bool
	known  map[string]bool
	order  []string
	// unseen are texts as they were given, from which a value could not be made.
	unseen []string
}

// list is all of them, none twice.
func (s *secrets) list() []string { return append([]string(nil), s.order...) }

// collect notes every sensitive text and number in v.
func (s *secrets) collect(v cty.Value) {
	if !s.marked {
		return
	}
	eachSecret(v, false, func(leaf cty.Value) {
		text, ok := secretText(leaf)
		if !ok || text == "" || s.known[text] {
			return
		}
		if s.known == nil {
			s.known = map[string]bool{}
		}
		s.known[text] = true
		s.order = append(s.order, text)
	})
}

// eachSecret visits the leaves of v that are sensitive, without their marks.
func eachSecret(v cty.Value, inside bool, visit func(cty.Value)) {
	inside = inside || v.HasMark(sensitive)
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return
	}
	if !v.CanIterateElements() {
		if inside {
			visit(v)
		}
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		eachSecret(e, inside, visit)
	}
}

// secretText is the text by which a secret shows; false for what has none that
// could be recognised.
func secretText(leaf cty.Value) (string, bool) {
	if leaf.Type() == cty.Bool || !leaf.Type().IsPrimitiveType() {
		return "", false
	}
	text, err := convert.Convert(leaf, cty.String)
	if err != nil {
		return "", false
	}
	return text.AsString(), true
}

// hidden reports whether v is sensitive or holds anything that is.
func (l *evalScope) hidden(v cty.Value) bool { return l.secrets.marked && v.ContainsMarked() }

// public refuses a sensitive value where the plan would show it.
func (l *evalScope) public(v cty.Value, at hcl.Range, what string) (cty.Value, bool) {
	if !l.hidden(v) {
		return v, true
	}
	l.fail(at, "Sensitive value is not allowed here", "%s would show up in reports and in what is recorded, so it cannot come from a sensitive value. Sensitive values may be used in env, settings, args, command and other text that only a program gets to see. If the value is no secret, say so with nonsensitive(…).", what)
	return cty.DynamicVal, false
}

// private takes the marks off a value that a program gets to see, and refuses
// secrets that could not be taken out of its output.
func (l *evalScope) private(v cty.Value, at hcl.Range) (cty.Value, bool) {
	if !l.hidden(v) {
		return v, true
	}
	why := ""
	eachSecret(v, false, func(leaf cty.Value) {
		text, ok := secretText(leaf)
		switch {
		case !ok:
			why = "true and false are in everything"
		case text != "" && len(text) < redact.MinLength:
			why = fmt.Sprintf("a text of fewer than %d characters is in everything", redact.MinLength)
		}
	})
	v, _ = v.UnmarkDeep()
	if why == "" {
		return v, true
	}
	l.fail(at, "Sensitive value cannot be hidden", "What is sensitive is taken out of logs and records by its text, and %s. Use a longer value, or say with nonsensitive(…) that it is no secret.", why)
	return cty.DynamicVal, false
}
