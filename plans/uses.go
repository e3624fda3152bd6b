package plans

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// checkUses checks that everything an expression names exists, with better
// words than the evaluator has.
func (l *evalScope) checkUses(uses []hcl.Traversal) bool {
	ok := true
	for _, t := range uses {
		ok = l.checkUse(t) && ok
	}
	return ok
}

func (l *evalScope) checkUse(t hcl.Traversal) bool {
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
		l.fail(t[0].SourceRange(), "Incomplete reference", "Name one %s: %s.name.", kindOf(root), root)
		return false
	}
	key, static := stepName(t, 1)
	last := 1
	if root == "engine" && static && len(t) > 2 {
		var name string
		name, static = stepName(t, 2)
		key, last = key+"."+name, 2
	}
	if static && len(t) > 1 {
		l.use(root + "." + key)
	} else {
		l.use(root) // any of them
	}
	if !static || len(t) == 1 {
		return true // the evaluator says what is wrong, if anything
	}
	if root == "engine" && len(t) == 2 {
		// All engines of a kind, of which an index may choose one.
		for _, g := range l.groups.of[root] {
			if strings.HasPrefix(g.key, key+".") {
				return true
			}
		}
	}
	if g := l.groups.byKey(root, key); g != nil && g.repeated() {
		return l.checkInstance(t, last, g)
	}
	if l.knows(root, key) {
		return root == "var" || root == "local" || l.checkMember(t, last+1)
	}
	if l.doubted[root] {
		return false // it may be one that could not be made
	}
	at := hcl.RangeBetween(t[0].SourceRange(), t[last].SourceRange())
	hint := l.didYouMean(key, l.namesOf(root))
	if hint == "" {
		hint = fmt.Sprintf(" The plan declares no %s.", kindOf(root))
	}
	l.fail(at, "Unknown "+kindOf(root), "There is no %s.%s.%s", root, key, hint)
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
func (l *evalScope) knows(root, key string) bool {
	if !isReferable(root) {
		return l.symbols.has(kindOf(root), key)
	}
	return l.groups.byKey(root, key) != nil || l.groups.names[root+"."+key]
}

func (l *evalScope) namesOf(root string) (names []string) {
	if !isReferable(root) {
		return l.symbols.of(kindOf(root)).order
	}
	for _, g := range l.groups.of[root] {
		names = append(names, g.key)
	}
	return names
}

// checkRepeated checks each.key, each.value and count.index.
func (l *evalScope) checkRepeated(t hcl.Traversal) bool {
	root := t.RootName()
	if _, here := l.words[root]; !here {
		word := map[string]string{"each": "for_each", "count": "count"}[root]
		l.fail(t[0].SourceRange(), "Nothing is repeated here", "%s has a meaning in a block that has %s. Add it to the block, or remove this.", root, word)
		return false
	}
	return true
}

// checkInstance checks the key after the name of a block that is repeated.
func (l *evalScope) checkInstance(t hcl.Traversal, last int, g *group) bool {
	if len(t) == last+1 {
		return true
	}
	depth := 0
	if len(g.instances) > 0 {
		depth = len(g.instances[0].keys)
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
	for _, i := range g.instances {
		found = found || len(i.keys) > 0 && sameKey(t[last+1], i.keys[0])
	}
	if !found && l.doubted[g.kind] {
		return false
	}
	if !found {
		hint := ""
		if names := l.groups.instanceNames(g.kind, g.key); len(names) > 0 {
			hint = " There is " + orList(names[:min(len(names), 6)]) + "."
		}
		l.fail(at, "Unknown "+g.kind, "%s.%s is made by for_each or count, and this is none of what it made.%s", g.kind, g.key, hint)
		return false
	}
	return l.checkMember(t, last+1+depth)
}

func sameKey(step hcl.Traverser, key cty.Value) bool {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return keyText(key) == step.Name
	case hcl.TraverseIndex:
		k := step.Key
		return k.IsKnown() && !k.IsNull() && k.Type().IsPrimitiveType() && k.Type() != cty.Bool && keyText(k) == keyText(key)
	}
	return true
}

func (l *evalScope) unknownRoot(t hcl.Traversal) {
	name := t.RootName()
	at := t[0].SourceRange()
	second, _ := stepName(t, 1)
	if len(t) > 1 && (l.groups.byKey("workload", name) != nil || measured(name) || measured(second)) {
		l.measured(t, traversalText(t))
		return
	}
	roots := append([]string{"accepted", "baseline", "local", "var"}, referable...)
	hint := ""
	switch best := Nearest(name, roots); {
	case best != "":
		hint = " Did you mean " + quoted(best) + "?"
	case len(t) == 1:
		hint = fmt.Sprintf(" If you meant the text, write it in quotes: %q.", name)
	default:
		hint = " An expression may refer to " + orList(roots) + "."
	}
	l.fail(at, "Unknown name", "Nothing is called %q here.%s", name, hint)
}

// anInstance writes a reference to a generated block as a plan does.
func (l *evalScope) anInstance(v cty.Value) string {
	kind, name := v.GetAttr("block").AsString(), v.GetAttr("name").AsString()
	for _, g := range l.groups.of[kind] {
		for _, i := range g.instances {
			if i.block.Labels[len(i.block.Labels)-1] == name {
				if names := l.groups.instanceNames(kind, g.key); len(names) > 0 {
					return names[0]
				}
			}
		}
	}
	return kind + "." + name
}
