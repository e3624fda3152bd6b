package eval

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Element is one element of a list and where it is written.
type Element struct {
	V  cty.Value
	At hcl.Range
}

// Elements are the elements of a list; false if v is none. Each has its own place if the
// expression is a list itself, and that of the whole expression if it computes one.
func Elements(expr hcl.Expression, v cty.Value) ([]Element, bool) {
	ty := v.Type()
	if v.IsNull() || !(ty.IsTupleType() || ty.IsListType() || ty.IsSetType()) {
		return nil, false
	}
	values := v.AsValueSlice()
	exprs, diags := hcl.ExprList(expr)
	placed := !diags.HasErrors() && len(exprs) == len(values)
	elems := make([]Element, len(values))
	for i, e := range values {
		elems[i] = Element{e, expr.Range()}
		if placed {
			elems[i].At = exprs[i].Range()
		}
	}
	return elems, true
}

// Pair is one entry of a map and where its two halves are written.
type Pair struct {
	Key       string
	V         cty.Value
	KeyAt, At hcl.Range
	// expr is the value's own expression if the map is written out, else nil.
	expr hcl.Expression
}

// Pairs are the entries of a map or object in order of their keys; false if v is neither.
func (l *Scope) Pairs(expr hcl.Expression, v cty.Value) ([]Pair, bool) {
	ty := v.Type()
	if v.IsNull() || !(ty.IsObjectType() || ty.IsMapType()) || ty.Equals(lang.ReferenceType) {
		return nil, false
	}
	placed := l.placedKeys(expr)
	var list []Pair
	for key, e := range v.AsValueMap() {
		p := Pair{Key: key, V: e, KeyAt: expr.Range(), At: expr.Range()}
		if kv, ok := placed[key]; ok {
			p.KeyAt, p.At, p.expr = kv.Key.Range(), kv.Value.Range(), kv.Value
		}
		list = append(list, p)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Key < list[j].Key })
	return list, true
}

// placedKeys finds where the keys of a map are written, and reports those written twice,
// of which the evaluator silently takes the last.
func (l *Scope) placedKeys(expr hcl.Expression) map[string]hcl.KeyValuePair {
	kvs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		return nil
	}
	placed := make(map[string]hcl.KeyValuePair, len(kvs))
	for _, kv := range kvs {
		k, diags := kv.Key.Value(l.Context())
		k, _ = k.Unmark()
		if diags.HasErrors() || k.IsNull() || !k.IsKnown() || k.Type() != cty.String {
			continue
		}
		key := k.AsString()
		if first, twice := placed[key]; twice {
			l.Fail(kv.Key.Range(), "attribute-twice", "Duplicate key", "%q is already set on line %d. Remove one.", key,
				first.Key.Range().Start.Line)
		}
		placed[key] = kv
	}
	return placed
}

// Unwrapped is a number or truth value that was written in quotes as text: "${var.port}"
// alone keeps the type of what it refers to, although the quotes ask for text.
func (l *Scope) Unwrapped(v cty.Value, at hcl.Range) (string, bool) {
	if text := l.TextAt(at); len(text) == 0 || text[0] != '"' && text[0] != '\'' {
		return "", false // HCL has no single quotes, and in either syntax quotes mean text
	}
	if v.IsNull() || !v.Type().IsPrimitiveType() || v.Type() == cty.String {
		return "", false
	}
	s, err := convert.Convert(v, cty.String)
	if err != nil {
		return "", false
	}
	return s.AsString(), true
}

// AsText is a value as text. A number or a truth value is text only in quotes.
func (l *Scope) AsText(v cty.Value, at hcl.Range, what string) (string, bool) {
	if s, ok := l.Unwrapped(v, at); ok {
		return s, true
	}
	if v.IsNull() || v.Type() != cty.String {
		hint := ""
		if !v.IsNull() && v.Type().IsPrimitiveType() {
			hint = " Write it in quotes, or use tostring(…)."
		}
		l.Fail(at, "wrong-type", "Not text", "%s must be text, not %s.%s", what, lang.Describe(v), hint)
		return "", false
	}
	return v.AsString(), true
}

func (f *Body) Pairs(name string) []Pair {
	v, ok := f.Value(name)
	if !ok {
		return nil
	}
	pairs, ok := f.Scope.Pairs(f.Attrs[name].Expr, v)
	if !ok {
		f.WrongType(name, `a map, such as ‹{ name = "value" }›`, v)
	}
	return pairs
}

// scalars are the types of attributes of one value: their names in messages, and their
// types in the evaluator.
var scalars = map[plans.AttrType]struct {
	words string
	ty    cty.Type
}{
	plans.String:   {"text in quotes", cty.String},
	plans.RuleText: {"text in quotes", cty.String},
	plans.Bool:     {"true or false", cty.Bool},
	plans.Number:   {"a number", cty.Number},
	plans.Int:      {"a whole number", cty.Number},
	plans.Duration: {`a duration in quotes, such as "30s" or "15m"`, cty.String},
}

// Decode is the value of an attribute as plain data: a string, a bool, a float64, a []any
// or a map[string]any; a duration is a text such as "30s", a reference the name of its
// block. It reports mistakes; a list then has what is right.
func (l *Scope) Decode(a plans.Attr, v cty.Value, expr hcl.Expression) (decoded any, ok bool) {
	switch of := a; a.Type {
	case plans.Ints:
		of.Type = plans.Int
		return l.list(of, v, expr, "a whole number, or a list of them")
	case plans.Numbers:
		of.Type = plans.Number
		return l.list(of, v, expr, "a number, or a list of them")
	case plans.Strings:
		of.Type = plans.String
		return l.list(of, v, expr, `a list, such as ["one", "two"]`)
	case plans.Refs:
		refs, ok := l.AsRefs(v, expr, a.Name, a.Ref)
		list := make([]any, len(refs))
		for i, r := range refs {
			list[i] = r.Key
		}
		return list, l.filled(a, len(list), expr, ok)
	case plans.Reference:
		r, ok := l.AsRef(v, expr.Range(), a.Name, append([]string{a.Ref}, a.OneOf...)...)
		if !ok {
			return nil, false
		}
		return r.Key, true
	case plans.Map, plans.Overrides:
		pairs, ok := l.Pairs(expr, v)
		if !ok {
			l.WrongType(expr.Range(), a.Name, `a map, such as ‹{ name = "value" }›`, v)
			return nil, false
		}
		m := map[string]any{}
		for _, p := range pairs {
			if a.Type == plans.Overrides && p.V.IsNull() {
				m[p.Key] = nil
			} else if s, fine := l.AsText(p.V, p.At, p.Key+" in "+a.Name); fine {
				m[p.Key] = s
			} else {
				ok = false
			}
		}
		return m, ok
	}
	if _, isScalar := scalars[a.Type]; isScalar {
		return l.Scalar(a, v, expr.Range())
	}
	return lang.Plain(v), true
}

// list decodes a list of scalars; a number alone is a list of one.
func (l *Scope) list(of plans.Attr, v cty.Value, expr hcl.Expression, want string) (any, bool) {
	elems, ok := Elements(expr, v)
	if v.Type() == cty.Number && of.Type != plans.String {
		elems, ok = []Element{{v, expr.Range()}}, true
	}
	if !ok {
		l.WrongType(expr.Range(), of.Name, want, v)
		return nil, false
	}
	list, element := make([]any, 0, len(elems)), of
	element.Filled = false // that of a list
	for _, e := range elems {
		fine := true
		if of.Type == plans.String {
			var text string
			text, fine = l.AsText(e.V, e.At, "Each element of "+of.Name)
			e.V = cty.StringVal(text)
		}
		var decoded any
		if fine {
			decoded, fine = l.Scalar(element, e.V, e.At)
		}
		if fine && of.Unique && slices.Contains(list, decoded) {
			fine = false
			l.Fail(e.At, "duplicate-entry", "Duplicate value in "+of.Name,
				"%s is already in the list. Remove one.", plans.Written(decoded))
		}
		if ok = ok && fine; fine {
			list = append(list, decoded)
		}
	}
	return list, l.filled(of, len(elems), expr, ok)
}

// filled refuses an empty list where something is required.
func (l *Scope) filled(a plans.Attr, n int, expr hcl.Expression, ok bool) bool {
	if !ok || n > 0 || !a.Required && !a.Filled {
		return ok
	}
	why := a.Doc
	if a.Needs != "" {
		why = "Give it " + l.Needs(a)
	}
	l.Fail(expr.Range(), "empty-value", "Empty "+a.Name, "The list is empty. %s", why)
	return false
}

// Scalar decodes an attribute of one value.
func (l *Scope) Scalar(a plans.Attr, v cty.Value, at hcl.Range) (any, bool) {
	want := scalars[a.Type]
	if s, ok := l.Unwrapped(v, at); ok && want.ty == cty.String {
		v = cty.StringVal(s)
	}
	if v.IsNull() || v.Type() != want.ty {
		l.WrongType(at, a.Name, want.words, v)
		return nil, false
	}
	switch a.Type {
	case plans.Duration:
		d, err := time.ParseDuration(v.AsString())
		if err != nil || d <= 0 {
			l.Fail(at, "invalid-duration", "Invalid duration",
				`%s takes a positive duration such as "90s", "15m" or "1h30m", not %q.`, a.Name, v.AsString())
			return nil, false
		}
		return d.String(), true
	case plans.String, plans.RuleText:
		s := v.AsString()
		if len(a.OneOf) > 0 && !slices.Contains(a.OneOf, s) {
			l.Fail(at, "invalid-value", "Invalid "+a.Name, "%s must be one of %s, not %q.%s", a.Name,
				plans.OrList(a.OneOf), s, lang.DidYouMean(s, a.OneOf))
			return nil, false
		}
		if a.Filled && strings.TrimSpace(s) == "" {
			l.Fail(at, "empty-value", "Empty "+a.Name, "The text is empty. %s", l.Needs(a))
			return nil, false
		}
		return s, true
	case plans.Bool:
		return v.True(), true
	}
	n, _ := v.AsBigFloat().Float64()
	if whole := n == math.Trunc(n) && math.Abs(n) <= 1<<53; a.Type == plans.Int && !whole || a.MinSet && n < a.Min ||
		a.Max != 0 && n > a.Max {
		l.Fail(at, "invalid-value", "Invalid "+a.Name, "%s must be %s%s, not %s.", a.Name, want.words, bounds(a),
			plans.NumberText(n))
		return nil, false
	}
	return n, true
}

// bounds tells the limits of a number.
func bounds(a plans.Attr) string {
	switch {
	case a.MinSet && a.Max != 0:
		return " between " + plans.NumberText(a.Min) + " and " + plans.NumberText(a.Max)
	case a.MinSet:
		return ", " + plans.NumberText(a.Min) + " or more"
	case a.Max != 0:
		return ", " + plans.NumberText(a.Max) + " or less"
	}
	return ""
}

func (l *Scope) WrongType(at hcl.Range, name, want string, v cty.Value) {
	l.Fail(at, "wrong-type", "Wrong type for "+name, "%s must be %s, not %s.", name, want, lang.Describe(v))
}

// ValueAt is the expression of a map's value if it is written out, for the places of what
// is in it; otherwise an expression for the value, all at its place.
func (l *Scope) ValueAt(p Pair) hcl.Expression {
	if p.expr != nil {
		return p.expr
	}
	return hcl.StaticExpr(p.V, p.At)
}
