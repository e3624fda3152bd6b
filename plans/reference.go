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
func (l *loader) asRef(v cty.Value, at hcl.Range, attr string, want ...string) (ref, bool) {
	example := want[0]
	if example == "engine" {
		example += ".kind"
	}
	if !v.Type().Equals(referenceType) || v.IsNull() {
		detail := fmt.Sprintf("%s takes a reference, such as %s.name; this is %s.", attr, example, describe(v))
		if v.Type() == cty.String && !v.IsNull() {
			for _, block := range want {
				if l.symbols.has(block, v.AsString()) {
					detail = fmt.Sprintf("%s takes a reference, not text. Write %s.%s, without quotes.", attr, block, v.AsString())
				}
			}
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

// checkUses checks that everything an expression names exists, with better
// words than the evaluator has.
func (l *loader) checkUses(uses []hcl.Traversal) bool {
	ok := true
	for _, t := range uses {
		ok = l.checkUse(t) && ok
	}
	return ok
}

func (l *loader) checkUse(t hcl.Traversal) bool {
	root := t.RootName()
	rootAt := t[0].SourceRange()
	kind := root
	if root == "var" {
		kind = "variable"
	}
	switch root {
	case "baseline", "accepted":
		return true
	case "var", "local", "engine", "feature", "knob", "phase", "protocol", "target", "workload":
	default:
		l.unknownRoot(t)
		return false
	}
	key, static := stepName(t, 1)
	last := 1
	if root == "engine" && static && len(t) > 2 {
		var name string
		name, static = stepName(t, 2)
		key, last = key+"."+name, 2
	}
	if len(t) == 1 && (root == "var" || root == "local") {
		l.fail(rootAt, "Incomplete reference", "Name one %s: %s.name.", kind, root)
		return false
	}
	if !static || len(t) == 1 {
		return true // the evaluator says what is wrong, if anything
	}
	if root == "engine" && len(t) == 2 {
		// All engines of a kind, of which an index may choose one.
		for _, k := range l.symbols.of(kind).order {
			if strings.HasPrefix(k, key+".") {
				return true
			}
		}
	}
	if l.symbols.has(kind, key) {
		return true
	}
	at := hcl.RangeBetween(rootAt, t[last].SourceRange())
	hint := l.didYouMean(key, l.symbols.of(kind).order)
	if hint == "" {
		hint = fmt.Sprintf(" The plan declares no %s.", kind)
	}
	l.fail(at, "Unknown "+kind, "There is no %s.%s.%s", root, key, hint)
	return false
}

func (l *loader) unknownRoot(t hcl.Traversal) {
	name := t.RootName()
	at := t[0].SourceRange()
	roots := append([]string{"accepted", "baseline", "local", "var"}, referable...)
	hint := ""
	switch best := closest(name, roots); {
	case best != "":
		hint = " Did you mean " + quoted(best) + "?"
	case len(t) == 1:
		hint = fmt.Sprintf(" If you meant the text, write it in quotes: %q.", name)
	default:
		hint = " An expression may refer to " + orList(roots) + "."
	}
	l.fail(at, "Unknown name", "Nothing is called %q here.%s", name, hint)
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
