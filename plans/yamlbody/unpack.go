package yamlbody

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Found is a block found under a key.
type Found struct {
	*hcl.Block
	// Node is the mapping that is its body.
	Node     *Node
	Comments Comments
}

// Unpack finds the blocks of one type under a key, in order.
func Unpack(e *Entry, header *hcl.BlockHeaderSchema) ([]Found, hcl.Diagnostics) {
	u := unpacking{header: header, typeAt: e.Key.Range}
	u.unpack(e.Value, e.Key.Range, e.Comments, nil, nil)
	return u.found, u.diags
}

func blocksOf(e *Entry, header *hcl.BlockHeaderSchema) (blocks hcl.Blocks, diags hcl.Diagnostics) {
	found, diags := Unpack(e, header)
	for _, f := range found {
		blocks = append(blocks, f.Block)
	}
	return blocks, diags
}

// LabelOf is the name of a label that only blocks of some kinds (first labels) have; nil
// means all. A schema of HCL can hold no more than its name.
func LabelOf(name string, only []string) string {
	if only == nil {
		return name
	}
	return name + below + strings.Join(only, ",")
}

const below = " of "

// names are the labels of blocks below these labels.
func (u *unpacking) names(labels []string) (names []string) {
	for _, n := range u.header.LabelNames {
		name, kinds, some := strings.Cut(n, below)
		if some && (len(labels) == 0 || !slices.Contains(strings.Split(kinds, ","), labels[0])) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// unpacking goes down the levels of labels.
type unpacking struct {
	header *hcl.BlockHeaderSchema
	typeAt hcl.Range
	found  []Found
	diags  hcl.Diagnostics
}

// unpack reads what is below a key (or in a list below it) at a place. The comments are
// those of all keys on the way that have not reached a block yet.
func (u *unpacking) unpack(n *Node, at hcl.Range, above Comments, labels []string, places []hcl.Range) {
	null := n.Kind == Scalar && !n.IsText && !n.Template() && n.value.IsNull()
	missing := u.names(labels)[len(labels):]
	switch {
	case n.Kind == List:
		for _, item := range n.Items {
			if item.Kind == List {
				u.diags = append(u.diags, problem(item.Range, "yaml-shape", "List within a list", "Each element of this list is a %s, so it must be a mapping.", u.header.Type))
				continue
			}
			from := at
			if len(missing) == 0 && len(labels) == 0 {
				from = item.Range
				from.End = from.Start
			}
			u.unpack(item, from, joined(above, item.Comments), labels, places)
			above = Comments{}
		}
	case len(missing) == 0 && (n.Kind == Map || null):
		inner := n
		if null {
			inner = &Node{Kind: Map, Range: n.Range}
		}
		u.take(inner, at, above, labels, places)
	case n.Kind == Map:
		for _, e := range n.Entries {
			u.unpack(e.Value, e.Key.Range, joined(above, e.Comments), append(labels[:len(labels):len(labels)], e.Key.Text), append(places[:len(places):len(places)], e.Key.Range))
			above = Comments{}
		}
	case len(missing) > 0:
		code := "missing-attribute"
		if missing[0] == "name" {
			code = "invalid-name"
		}
		u.diags = append(u.diags, problem(at, code, "Missing "+missing[0], "The %s of a %s is the key below it. Write %s: {%s: {…}}, or the same as indented lines.", missing[0], u.header.Type, u.header.Type, missing[0]))
	default:
		hint := ""
		if len(labels) > 0 {
			hint = fmt.Sprintf(" If %q is a setting, the name of the %s above it is missing.", labels[len(labels)-1], u.header.Type)
		}
		u.diags = append(u.diags, problem(n.Range, "yaml-shape", "Not a mapping", "%s takes settings, so it must be a mapping: indented lines of key: value. A colon needs a space after it.%s", name(u.header.Type, labels), hint))
		u.take(&Node{Kind: Map, Range: n.Range}, at, above, labels, places)
	}
}

// take adds a block, even one with a mistaken body, so that it is not reported as
// missing.
func (u *unpacking) take(n *Node, at hcl.Range, above Comments, labels []string, places []hcl.Range) {
	for len(labels) < len(u.header.LabelNames) {
		// A label that blocks of this kind do not have.
		labels, places = append(labels[:len(labels):len(labels)], ""), append(places[:len(places):len(places)], places[len(places)-1])
	}
	u.found = append(u.found, Found{Node: n, Comments: above, Block: &hcl.Block{
		Type: u.header.Type, Labels: labels, Body: n.Body(),
		DefRange: at, TypeRange: u.typeAt, LabelRanges: places,
	}})
}

func joined(a, b Comments) Comments {
	return Comments{Head: lines(a.Head, b.Head), Line: lines(a.Line, b.Line), Foot: lines(a.Foot, b.Foot)}
}

func lines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func name(kind string, labels []string) string {
	for _, l := range labels {
		kind += fmt.Sprintf(" %q", l)
	}
	return kind
}
