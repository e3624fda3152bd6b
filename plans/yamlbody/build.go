package yamlbody

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"
)

const (
	// maxNesting is how deep lists and mappings may be nested.
	maxNesting = 100
	// maxRepeatedNodes and maxRepeatedBytes bound what aliases may add to a file, which
	// is itself bounded: nine lines of nine aliases each stand for a billion values.
	maxRepeatedNodes = 100_000
	maxRepeatedBytes = 1 << 20
	// maxNumber is the longest number, in characters.
	maxNumber = 40
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

// build makes the node for y, at that depth. It never returns nil.
func (b *builder) build(y *yaml.Node, depth int) *Node {
	if y.Kind == yaml.AliasNode {
		return b.alias(y, depth)
	}
	from := b.skipProperties(b.offset(y.Line, y.Column))
	n := &Node{Range: b.span(from, from), guard: b.guard, src: b.source, value: cty.NullVal(cty.DynamicPseudoType)}
	n.weight.nodes = 1
	if b.stopped {
		return n
	}
	if depth > maxNesting {
		b.fail(n.Range, "nested-too-deeply", "Nested too deep", "Lists and mappings may be nested up to %d deep. Split this up.", maxNesting)
		b.stopped = true
		return n
	}
	if y.Style&yaml.TaggedStyle != 0 {
		b.fail(b.tag(y), "yaml-value", "Tag in plan", "A value that starts with ! has a YAML tag (%s), which plans do not use. If the ! is part of a text, put the text in quotes; otherwise remove the tag.", y.Tag)
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
		for _, item := range y.Content {
			built := b.build(item, depth+1)
			n.Items = append(n.Items, built)
			n.weight.add(built.weight)
		}
		b.end(n, y, ']')
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
	return &Node{Range: at, guard: b.guard, src: b.source, refused: true, value: cty.NullVal(cty.DynamicPseudoType), weight: weight{nodes: 1}}
}

// tag is the place of a value's tag.
func (b *builder) tag(y *yaml.Node) hcl.Range {
	from := b.offset(y.Line, y.Column)
	from = b.skipProperties(from)
	to := from
	for to < len(b.text) && !strings.ContainsRune(" \t\r\n,", rune(b.text[to])) {
		to++
	}
	return b.span(from, to)
}

// end closes the range of a list or mapping.
func (b *builder) end(n *Node, y *yaml.Node, bracket byte) {
	last := n.Range.Start.Byte
	for _, item := range n.Items {
		last = max(last, b.within(n, item))
	}
	for _, e := range n.Entries {
		last = max(last, b.within(n, e.Key), b.within(n, e.Value))
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

// within is the end of a part of n; 0 for an alias, which is elsewhere.
func (b *builder) within(n, part *Node) int {
	if part.Range.Start.Byte < n.Range.Start.Byte {
		return 0
	}
	return part.Range.End.Byte
}

func (b *builder) describeKey(k *Node) string {
	switch k.Kind {
	case List:
		return "a list"
	case Map:
		return "a mapping"
	}
	return fmt.Sprintf("%s, which YAML does not read as text", strings.TrimSpace(k.Text))
}
