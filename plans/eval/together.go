package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Together checks what the tags of attributes say about others of the block (see
// plans.Fields). After another mistake only what is missing is reported: a wrong value
// would be called a contradiction.
func (f *Body) Together(attrs []plans.Attr) {
	sound := !f.HasErrors()
	for _, a := range attrs {
		if len(a.Excludes)+len(a.Requires)+len(a.Unless) == 0 {
			continue
		}
		other, excluded := f.meets(a.Excludes)
		_, met := f.meets(a.Requires)
		_, replaced := f.meets(a.Unless)
		switch text, given := f.given(a.Name); {
		case !given && len(a.Unless) > 0 && !replaced && !f.Misspelled(a.Name):
			f.Scope.Fail(f.At(a.Name), "missing-attribute", "Missing "+a.Name, "%s needs %s: %s",
				f.What, plans.OrList(append([]string{a.Name}, named(a.Unless)...)), f.Scope.Needs(a))
		case !given || !sound:
		case excluded:
			f.Scope.Fail(f.At(a.Name), "conflicting-arguments", "Conflicting arguments",
				"%s has %s and %s. Remove one of them.", f.What, a.Name, other)
		case len(a.Requires) > 0 && !met && text != shown(a.Default):
			f.Scope.Fail(f.At(a.Name), "no-effect", "Argument has no effect",
				"%s only has an effect with %s. Add that, or remove %[1]s.", a.Name, plans.OrList(spelled(a.Requires)))
		}
	}
}

// meets finds a term that holds: an attribute with another value than its default, a block,
// or an attribute with the value that the term names. It takes one in doubt to hold.
func (f *Body) meets(terms []string) (term string, holds bool) {
	for i, t := range terms {
		name, value, compares := strings.Cut(t, "=")
		text, given := f.given(name)
		a := f.attr(name)
		fallback := shown(a.Default)
		switch {
		case f.Misspelled(name), len(f.Blocks.OfType(name)) > 0:
			holds = true
		case compares && !given:
			holds = fallback == value || fallback == ""
		case compares:
			holds = text == value || len(a.OneOf) > 0 && !slices.Contains(a.OneOf, text)
		default:
			holds = given && (text != fallback || text == "")
		}
		if holds {
			return spelled(terms)[i], true
		}
	}
	return "", false
}

// given is the value of an attribute as text, and whether it is written: a blank text is not.
// A wrong value has no text.
func (f *Body) given(name string) (text string, given bool) {
	v, ok := f.Value(name)
	if !ok {
		return "", !f.Absent(name)
	}
	text = shown(lang.Plain(v))
	return text, text != "" || v.Type() != cty.String
}

// shown is a plain value as text: a list of one as its element, and nothing of what is empty.
func shown(v any) string {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	text := strings.TrimSpace(fmt.Sprint(v))
	if v == nil || text == "[]" || text == "map[]" {
		return ""
	}
	return text
}

// spelled are terms as a plan has them, and named those that compare nothing.
func spelled(terms []string) (list []string) {
	for _, t := range terms {
		if name, value, compares := strings.Cut(t, "="); compares {
			t = fmt.Sprintf("‹%s = %q›", name, value)
			if value == "true" {
				t = fmt.Sprintf("‹%s = true›", name)
			}
		}
		list = append(list, t)
	}
	return list
}

func named(terms []string) []string {
	return slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return strings.Contains(t, "=") })
}
