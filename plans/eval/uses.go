package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

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

// MarkIncomplete notes that some blocks of a type could not be made, so references to them
// are not reported as mistakes of their own.
func (l *Scope) MarkIncomplete(kind string) {
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
	kind := root
	switch {
	case root == "baseline" || root == "accepted":
		return l.checkMember(t, 1)
	case root == "each":
		if l.each == cty.NilVal {
			l.Fail(t[0].SourceRange(), "repetition", "Nothing is repeated here",
				"each is only defined in a block with for_each. Add it to the block, or remove the reference.")
		}
		return l.each != cty.NilVal
	case root == "var":
		kind = "variable"
	case root != "local" && !IsReferable(root):
		l.unknownRoot(t)
		return false
	}
	if len(t) == 1 && !IsReferable(root) {
		l.Fail(t[0].SourceRange(), "not-a-reference", "Incomplete reference", "Name one %s: %s.name.", kind, root)
		return false
	}
	key, static := lang.StepName(t, 1)
	last := 1
	if root == "engine" && static && len(t) > 2 {
		var name string
		name, static = lang.StepName(t, 2)
		key, last = key+"."+name, 2
	}
	if !static || len(t) == 1 {
		return true // the evaluator reports what is wrong, if anything
	}
	var names []string
	if !IsReferable(root) {
		if l.Symbols.Has(kind, key) {
			return true
		}
		names = l.Symbols.Of(kind).Order
	} else {
		g := l.Groups.ByKey(root, key)
		switch {
		case g != nil && g.Repeated():
			var keys []string
			for _, i := range g.Instances {
				if !slices.Contains(keys, i.Keys[0]) {
					keys = append(keys, i.Keys[0])
				}
			}
			name, static := lang.StepName(t, last+1)
			if static && !slices.Contains(keys, name) && !l.Doubted[root] {
				l.Fail(t.SourceRange(), "unknown-reference", "Unknown "+kind,
					"%s.%s is repeated by for_each, and has no instance %q.%s", root, key, name,
					l.DidYouMean(name, keys))
				return false
			}
			return !l.Doubted[root] && (len(keys) == 0 || l.checkMember(t, last+1+len(g.Instances[0].Keys)))
		case g != nil || l.Groups.Names[root+"."+key]:
			return l.checkMember(t, last+1)
		}
		for _, g := range l.Groups.Of[root] {
			names = append(names, g.Key)
			if root == "engine" && len(t) == 2 && strings.HasPrefix(g.Key, key+".") {
				return true // all engines of a kind; an index may choose one
			}
		}
	}
	if l.Doubted[root] {
		return false // it may be one that could not be made
	}
	hint := l.DidYouMean(key, names)
	if hint == "" {
		hint = fmt.Sprintf(" The plan declares no %s.", kind)
	}
	at := hcl.RangeBetween(t[0].SourceRange(), t[last].SourceRange())
	l.Fail(at, "unknown-reference", "Unknown "+kind, "There is no %s.%s.%s", root, key, hint)
	return false
}

func (l *Scope) unknownRoot(t hcl.Traversal) {
	name := t.RootName()
	roots := append([]string{"accepted", "baseline", "local", "var"}, Referable...)
	hint := ""
	switch best := lang.Nearest(name, roots); {
	case best != "":
		hint = " Did you mean " + lang.Quoted(best) + "?"
	case len(t) == 1:
		hint = fmt.Sprintf(" If you meant the text, write it in quotes: %q.", name)
	default:
		hint = " An expression may refer to " + plans.OrList(roots) + ". Rules, in quotes, read measured values."
	}
	l.Fail(t[0].SourceRange(), "unknown-reference", "Unknown name", "Nothing is called %q here.%s", name, hint)
}

// checkMember checks what follows a reference to a block, of which only the name is known
// before it is measured.
func (l *Scope) checkMember(t hcl.Traversal, i int) bool {
	name, static := lang.StepName(t, i)
	if !static || name == "name" || name == "type" || name == "block" {
		return true
	}
	l.Fail(t.SourceRange(), "reference-member", "A reference has no attributes",
		"A reference names a block; it cannot read its %q. Put the value into a local or variable, and use that in "+
			"both places. Rules, in quotes, read measured values.", name)
	return false
}

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

// Example is a reference to a block of the plan, or how one is written where it has none.
func (l *Scope) Example(block string) string {
	if names := l.Symbols.Of(block).Order; len(names) > 0 {
		return block + "." + names[0]
	}
	return anyName(block)
}

func anyName(block string) string {
	if block == "engine" {
		return "engine.kind.name"
	}
	return block + ".name"
}

// Needs is what a required attribute is for, with a reference that the plan can have.
func (l *Scope) Needs(a plans.Attr) string {
	why := lang.OrDefault(a.Needs, lang.OrDefault(a.Doc, string(a.Type)+"."))
	if a.Ref != "" {
		why = strings.ReplaceAll(why, anyName(a.Ref), l.Example(a.Ref))
	}
	return why
}

// AsRef reads a value as a reference to one of the wanted block types. attr is
// the attribute's name, for messages.
func (l *Scope) AsRef(v cty.Value, at hcl.Range, attr string, want ...string) (Ref, bool) {
	if !v.Type().Equals(lang.ReferenceType) || v.IsNull() {
		detail := fmt.Sprintf("%s takes a reference, such as %s, not %s.", attr, l.Example(want[0]), lang.Describe(v))
		if v.Type() == cty.String && !v.IsNull() {
			for _, block := range want {
				if block == v.AsString() && (block == "accepted" || block == "baseline") {
					detail = fmt.Sprintf("%s takes a reference, not text. Write %s, without quotes.", attr, block)
				} else if l.Symbols.Has(block, v.AsString()) {
					detail = fmt.Sprintf("%s takes a reference, not text. Write %s.%s, without quotes.", attr,
						block, v.AsString())
				}
			}
		}
		if list, ok := references(v); ok && len(list) > 0 {
			detail = fmt.Sprintf("%s takes one reference, and this is every instance of a repeated block. Choose one "+
				"by its key: %s[\"key\"].", attr, anyName(want[0]))
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
			l.Fail(at, "unknown-reference", "Unknown "+block, "There is no %s.%s", r,
				l.DidYouMean(r.Key, l.Symbols.Of(block).Order))
			return r, false
		}
		return r, true
	}
	l.Fail(at, "not-a-reference", "Wrong kind of reference", "%s takes a reference to %s; this is %s.", attr,
		plans.OrList(want), r)
	return r, false
}

func IsReferable(word string) bool { return slices.Contains(Referable, word) }

// Referable are the block types that an expression may refer to.
var Referable = []string{"engine", "feature", "imported", "knob", "phase", "protocol", "suite", "target", "workload"}
