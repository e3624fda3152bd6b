package eval

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// CheckUses checks that everything an expression names exists, with better
// words than the evaluator has.
func (l *Scope) CheckUses(uses []hcl.Traversal) bool {
	ok := true
	for _, t := range uses {
		ok = l.checkUse(t) && ok
	}
	return ok
}

func (l *Scope) checkUse(t hcl.Traversal) bool {
	root := t.RootName()
	switch root {
	case "baseline", "accepted":
		return l.checkMember(t, 1)
	case "each", "count":
		return l.checkRepeated(t)
	case "var", "local", "engine", "feature", "imported", "knob", "phase", "protocol", "suite", "target", "workload":
	default:
		l.unknownRoot(t)
		return false
	}
	if len(t) == 1 && (root == "var" || root == "local") {
		l.Fail(t[0].SourceRange(), "not-a-reference", "Incomplete reference", "Name one %s: %s.name.", kindOf(root), root)
		return false
	}
	key, static := lang.StepName(t, 1)
	last := 1
	if root == "engine" && static && len(t) > 2 {
		var name string
		name, static = lang.StepName(t, 2)
		key, last = key+"."+name, 2
	}
	if static && len(t) > 1 {
		l.Use(root + "." + key)
	} else {
		l.Use(root) // any of them
	}
	if !static || len(t) == 1 {
		return true // the evaluator says what is wrong, if anything
	}
	if root == "engine" && len(t) == 2 {
		// All engines of a kind, of which an index may choose one.
		for _, g := range l.Groups.Of[root] {
			if strings.HasPrefix(g.Key, key+".") {
				return true
			}
		}
	}
	if g := l.Groups.ByKey(root, key); g != nil && g.Repeated() {
		return l.checkInstance(t, last, g)
	}
	if l.knows(root, key) {
		return root == "var" || root == "local" || l.checkMember(t, last+1)
	}
	if l.Doubted[root] {
		return false // it may be one that could not be made
	}
	at := hcl.RangeBetween(t[0].SourceRange(), t[last].SourceRange())
	hint := l.DidYouMean(key, l.namesOf(root))
	if hint == "" {
		hint = fmt.Sprintf(" The plan declares no %s.", kindOf(root))
	}
	l.Fail(at, "unknown-reference", "Unknown "+kindOf(root), "There is no %s.%s.%s", root, key, hint)
	return false
}

func kindOf(root string) string {
	if root == "var" {
		return "variable"
	}
	return root
}

// knows reports whether a name exists: of a block as written, or of one that
// for_each or count has made.
func (l *Scope) knows(root, key string) bool {
	if !IsReferable(root) {
		return l.Symbols.Has(kindOf(root), key)
	}
	return l.Groups.ByKey(root, key) != nil || l.Groups.Names[root+"."+key]
}

func (l *Scope) namesOf(root string) (names []string) {
	if !IsReferable(root) {
		return l.Symbols.Of(kindOf(root)).Order
	}
	for _, g := range l.Groups.Of[root] {
		names = append(names, g.Key)
	}
	return names
}

// checkRepeated checks each.key, each.value and count.index.
func (l *Scope) checkRepeated(t hcl.Traversal) bool {
	root := t.RootName()
	if _, here := l.words[root]; !here {
		word := map[string]string{"each": "for_each", "count": "count"}[root]
		l.Fail(t[0].SourceRange(), "repetition", "Nothing is repeated here", "%s has a meaning in a block that has %s. Add it to the block, or remove this.", root, word)
		return false
	}
	return true
}

// checkInstance checks the key after the name of a block that is repeated.
func (l *Scope) checkInstance(t hcl.Traversal, last int, g *Group) bool {
	if len(t) == last+1 {
		return true
	}
	depth := 0
	if len(g.Instances) > 0 {
		depth = len(g.Instances[0].Keys)
	}
	at := hcl.RangeBetween(t[0].SourceRange(), t[last+1].SourceRange())
	switch step := t[last+1].(type) {
	case hcl.TraverseSplat:
		return true
	case hcl.TraverseAttr:
		if measured(step.Name) {
			l.measured(t, step.Name)
			return false
		}
	}
	found := false
	for _, i := range g.Instances {
		found = found || len(i.Keys) > 0 && sameKey(t[last+1], i.Keys[0])
	}
	if !found && l.Doubted[g.Kind] {
		return false
	}
	if !found {
		hint := ""
		if names := l.Groups.instanceNames(g.Kind, g.Key); len(names) > 0 {
			hint = " There is " + plans.OrList(names[:min(len(names), 6)]) + "."
		}
		l.Fail(at, "unknown-reference", "Unknown "+g.Kind, "%s.%s is made by for_each or count, and this is none of what it made.%s", g.Kind, g.Key, hint)
		return false
	}
	return l.checkMember(t, last+1+depth)
}

func sameKey(step hcl.Traverser, key cty.Value) bool {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return KeyText(key) == step.Name
	case hcl.TraverseIndex:
		k := step.Key
		return k.IsKnown() && !k.IsNull() && k.Type().IsPrimitiveType() && k.Type() != cty.Bool && KeyText(k) == KeyText(key)
	}
	return true
}

func (l *Scope) unknownRoot(t hcl.Traversal) {
	name := t.RootName()
	at := t[0].SourceRange()
	second, _ := lang.StepName(t, 1)
	if len(t) > 1 && (l.Groups.ByKey("workload", name) != nil || measured(name) || measured(second)) {
		l.measured(t, lang.TraversalText(t))
		return
	}
	roots := append([]string{"accepted", "baseline", "local", "var"}, Referable...)
	hint := ""
	switch best := lang.Nearest(name, roots); {
	case best != "":
		hint = " Did you mean " + lang.Quoted(best) + "?"
	case len(t) == 1:
		hint = fmt.Sprintf(" If you meant the text, write it in quotes: %q.", name)
	default:
		hint = " An expression may refer to " + plans.OrList(roots) + "."
	}
	l.Fail(at, "unknown-reference", "Unknown name", "Nothing is called %q here.%s", name, hint)
}

// anInstance writes a reference to a generated block as a plan does.
func (l *Scope) anInstance(v cty.Value) string {
	kind, name := v.GetAttr("block").AsString(), v.GetAttr("name").AsString()
	for _, g := range l.Groups.Of[kind] {
		for _, i := range g.Instances {
			if i.Block.Labels[len(i.Block.Labels)-1] == name {
				if names := l.Groups.instanceNames(kind, g.Key); len(names) > 0 {
					return names[0]
				}
			}
		}
	}
	return kind + "." + name
}

// checkMember looks at what stands behind a reference to a block, which has a
// name and nothing else that is known before it is measured.
func (l *Scope) checkMember(t hcl.Traversal, i int) bool {
	name, static := lang.StepName(t, i)
	if !static || name == "name" || name == "type" || name == "block" {
		return true
	}
	if doc := l.Language(t.RootName()); doc == nil || doc.Attr(name) == nil {
		for j := i; j < len(t); j++ {
			if word, static := lang.StepName(t, j); static && measured(word) {
				l.measured(t, word)
				return false
			}
		}
	}
	at := t.SourceRange()
	l.Fail(at, "reference-member", "A reference has no attributes", "A reference says which block is meant, it does not lead to what is in it: there is no %q to be read here. Put the value into a local or variable, and use that in both places.", name)
	return false
}

func (l *Scope) measured(t hcl.Traversal, name string) {
	l.Fail(t.SourceRange(), "not-known-yet", "Only known after measuring", "%q is measured, or decided, when the plan runs; expressions are evaluated before that. Write it in a rule, as in rule = \"chat.tg.gain >= 0.1\".", name)
}

// measuredWords are what addresses in rules are made of, besides metrics.
var measuredWords = lang.WordSet("gain change delta base root verdict accepted decided levels mean median p50 p90 p95 p99 min max std cv n n_requests gpu quality kernels stats")

func measured(name string) bool {
	if measuredWords[name] {
		return true
	}
	_, metric := measure.Lookup(name)
	return metric
}

// Use notes that something in the plan refers to a block.
func (l *Scope) Use(node string) {
	if l.Used == nil {
		l.Used = map[string]bool{}
	}
	l.Used[node] = true
}

// Ref is a reference that was found in the plan: to which block, and where it
// is written.
type Ref struct {
	Block string
	// Key is the name, "kind.name" for an engine, empty for baseline and accepted.
	Key string
	At  hcl.Range
}

func (r Ref) String() string {
	if r.Key == "" {
		return r.Block
	}
	return r.Block + "." + r.Key
}

// AsRef reads a value as a reference to one of the wanted block types. attr is
// the attribute's name, for messages.
func (l *Scope) AsRef(v cty.Value, at hcl.Range, attr string, want ...string) (Ref, bool) {
	example := want[0]
	if example == "engine" {
		example += ".kind"
	}
	if !v.Type().Equals(lang.ReferenceType) || v.IsNull() {
		detail := fmt.Sprintf("%s takes a reference, such as %s.name; this is %s.", attr, example, lang.Describe(v))
		if v.Type() == cty.String && !v.IsNull() {
			for _, block := range want {
				if block == v.AsString() && (block == "accepted" || block == "baseline") {
					detail = fmt.Sprintf("%s takes a reference, not text. Write %s, without quotes.", attr, block)
				} else if l.Symbols.Has(block, v.AsString()) {
					detail = fmt.Sprintf("%s takes a reference, not text. Write %s.%s, without quotes.", attr, block, v.AsString())
				}
			}
		}
		if list, ok := references(v); ok && len(list) > 0 {
			first := list[0]
			detail = fmt.Sprintf("%s takes one reference, and this is all that for_each or count made of a block. Choose one of them, such as %s.", attr, l.anInstance(first))
		}
		l.Fail(at, "not-a-reference", "Not a reference", "%s", detail)
		return Ref{}, false
	}
	r := Ref{Block: v.GetAttr("block").AsString(), Key: v.GetAttr("name").AsString(), At: at}
	if kind := v.GetAttr("type").AsString(); kind != "" {
		r.Key = kind + "." + r.Key
	}
	for _, block := range want {
		if r.Block != block {
			continue
		}
		if r.Key != "" && !l.Symbols.Has(r.Block, r.Key) {
			l.Fail(at, "unknown-reference", "Unknown "+block, "There is no %s.%s", r, l.DidYouMean(r.Key, l.Symbols.Of(block).Order))
			return r, false
		}
		return r, true
	}
	l.Fail(at, "not-a-reference", "Wrong kind of reference", "%s takes a reference to %s; this is %s.", attr, plans.OrList(want), r)
	return r, false
}
