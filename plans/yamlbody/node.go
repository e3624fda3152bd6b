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
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"
)

// Node is a value in a YAML file. Anchors and merges are resolved: an alias is
// the node that it names, so a node may be in several places.
type Node struct {
	// Kind is scalar, sequence or mapping.
	Kind yaml.Kind
	// Range is its place; for an alias, that of its anchor.
	Range hcl.Range
	// Text is the text of a scalar, with YAML's quoting undone, not HCL's.
	Text string
	// IsText is set for a text, but not for a number, a truth value or null.
	IsText bool
	Items  []*Node
	// Entries are the entries of a mapping, in order, each key once.
	Entries []Entry
	// Expr is the node as a value.
	Expr hclsyntax.Expression
	// size and depth count the node with everything in it, aliases each time.
	size, depth int
}

// Entry is a key of a mapping and its value.
type Entry struct {
	Key, Value *Node
}

// hold counts a node and what is in it, and extends the range to it unless it is an alias,
// which is elsewhere.
func (n *Node) hold(inner *Node) {
	n.size, n.depth = n.size+inner.size, max(n.depth, inner.depth+1)
	if inner.Range.Start.Byte >= n.Range.Start.Byte && inner.Range.End.Byte > n.Range.End.Byte {
		n.Range.End = inner.Range.End
	}
}

const (
	// maxNesting is how deep lists and mappings may be nested.
	maxNesting = 100
	// maxRepeated bounds what aliases may add to a file, which is itself bounded: nine
	// lines of nine aliases each stand for a billion values. Ten characters count as one.
	maxRepeated = 100_000
)

type builder struct {
	*source
	guard Guard
	diags hcl.Diagnostics
	// twice are the diagnostics of duplicate keys, which do not stop us.
	twice hcl.Diagnostics
	// built are the nodes of anchors; nil while one is being built.
	built map[*yaml.Node]*Node
	// repeated is how many values aliases have added so far.
	repeated int
}

func (b *builder) fail(at hcl.Range, code, summary, format string, args ...any) {
	b.diags = append(b.diags, problem(at, code, summary, format, args...))
}

func literal(v cty.Value, at hcl.Range) *hclsyntax.LiteralValueExpr {
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}
}

// build makes the node for y, at that depth. It never returns nil.
func (b *builder) build(y *yaml.Node, depth int) *Node {
	if y.Kind == yaml.AliasNode {
		return b.alias(y, depth)
	}
	from := b.offset(y.Line, y.Column)
	n := &Node{Kind: y.Kind, Range: b.span(from, from), size: 1 + len(y.Value)/10}
	n.Expr = literal(cty.NullVal(cty.DynamicPseudoType), n.Range)
	if y.Anchor != "" {
		b.built[y] = nil
		defer func() { b.built[y] = n }()
	}
	switch {
	case depth > maxNesting:
		b.fail(n.Range, "nested-too-deeply", "Nested too deep",
			"Lists and mappings may be nested up to %d deep. Split this up.", maxNesting)
	case y.Style&yaml.TaggedStyle != 0:
		b.fail(n.Range, "yaml-value", "Tag in plan",
			"A value that starts with ! has a YAML tag (%s), which plans do not use. If the ! is part of a text, put "+
				"the text in quotes; otherwise remove the tag.", y.Tag)
	case y.Kind == yaml.MappingNode:
		b.mapping(n, y, depth)
	case y.Kind == yaml.SequenceNode:
		list := &hclsyntax.TupleConsExpr{}
		for _, item := range y.Content {
			built := b.build(item, depth+1)
			n.Items, list.Exprs = append(n.Items, built), append(list.Exprs, built.Expr)
			n.hold(built)
		}
		list.SrcRange, list.OpenRange, n.Expr = n.Range, n.Range, list
	default:
		b.scalarNode(n, y, from)
	}
	return n
}

func (b *builder) alias(y *yaml.Node, depth int) *Node {
	from := b.offset(y.Line, y.Column)
	at := b.span(from, from+1+len(y.Value))
	n := b.built[y.Alias]
	switch {
	case n == nil:
		b.fail(at, "yaml-alias", "Alias of itself",
			"*%s is inside its own anchor, so it would never end. Write the inner part out.", y.Value)
	case depth+n.depth > maxNesting:
		b.fail(at, "nested-too-deeply", "Nested too deep",
			"Lists and mappings may be nested up to %d deep, including the content of *%s.", maxNesting, y.Value)
	case b.repeated <= maxRepeated && b.repeated+n.size > maxRepeated:
		b.fail(at, "yaml-alias", "Too many aliases",
			"Expanded aliases may add up to %d values to a plan. Use fewer or smaller ones.", maxRepeated)
		b.repeated += n.size
	default:
		b.repeated += n.size
		return n
	}
	return &Node{Kind: yaml.MappingNode, Range: at, Expr: literal(cty.NullVal(cty.DynamicPseudoType), at), size: 1}
}

// mapping reads the entries of a mapping, then what is merged into it.
func (b *builder) mapping(n *Node, y *yaml.Node, depth int) {
	seen := map[string]*Node{}
	object := &hclsyntax.ObjectConsExpr{}
	add := func(key, value *Node) {
		seen[key.Text] = key
		n.Entries = append(n.Entries, Entry{key, value})
		object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key.Expr, ValueExpr: value.Expr})
		n.hold(key)
		n.hold(value)
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		yk, yv := y.Content[i], y.Content[i+1]
		if yk.Tag == "!!merge" && yk.Style&yaml.TaggedStyle == 0 {
			merges = append(merges, yk, yv)
			continue
		}
		key, value := b.build(yk, depth+1), b.build(yv, depth+1)
		switch first := seen[key.Text]; {
		case yk.Style&yaml.TaggedStyle != 0: // reported
		case !key.IsText:
			is, hint := "a list or a mapping", ""
			if key.Kind == yaml.ScalarNode {
				is = strings.TrimSpace(key.Text + ", which YAML does not read as text")
				hint = " Put it in quotes: " + `"` + key.Text + `".`
			}
			b.fail(key.Range, "yaml-shape", "Key is not text", "A key must be text, not %s.%s", is, hint)
		case first != nil:
			b.twice = append(b.twice, problem(key.Range, "attribute-twice", "Duplicate key",
				"%q is already set on line %d. Merge the two, or remove one.", key.Text, first.Range.Start.Line))
		default:
			add(key, value)
		}
	}
	// What << names adds the entries that the mapping itself lacks.
	for i := 0; i < len(merges); i += 2 {
		from := b.build(merges[i+1], depth+1)
		sources := []*Node{from}
		if from.Kind == yaml.SequenceNode {
			sources = from.Items
		}
		for _, source := range sources {
			if source.Kind != yaml.MappingNode {
				at := b.offset(merges[i].Line, merges[i].Column)
				b.fail(b.span(at, at+2), "yaml-alias", "Cannot merge",
					"<< takes an alias of a mapping, <<: *name, or a list of aliases. If << is meant as a key, put "+
						"it in quotes.")
				break
			}
			for _, e := range source.Entries {
				if seen[e.Key.Text] == nil {
					add(e.Key, e.Value)
				}
			}
		}
	}
	object.SrcRange, object.OpenRange, n.Expr = n.Range, n.Range, object
}
