// Package yamlbody gives YAML text to decoders that are written for HCL: an hcl.Body over
// a tree of nodes, whose values are HCL's own expressions at their places in the file. It
// knows YAML and HCL's template language, and nothing about plans.
//
// How YAML is read as HCL:
//
//   - A mapping is a body where a body is wanted: a key is an attribute or a
//     type of block, as the schema says. Below a type of block there is one
//     level of keys for each label, and then the body. At each of these levels a
//     list may stand for several of what it holds, in its order.
//   - A mapping is an object, a list a tuple, a scalar a value where a value is
//     wanted.
//   - A text is a template: ${…} and %{…} work, $${ and %%{ stand for themselves.
//     A text that is nothing but one ${…} has the type of what is in it.
//   - Where a static call or a name is wanted (a type, an iterator, and what a
//     decoder passes to ReadReferences), the text is read as an expression, with
//     or without ${ } around it.
package yamlbody

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"
)

// Kind is what a node is.
type Kind int

const (
	// Scalar is a text, a number, true, false or null.
	Scalar Kind = iota
	// List is a sequence.
	List
	// Map is a mapping.
	Map
)

// Node is a value in a YAML file. Anchors and merges are resolved: an alias is
// the node that it names, so that a node may be in several places.
type Node struct {
	Kind Kind
	// Range is its place; for an alias, that of its anchor. Of a text over several lines
	// it is the first one.
	Range hcl.Range
	// Text is the text of a scalar, with YAML's quoting undone, not HCL's.
	Text string
	// IsText is set for a text, but not for a number, a truth value or null.
	IsText bool
	// Items are the elements of a list.
	Items []*Node
	// Entries are the entries of a mapping, in order, each key once.
	Entries []*Entry
	// Expr is the node as a value.
	Expr hclsyntax.Expression
	// refused is set for an alias that leads nowhere, which has been reported.
	refused bool
	// weight is that of the node with everything in it, aliases counted each time.
	weight weight
}

// Entry is a key of a mapping and its value.
type Entry struct {
	Key, Value *Node
}

// weight is the amount of something.
type weight struct {
	nodes, bytes, depth int
}

func (w *weight) add(inner weight) {
	w.nodes += inner.nodes
	w.bytes += inner.bytes
	w.depth = max(w.depth, inner.depth+1)
}

const (
	// maxNesting is how deep lists and mappings may be nested.
	maxNesting = 100
	// maxRepeatedNodes and maxRepeatedBytes bound what aliases may add to a file, which
	// is itself bounded: nine lines of nine aliases each stand for a billion values.
	maxRepeatedNodes = 100_000
	maxRepeatedBytes = 1 << 20
	// maxMistakes is how many mistakes are found before we stop looking.
	maxMistakes = 200
)

// builder makes the tree of nodes.
type builder struct {
	*source
	guard Guard
	diags hcl.Diagnostics
	// twice are the diagnostics of duplicate keys, which do not stop us.
	twice hcl.Diagnostics
	// built are the nodes of anchors; nil while one is being built.
	built map[*yaml.Node]*Node
	// repeated is what aliases have added so far.
	repeated weight
	stopped  bool
}

func (b *builder) fail(at hcl.Range, code, summary, format string, args ...any) {
	b.diags = append(b.diags, problem(at, code, summary, format, args...))
	b.stopped = b.stopped || len(b.diags) >= maxMistakes
}

func literal(v cty.Value, at hcl.Range) *hclsyntax.LiteralValueExpr {
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}
}

func null(at hcl.Range) *hclsyntax.LiteralValueExpr {
	return literal(cty.NullVal(cty.DynamicPseudoType), at)
}

// build makes the node for y, at that depth. It never returns nil.
func (b *builder) build(y *yaml.Node, depth int) *Node {
	if y.Kind == yaml.AliasNode {
		return b.alias(y, depth)
	}
	from := b.skipAnchor(b.offset(y.Line, y.Column))
	n := &Node{Range: b.span(from, from), weight: weight{nodes: 1}}
	n.Expr = null(n.Range)
	if b.stopped {
		return n
	}
	if depth > maxNesting {
		b.fail(n.Range, "nested-too-deeply", "Nested too deep", "Lists and mappings may be nested up to %d deep. Split this up.", maxNesting)
		b.stopped = true
		return n
	}
	if y.Style&yaml.TaggedStyle != 0 {
		word, _, _ := strings.Cut(strings.TrimLeft(b.text[from:], " \t\r\n"), " ")
		b.fail(b.span(from, from+len(strings.TrimRight(word, "\r\n,"))), "yaml-value", "Tag in plan", "A value that starts with ! has a YAML tag (%s), which plans do not use. If the ! is part of a text, put the text in quotes; otherwise remove the tag.", y.Tag)
		return n
	}
	if y.Anchor != "" {
		b.built[y] = nil
		defer func() { b.built[y] = n }()
	}
	switch y.Kind {
	case yaml.MappingNode:
		b.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.Kind = List
		list := &hclsyntax.TupleConsExpr{}
		for _, item := range y.Content {
			built := b.build(item, depth+1)
			n.Items, list.Exprs = append(n.Items, built), append(list.Exprs, built.Expr)
			n.weight.add(built.weight)
		}
		b.end(n, y, ']')
		list.SrcRange, list.OpenRange, n.Expr = n.Range, n.Range, list
	default:
		b.scalar(n, y, from)
	}
	return n
}

// alias is the node that an alias names.
func (b *builder) alias(y *yaml.Node, depth int) *Node {
	from := b.offset(y.Line, y.Column)
	at := b.span(from, from+1+len(y.Value))
	n, known := b.built[y.Alias]
	switch {
	case b.stopped:
	case !known:
		// The anchor is at something that has been refused.
	case n == nil:
		b.fail(at, "yaml-alias", "Alias of itself", "*%s is inside its own anchor, so it would never end. Write the inner part out.", y.Value)
	default:
		b.repeated.add(n.weight)
		switch {
		case depth+n.weight.depth > maxNesting:
			b.fail(at, "nested-too-deeply", "Nested too deep", "Lists and mappings may be nested up to %d deep, including the content of *%s.", maxNesting, y.Value)
		case b.repeated.nodes > maxRepeatedNodes, b.repeated.bytes > maxRepeatedBytes:
			b.fail(at, "yaml-alias", "Too many aliases", "Expanded aliases may add up to %d values and 1 MiB to a plan. Use fewer or smaller ones.", maxRepeatedNodes)
			b.stopped = true
		default:
			return n
		}
	}
	return &Node{Range: at, Expr: null(at), refused: true, weight: weight{nodes: 1}}
}

// end closes the range of a list or mapping.
func (b *builder) end(n *Node, y *yaml.Node, bracket byte) {
	last := n.Range.Start.Byte
	within := func(part *Node) {
		if part.Range.Start.Byte >= n.Range.Start.Byte { // an alias is elsewhere
			last = max(last, part.Range.End.Byte)
		}
	}
	for _, item := range n.Items {
		within(item)
	}
	for _, e := range n.Entries {
		within(e.Key)
		within(e.Value)
	}
	if y.Style&yaml.FlowStyle != 0 {
		from := last
		if last == n.Range.Start.Byte {
			from++
		}
		if end := b.closing(from, bracket); end > from {
			last = end
		}
	}
	n.Range = b.span(n.Range.Start.Byte, last)
}

// mapping reads the entries of a mapping, then what is merged into it.
func (b *builder) mapping(n *Node, y *yaml.Node, depth int) {
	n.Kind = Map
	seen := map[string]*Entry{}
	add := func(e *Entry) {
		seen[e.Key.Text] = e
		n.Entries = append(n.Entries, e)
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		yk, yv := y.Content[i], y.Content[i+1]
		if yk.Kind == yaml.ScalarNode && yk.Tag == "!!merge" && yk.Style&yaml.TaggedStyle == 0 {
			merges = append(merges, yk, yv)
			continue
		}
		key, value := b.build(yk, depth+1), b.build(yv, depth+1)
		n.weight.add(key.weight)
		n.weight.add(value.weight)
		if b.stopped || !b.isKey(key, yk) {
			continue
		}
		if first := seen[key.Text]; first != nil {
			b.twice = append(b.twice, problem(key.Range, "attribute-twice", "Duplicate key", "%q is already set on line %d. Merge the two, or remove one.", key.Text, first.Key.Range.Start.Line))
			continue
		}
		add(&Entry{Key: key, Value: value})
	}
	// What << names adds the entries that the mapping itself lacks.
	for i := 0; i < len(merges) && !b.stopped; i += 2 {
		from := b.build(merges[i+1], depth+1)
		sources := []*Node{from}
		if from.Kind == List {
			sources = from.Items
		}
		for _, source := range sources {
			if source.Kind != Map && !source.refused {
				at := b.offset(merges[i].Line, merges[i].Column)
				b.fail(b.span(at, at+2), "yaml-alias", "Cannot merge", "<< takes an alias of a mapping, <<: *name, or a list of aliases. If << is meant as a key, put it in quotes.")
				break
			}
			for _, e := range source.Entries {
				if seen[e.Key.Text] == nil {
					add(e)
					n.weight.add(e.Key.weight)
					n.weight.add(e.Value.weight)
				}
			}
		}
	}
	b.end(n, y, '}')
	object := &hclsyntax.ObjectConsExpr{SrcRange: n.Range, OpenRange: n.Range}
	for _, e := range n.Entries {
		object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: e.Key.Expr, ValueExpr: e.Value.Expr})
	}
	n.Expr = object
}

// isKey reports whether a key can be one, and the mistake if not.
func (b *builder) isKey(key *Node, y *yaml.Node) bool {
	if y.Style&yaml.TaggedStyle != 0 {
		return false // reported
	}
	if key.Kind == Scalar && key.IsText {
		return true
	}
	is, hint := map[Kind]string{List: "a list", Map: "a mapping"}[key.Kind], ""
	if key.Kind == Scalar {
		is = fmt.Sprintf("%s, which YAML does not read as text", strings.TrimSpace(key.Text))
		if key.Text != "" {
			hint = " Put it in quotes: " + `"` + key.Text + `".`
		}
	}
	b.fail(key.Range, "yaml-shape", "Key is not text", "A key must be text, not %s.%s", is, hint)
	return false
}
