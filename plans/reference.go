package plans

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// reference is what an expression that names a block evaluates to. It is one
// type for every block, so that a conditional may choose between blocks.
func reference(block, kind, name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"block": cty.StringVal(block), "type": cty.StringVal(kind), "name": cty.StringVal(name),
	})
}

var referenceType = reference("", "", "").Type()

// ref is a reference that was found in the plan: to which block, and where it
// is written.
type ref struct {
	block string
	// key is the name, "kind.name" for an engine, empty for baseline and accepted.
	key string
	at  hcl.Range
}

func (r ref) String() string {
	if r.key == "" {
		return r.block
	}
	return r.block + "." + r.key
}

// asRef reads a value as a reference to one of the wanted block types. attr is
// the attribute's name, for messages.
func (l *evalScope) asRef(v cty.Value, at hcl.Range, attr string, want ...string) (ref, bool) {
	example := want[0]
	if example == "engine" {
		example += ".kind"
	}
	if !v.Type().Equals(referenceType) || v.IsNull() {
		detail := fmt.Sprintf("%s takes a reference, such as %s.name; this is %s.", attr, example, describe(v))
		if v.Type() == cty.String && !v.IsNull() {
			for _, block := range want {
				if block == v.AsString() && (block == "accepted" || block == "baseline") {
					detail = fmt.Sprintf("%s takes a reference, not text. Write %s, without quotes.", attr, block)
				} else if l.symbols.has(block, v.AsString()) {
					detail = fmt.Sprintf("%s takes a reference, not text. Write %s.%s, without quotes.", attr, block, v.AsString())
				}
			}
		}
		if list, ok := references(v); ok && len(list) > 0 {
			first := list[0]
			detail = fmt.Sprintf("%s takes one reference, and this is all that for_each or count made of a block. Choose one of them, such as %s.", attr, l.anInstance(first))
		}
		l.fail(at, "Not a reference", "%s", detail)
		return ref{}, false
	}
	r := ref{block: v.GetAttr("block").AsString(), key: v.GetAttr("name").AsString(), at: at}
	if kind := v.GetAttr("type").AsString(); kind != "" {
		r.key = kind + "." + r.key
	}
	for _, block := range want {
		if r.block != block {
			continue
		}
		if r.key != "" && !l.symbols.has(r.block, r.key) {
			l.fail(at, "Unknown "+block, "There is no %s.%s", r, l.didYouMean(r.key, l.symbols.of(block).order))
			return r, false
		}
		return r, true
	}
	l.fail(at, "Wrong kind of reference", "%s takes a reference to %s; this is %s.", attr, orList(want), r)
	return r, false
}

// stepName is the name in a step of a traversal: .name or ["name"].
func stepName(t hcl.Traversal, i int) (string, bool) {
	if i >= len(t) {
		return "", false
	}
	switch step := t[i].(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsString(), true
		}
	}
	return "", false
}

// orList is "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// describe names a value's type for a message.
func describe(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty.Equals(referenceType) && v.IsWhollyKnown():
		return "a reference"
	case ty == cty.String:
		return "text"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "true or false"
	case ty.IsTupleType(), ty.IsListType(), ty.IsSetType():
		return "a list"
	default:
		return "a map"
	}
}
