// Package yamlbody gives YAML text to decoders that are written for HCL: it
// implements hcl.Body and hcl.Expression over a tree of nodes, each of which
// knows its position in the file. It knows YAML and HCL's template language,
// and nothing about plans.
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
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
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
	// Range is its place; for an alias, that of its anchor.
	Range hcl.Range
	// Text is the text of a scalar, with YAML's quoting undone, not HCL's.
	Text string
	// IsText is set for a text, but not for a number, a truth value or null.
	IsText bool
	// Style is how a scalar is written.
	Style Style
	// Items are the elements of a list.
	Items []*Node
	// Entries are the entries of a mapping, in order, each key once.
	Entries []*Entry

	// value is the value of a scalar without a template.
	value cty.Value
	// template is set for text with ${ or %{ in it.
	template *template
	guard    Guard
	src      *source
	// refused is set for an alias that leads nowhere, which has been reported.
	refused bool
	// weight is that of the node with everything in it, aliases counted each time.
	weight weight
}

// Entry is a key of a mapping and its value.
type Entry struct {
	Key, Value *Node
}

// Style is how a scalar is written.
type Style int

const (
	// Plain is without quotes.
	Plain Style = iota
	// Quoted is in double or single quotes.
	Quoted
	// Block is | or > with lines of text below.
	Block
)

// weight is the amount of something.
type weight struct {
	nodes, bytes, depth int
}

func (w *weight) add(inner weight) {
	w.nodes += inner.nodes
	w.bytes += inner.bytes
	w.depth = max(w.depth, inner.depth+1)
}
