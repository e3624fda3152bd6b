package plans

import (
	"fmt"
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// element is one element of a list and where it is written.
type element struct {
	v  cty.Value
	at hcl.Range
}

// elements are the elements of a list. They are placed one by one where the
// expression is a list itself, and at the whole of it where it computes one.
func (l *evalScope) elements(expr hcl.Expression, v cty.Value) ([]element, bool) {
	ty := v.Type()
	if v.IsNull() || !(ty.IsTupleType() || ty.IsListType() || ty.IsSetType()) {
		return nil, false
	}
	values := v.AsValueSlice()
	exprs, diags := hcl.ExprList(expr)
	placed := !diags.HasErrors() && len(exprs) == len(values)
	elems := make([]element, len(values))
	for i, e := range values {
		elems[i] = element{e, expr.Range()}
		if placed {
			elems[i].at = exprs[i].Range()
		}
	}
	return elems, true
}

// pair is one entry of a map and where its two halves are written.
type pair struct {
	key       string
	v         cty.Value
	keyAt, at hcl.Range
	// expr is the value's own expression where the map is written out, else nil.
	expr hcl.Expression
}

// pairs are the entries of a map or object in order of their keys.
func (l *evalScope) pairs(expr hcl.Expression, v cty.Value) ([]pair, bool) {
	ty := v.Type()
	if v.IsNull() || !(ty.IsObjectType() || ty.IsMapType()) || ty.Equals(referenceType) {
		return nil, false
	}
	placed := l.placedKeys(expr)
	var list []pair
	for key, e := range v.AsValueMap() {
		p := pair{key: key, v: e, keyAt: expr.Range(), at: expr.Range()}
		if kv, ok := placed[key]; ok {
			p.keyAt, p.at, p.expr = kv.Key.Range(), kv.Value.Range(), kv.Value
		}
		list = append(list, p)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].key < list[j].key })
	return list, true
}

// placedKeys finds where the keys of a map are written, and those written
// twice, of which the evaluator silently takes the last.
func (l *evalScope) placedKeys(expr hcl.Expression) map[string]hcl.KeyValuePair {
	kvs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		return nil
	}
	placed := make(map[string]hcl.KeyValuePair, len(kvs))
	for _, kv := range kvs {
		k, diags := kv.Key.Value(l.ctx)
		k, _ = k.Unmark()
		if diags.HasErrors() || k.IsNull() || !k.IsKnown() || k.Type() != cty.String {
			continue
		}
		key := k.AsString()
		if first, twice := placed[key]; twice {
			l.fail(kv.Key.Range(), "Duplicate key", "%q is set already on line %d. Remove one.", key, first.Key.Range().Start.Line)
		}
		placed[key] = kv
	}
	return placed
}

// texts is a list of strings.
func (f *body) texts(name string) []string {
	v, ok := f.value(name)
	if !ok {
		return nil
	}
	elems, ok := f.l.elements(f.attrs[name].Expr, v)
	if !ok {
		f.wrongType(name, `a list, such as ["one", "two"]`, v)
		return nil
	}
	var list []string
	for _, e := range elems {
		if s, ok := f.l.asText(e.v, e.at, "Each element of "+name); ok {
			list = append(list, s)
		}
	}
	return list
}

// unwrapped is a number or truth value that was written in quotes as text:
// "${var.port}" alone keeps the type of what it refers to, which its quotes say
// is not meant.
func (l *evalScope) unwrapped(v cty.Value, at hcl.Range) (string, bool) {
	if v.IsNull() || !v.Type().IsPrimitiveType() || v.Type() == cty.String || !l.inQuotes(at) {
		return "", false
	}
	s, err := convert.Convert(v, cty.String)
	if err != nil {
		return "", false
	}
	return s.AsString(), true
}

// asText is a value as text. A number or a truth value is text only in quotes.
func (l *evalScope) asText(v cty.Value, at hcl.Range, what string) (string, bool) {
	if s, ok := l.unwrapped(v, at); ok {
		return s, true
	}
	if v.IsNull() || v.Type() != cty.String {
		hint := ""
		if !v.IsNull() && v.Type().IsPrimitiveType() {
			hint = " Write it in quotes, or use tostring(…)."
		}
		l.fail(at, "Not text", "%s is text; this is %s.%s", what, describe(v), hint)
		return "", false
	}
	return v.AsString(), true
}

// textMap is a map of strings.
func (f *body) textMap(name string) map[string]string {
	set := map[string]string{}
	for _, p := range f.pairs(name) {
		if s, ok := f.l.asText(p.v, p.at, fmt.Sprintf("%s in %s", p.key, name)); ok {
			set[p.key] = s
		}
	}
	if len(set) == 0 {
		return nil
	}
	return set
}

func (f *body) pairs(name string) []pair {
	v, ok := f.value(name)
	if !ok {
		return nil
	}
	pairs, ok := f.l.pairs(f.attrs[name].Expr, v)
	if !ok {
		f.wrongType(name, `a map, such as { name = "value" }`, v)
	}
	return pairs
}
