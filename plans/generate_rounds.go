package plans

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// forEach evaluates a for_each: a map, or different texts.
func (l *loader) forEach(expr hcl.Expression, outer map[string]cty.Value) (rounds []repeat, ok bool) {
	at := expr.Range()
	v, ok := l.value(expr, "What for_each goes over")
	if !ok {
		return nil, false
	}
	ty := v.Type()
	isMap := ty.IsObjectType() || ty.IsMapType()
	if v.IsNull() || ty.Equals(referenceType) || !isMap && !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
		l.fail(at, "Wrong type for for_each", `for_each takes a map, or a list of different texts, such as ["short", "long"]; this is %s.`, describe(v))
		return nil, false
	}
	if n := v.LengthInt(); n > maxInstances {
		l.fail(at, "Too many blocks", "for_each makes up to %d blocks; here it would make %d.", maxInstances, n)
		return nil, false
	}
	seen := map[string]bool{}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if !isMap {
			if value.IsNull() || value.Type() != cty.String {
				l.fail(at, "Wrong type for for_each", "An element of the list is %s, and names are made of them. Use text, or a map whose keys are the names: { for x in … : x.name => x }.", describe(value))
				return nil, false
			}
			key = value
		}
		if seen[key.AsString()] {
			l.fail(at, "Duplicate key in for_each", "%q is in the list twice, and names are made of it. Use distinct(…), or a map.", key.AsString())
			return nil, false
		}
		seen[key.AsString()] = true
		each := map[string]cty.Value{"key": key, "value": value}
		if before, nested := outer["each"]; nested {
			each["parent"] = before
		}
		rounds = append(rounds, repeat{key, withWord(outer, "each", cty.ObjectVal(each))})
	}
	return rounds, true
}

// count evaluates a count.
func (l *loader) count(expr hcl.Expression, outer map[string]cty.Value) (rounds []repeat, ok bool) {
	v, ok := l.value(expr, "A count")
	if !ok {
		return nil, false
	}
	f := body{l: l.evalScope}
	n, ok := f.asWhole(v, expr.Range(), "count", 0, maxInstances)
	if !ok {
		return nil, false
	}
	for i := range n {
		index := cty.NumberIntVal(int64(i))
		word := cty.ObjectVal(map[string]cty.Value{"index": index})
		rounds = append(rounds, repeat{index, withWord(outer, "count", word)})
	}
	return rounds, true
}

func withWord(outer map[string]cty.Value, word string, v cty.Value) map[string]cty.Value {
	scope := map[string]cty.Value{word: v}
	for name, value := range outer {
		if name != word {
			scope[name] = value
		}
	}
	return scope
}
