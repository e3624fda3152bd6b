package eval

import (
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mxflow/mxflow/plans/lang"
)

// Element is one element of a list and where it is written.
type Element struct {
	V  cty.Value
	At hcl.Range
}

// Elements are the elements of a list. They are placed one by one where the
// expression is a list itself, and at the whole of it where it computes one.
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
	// expr is the value's own expression where the map is written out, else nil.
	expr hcl.Expression
}

// Pairs are the entries of a map or object in order of their keys.
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

// placedKeys finds where the keys of a map are written, and those written
// twice, of which the evaluator silently takes the last.
func (l *Scope) placedKeys(expr hcl.Expression) map[string]hcl.KeyValuePair {
	kvs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		return nil
	}
	placed := make(map[string]hcl.KeyValuePair, len(kvs))
	for _, kv := range kvs {
		k, diags := kv.Key.Value(l.Ctx)
		k, _ = k.Unmark()
		if diags.HasErrors() || k.IsNull() || !k.IsKnown() || k.Type() != cty.String {
			continue
		}
		key := k.AsString()
		if first, twice := placed[key]; twice {
			l.Fail(kv.Key.Range(), "attribute-twice", "Duplicate key", "%q is set already on line %d. Remove one.", key, first.Key.Range().Start.Line)
		}
		placed[key] = kv
	}
	return placed
}

// Texts is a list of strings.
func (f *Body) Texts(name string) []string {
	v, ok := f.Value(name)
	if !ok {
		return nil
	}
	elems, ok := Elements(f.Attrs[name].Expr, v)
	if !ok {
		f.WrongType(name, `a list, such as ["one", "two"]`, v)
		return nil
	}
	var list []string
	for _, e := range elems {
		if s, ok := f.Scope.AsText(e.V, e.At, "Each element of "+name); ok {
			list = append(list, s)
		}
	}
	return list
}

// Unwrapped is a number or truth value that was written in quotes as text:
// "${var.port}" alone keeps the type of what it refers to, which its quotes say
// is not meant.
func (l *Scope) Unwrapped(v cty.Value, at hcl.Range) (string, bool) {
	if v.IsNull() || !v.Type().IsPrimitiveType() || v.Type() == cty.String || !inQuotes(l.Texts, at) {
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
		l.Fail(at, "wrong-type", "Not text", "%s is text; this is %s.%s", what, lang.Describe(v), hint)
		return "", false
	}
	return v.AsString(), true
}

// TextMap is a map of strings.
func (f *Body) TextMap(name string) map[string]string {
	set := map[string]string{}
	for _, p := range f.Pairs(name) {
		if s, ok := f.Scope.AsText(p.V, p.At, fmt.Sprintf("%s in %s", p.Key, name)); ok {
			set[p.Key] = s
		}
	}
	if len(set) == 0 {
		return nil
	}
	return set
}

func (f *Body) Pairs(name string) []Pair {
	v, ok := f.Value(name)
	if !ok {
		return nil
	}
	pairs, ok := f.Scope.Pairs(f.Attrs[name].Expr, v)
	if !ok {
		f.WrongType(name, `a map, such as { name = "value" }`, v)
	}
	return pairs
}

func (f *Body) Number(name string, fallback, least, most float64) float64 {
	if v, ok := f.Value(name); ok {
		if n, ok := AsNumber(f.Scope.Report, v, f.At(name), name, least, most); ok {
			return n
		}
	}
	return fallback
}

// AsNumber is a value as a number within bounds; what is wrong with it is reported.
func AsNumber(r *lang.Report, v cty.Value, at hcl.Range, name string, least, most float64) (float64, bool) {
	if v.IsNull() || v.Type() != cty.Number {
		r.Fail(at, "wrong-type", "Wrong type for "+name, "%s takes a number; this is %s.", name, lang.Describe(v))
		return 0, false
	}
	n, _ := v.AsBigFloat().Float64()
	if n < least || n > most {
		r.Fail(at, "invalid-value", "Invalid "+name, "%s is between %v and %v; this is %v.", name, least, most, n)
		return 0, false
	}
	return n, true
}

func (f *Body) Whole(name string, fallback, least, most int) int {
	if v, ok := f.Value(name); ok {
		if n, ok := AsWhole(f.Scope.Report, v, f.At(name), name, least, most); ok {
			return n
		}
	}
	return fallback
}

// AsWhole is AsNumber for whole numbers.
func AsWhole(r *lang.Report, v cty.Value, at hcl.Range, name string, least, most int) (int, bool) {
	if v.IsNull() || v.Type() != cty.Number {
		r.Fail(at, "wrong-type", "Wrong type for "+name, "%s takes a whole number; this is %s.", name, lang.Describe(v))
		return 0, false
	}
	n, _ := v.AsBigFloat().Float64()
	if n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		r.Fail(at, "invalid-value", "Invalid "+name, "%s is a whole number between %d and %d; this is %v.", name, least, most, n)
		return 0, false
	}
	return int(n), true
}

// maxElements bounds lists of numbers: each element makes cells.
const maxElements = 64

// Wholes is one whole number, or a list of different ones.
func (f *Body) Wholes(name string, least, most int) (ns []int, list bool) {
	return oneOrMany(f, name, "a whole number", func(v cty.Value, at hcl.Range) (int, bool) {
		return AsWhole(f.Scope.Report, v, at, name, least, most)
	})
}

// Numbers is wholes for numbers that may have a fraction.
func (f *Body) Numbers(name string, least, most float64) (ns []float64, list bool) {
	return oneOrMany(f, name, "a number", func(v cty.Value, at hcl.Range) (float64, bool) {
		return AsNumber(f.Scope.Report, v, at, name, least, most)
	})
}

// oneOrMany reads one number, or a list of different ones.
func oneOrMany[T int | float64](f *Body, name, kind string, read func(cty.Value, hcl.Range) (T, bool)) (ns []T, list bool) {
	v, ok := f.Value(name)
	if !ok {
		return nil, false
	}
	if v.Type() == cty.Number {
		n, ok := read(v, f.At(name))
		if !ok {
			return nil, false
		}
		return []T{n}, false
	}
	elems, ok := Elements(f.Attrs[name].Expr, v)
	switch {
	case !ok:
		f.WrongType(name, kind+", or a list of them", v)
		return nil, false
	case len(elems) == 0:
		f.Scope.Fail(f.At(name), "empty-value", "Empty "+name, "The list is empty. Give it at least one number.")
	case len(elems) > maxElements:
		f.Scope.Fail(f.At(name), "too-many", "Too many values in "+name, "A list has up to %d numbers.", maxElements)
		return nil, true
	}
	seen := map[T]bool{}
	for _, e := range elems {
		n, ok := read(e.V, e.At)
		if ok && seen[n] {
			f.Scope.Fail(e.At, "duplicate-entry", "Duplicate value in "+name, "%v is in the list already. Remove one.", n)
		}
		if ok && !seen[n] {
			seen[n] = true
			ns = append(ns, n)
		}
	}
	return ns, true
}

func (f *Body) Duration(name string, fallback time.Duration) time.Duration {
	v, ok := f.Value(name)
	if !ok {
		return fallback
	}
	d, ok := f.Scope.AsDuration(v, f.At(name), name)
	if !ok {
		return fallback
	}
	return d
}

func (l *Scope) AsDuration(v cty.Value, at hcl.Range, name string) (time.Duration, bool) {
	if v.Type() != cty.String || v.IsNull() {
		l.Fail(at, "wrong-type", "Wrong type for "+name, `%s takes a duration in quotes, such as "30s" or "15m"; this is %s.`, name, lang.Describe(v))
		return 0, false
	}
	d, err := time.ParseDuration(v.AsString())
	if err != nil || d <= 0 {
		l.Fail(at, "invalid-duration", "Invalid duration", `%s takes a positive duration such as "90s", "15m" or "1h30m"; this is %q.`, name, v.AsString())
		return 0, false
	}
	return d, true
}

// ValueAt is the expression of a map's value where it is written out, for the
// places of what stands in it; otherwise an expression that is as a whole where
// the value comes from.
func (l *Scope) ValueAt(p Pair) hcl.Expression {
	if p.expr != nil {
		return p.expr
	}
	return hcl.StaticExpr(p.V, p.At)
}

// inQuotes reports whether what stands somewhere is in quotes: in either syntax
// they say that text is meant. HCL has no single ones.
func inQuotes(l *lang.Texts, at hcl.Range) bool {
	text := l.TextAt(at)
	return len(text) > 0 && (text[0] == '"' || text[0] == '\'')
}
