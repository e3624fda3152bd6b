package plans

import (
	"fmt"
	"math"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// decodeAttr reads one declared attribute as plain data. When it reports false
// the mistake has been reported.
func (l *loader) decodeAttr(a Attr, v cty.Value, expr hcl.Expression) (any, bool) {
	at := expr.Range()
	switch a.Type {
	case String, Bool, Number, Int, Duration:
		return l.decodeScalar(a, v, at)
	case Ints:
		if v.Type() == cty.Number {
			n, ok := l.decodeScalar(withType(a, Int), v, at)
			return []any{n}, ok
		}
		return l.decodeList(withType(a, Int), v, expr, "an integer, or a list of integers")
	case Numbers:
		if v.Type() == cty.Number {
			n, ok := l.decodeScalar(withType(a, Number), v, at)
			return []any{n}, ok
		}
		return l.decodeList(withType(a, Number), v, expr, "a number, or a list of numbers")
	case Strings:
		return l.decodeList(withType(a, String), v, expr, `a list, such as ["one", "two"]`)
	case Refs:
		return l.decodeList(a, v, expr, fmt.Sprintf("a list of references, such as [%s.name]", a.Ref))
	case Reference:
		r, ok := l.asRef(v, at, a.Name, a.Ref)
		return r.key, ok
	case Map:
		pairs, ok := l.pairs(expr, v)
		if !ok {
			l.mismatch(a, at, `a map, such as { name = "value" }`, v)
			return nil, false
		}
		m := map[string]any{}
		for _, p := range pairs {
			s, fine := l.asText(p.v, p.at, fmt.Sprintf("%s in %s", p.key, a.Name))
			m[p.key], ok = s, ok && fine
		}
		return m, ok
	}
	return plain(v), true
}

func withType(a Attr, ty AttrType) Attr {
	a.Type = ty
	return a
}

func (l *loader) mismatch(a Attr, at hcl.Range, want string, v cty.Value) {
	l.fail(at, "Wrong type for "+a.Name, "%s takes %s; this is %s.", a.Name, want, describe(v))
}

func (l *loader) decodeScalar(a Attr, v cty.Value, at hcl.Range) (any, bool) {
	want := map[AttrType]cty.Type{String: cty.String, Bool: cty.Bool, Number: cty.Number, Int: cty.Number, Duration: cty.String}[a.Type]
	words := map[AttrType]string{
		String: "text in quotes", Bool: "true or false", Number: "a number", Int: "a whole number",
		Duration: `a duration in quotes, such as "30s" or "15m"`,
	}[a.Type]
	if s, ok := l.unwrapped(v, at); ok && want == cty.String {
		v = cty.StringVal(s)
	}
	if v.IsNull() || v.Type() != want {
		l.mismatch(a, at, words, v)
		return nil, false
	}
	switch a.Type {
	case Duration:
		d, ok := l.asDuration(v, at, a.Name)
		return d.String(), ok
	case String:
		s := v.AsString()
		if len(a.OneOf) > 0 && !slices.Contains(a.OneOf, s) {
			l.fail(at, "Invalid "+a.Name, "%s is one of %s; this is %q.%s", a.Name, orList(a.OneOf), s, l.didYouMean(s, a.OneOf))
			return nil, false
		}
		return s, true
	case Bool:
		return v.True(), true
	}
	n, _ := v.AsBigFloat().Float64()
	switch {
	case a.Type == Int && (n != math.Trunc(n) || math.Abs(n) > 1<<53):
		l.fail(at, "Invalid "+a.Name, "%s is a whole number; this is %v.", a.Name, n)
		return nil, false
	case a.MinSet && n < a.Min:
		l.fail(at, "Invalid "+a.Name, "%s is at least %v; this is %v.", a.Name, a.Min, n)
		return nil, false
	case a.Max != 0 && n > a.Max:
		l.fail(at, "Invalid "+a.Name, "%s is at most %v; this is %v.", a.Name, a.Max, n)
		return nil, false
	}
	return n, true
}

// decodeList reads a list whose elements are scalars or references.
func (l *loader) decodeList(a Attr, v cty.Value, expr hcl.Expression, want string) (any, bool) {
	elems, ok := l.elements(expr, v)
	if a.Type == Refs {
		elems, ok = l.references(expr, v)
	}
	if !ok {
		l.mismatch(a, expr.Range(), want, v)
		return nil, false
	}
	if len(elems) == 0 && a.Required {
		l.fail(expr.Range(), "Empty "+a.Name, "The list is empty. %s", a.Doc)
		return nil, false
	}
	list := make([]any, 0, len(elems))
	seen := map[any]bool{}
	for _, e := range elems {
		var decoded any
		var fine bool
		if a.Type == Refs {
			var r ref
			r, fine = l.asRef(e.v, e.at, a.Name, a.Ref)
			decoded = r.key
		} else {
			decoded, fine = l.decodeScalar(a, e.v, e.at)
		}
		ok = ok && fine
		if !fine {
			continue
		}
		if a.Type == Refs && seen[decoded] {
			l.fail(e.at, "Duplicate reference", "%s.%s is in %s already. Remove one.", a.Ref, decoded, a.Name)
			ok = false
			continue
		}
		seen[decoded] = true
		list = append(list, decoded)
	}
	return list, ok
}
