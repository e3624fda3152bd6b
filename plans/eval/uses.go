package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Symbol is a name that a plan declares.
type Symbol struct {
	At hcl.Range
}

// declared are the declarations of one block type by key, and in order.
type declared struct {
	ByKey map[string]*Symbol
	Order []string
}

// symbols are the names by block type: "workload", "feature", "local".
type symbols map[string]*declared

func (s symbols) Of(block string) *declared {
	n := s[block]
	if n == nil {
		n = &declared{ByKey: map[string]*Symbol{}}
		s[block] = n
	}
	return n
}

func (s symbols) Has(block, key string) bool {
	n := s[block]
	return n != nil && n.ByKey[key] != nil
}

// First reports whether b is the block that its name belongs to; a duplicate is
// decoded for its mistakes and then dropped.
func (l *Scope) First(b *hcl.Block) bool {
	kind := l.Symbols[b.Type]
	if kind == nil {
		return false
	}
	s := kind.ByKey[strings.Join(b.Labels, ".")]
	return s != nil && s.At == b.LabelRanges[len(b.Labels)-1]
}

// Doubt notes that some blocks of a type could not be made, so that references to them
// are not reported as mistakes of their own.
func (l *Scope) Doubt(kind string) {
	l.Doubted[kind] = true
	if kind == "phase" {
		l.Doubted["feature"] = true
	}
}

// CheckUses checks that everything an expression names exists, with better messages than
// the evaluator has.
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
	case "each":
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
		return true // the evaluator reports what is wrong, if anything
	}
	if root == "engine" && len(t) == 2 {
		// All engines of a kind; an index may choose one.
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

// knows reports whether a name exists: that of a block as written, or of one that
// for_each made.
func (l *Scope) knows(root, key string) bool {
	if !IsReferable(root) {
		return l.Symbols.Has(kindOf(root), key)
	}
	return l.Groups.ByKey(root, key) != nil || l.Groups.Names[root+"."+key]
}

func (l *Scope) namesOf(root string) (all []string) {
	if !IsReferable(root) {
		return l.Symbols.Of(kindOf(root)).Order
	}
	for _, g := range l.Groups.Of[root] {
		all = append(all, g.Key)
	}
	return all
}

// checkRepeated checks each.key and each.value.
func (l *Scope) checkRepeated(t hcl.Traversal) bool {
	if l.each == cty.NilVal {
		l.Fail(t[0].SourceRange(), "repetition", "Nothing is repeated here", "each is only defined in a block with for_each. Add it to the block, or remove the reference.")
		return false
	}
	return true
}

// checkInstance checks the key after the name of a repeated block.
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
		if made := l.Groups.instanceNames(g.Kind, g.Key); len(made) > 0 {
			hint = " There is " + plans.OrList(made[:min(len(made), 6)]) + "."
		}
		l.Fail(at, "unknown-reference", "Unknown "+g.Kind, "%s.%s is repeated by for_each, and has no instance with this key.%s", g.Kind, g.Key, hint)
		return false
	}
	return l.checkMember(t, last+1+depth)
}

func sameKey(step hcl.Traverser, key string) bool {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return key == step.Name
	case hcl.TraverseIndex:
		k, err := convert.Convert(step.Key, cty.String)
		return err == nil && k.IsKnown() && !k.IsNull() && k.AsString() == key
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

// checkMember checks what follows a reference to a block, of which only the name is known
// before it is measured.
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
	l.Fail(at, "reference-member", "A reference has no attributes", "A reference names a block; it cannot read its %q. Put the value into a local or variable, and use that in both places.", name)
	return false
}

func (l *Scope) measured(t hcl.Traversal, name string) {
	l.Fail(t.SourceRange(), "not-known-yet", "Only known after measuring", "%q is only known after the plan has run; expressions are evaluated before. Use it in a rule, as in rule = \"chat.tg.gain >= 0.1\".", name)
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
func (l *Scope) Use(node string) { l.Used[node] = true }

// Ref is a reference found in the plan: the block that it names, and its place.
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
		detail := fmt.Sprintf("%s takes a reference, such as %s.name, not %s.", attr, example, lang.Describe(v))
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
			detail = fmt.Sprintf("%s takes one reference, and this is every instance of a repeated block. Choose one by its key: %s.name[\"key\"].", attr, example)
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

func IsReferable(word string) bool { return slices.Contains(Referable, word) }

// Referable are the block types that an expression may refer to.
var Referable = []string{"engine", "feature", "imported", "knob", "phase", "protocol", "suite", "target", "workload"}
