package yamlbody

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// blocksOf finds the blocks of one type under a key, in order.
func blocksOf(e *Entry, header *hcl.BlockHeaderSchema) (hcl.Blocks, hcl.Diagnostics) {
	u := unpacking{header: header, typeAt: e.Key.Range}
	u.unpack(e.Value, e.Key.Range, nil, nil)
	return u.found, u.diags
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
	found  hcl.Blocks
	diags  hcl.Diagnostics
}

// unpack reads what is below a key (or in a list below it) at a place.
func (u *unpacking) unpack(n *Node, at hcl.Range, labels []string, places []hcl.Range) {
	value, constant := n.Expr.(*hclsyntax.LiteralValueExpr)
	null := constant && value.Val.IsNull()
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
			u.unpack(item, from, labels, places)
		}
	case len(missing) == 0 && (n.Kind == Map || null):
		inner := n
		if null {
			inner = &Node{Kind: Map, Range: n.Range}
		}
		u.take(inner, at, labels, places)
	case n.Kind == Map:
		for _, e := range n.Entries {
			u.unpack(e.Value, e.Key.Range, append(labels[:len(labels):len(labels)], e.Key.Text), append(places[:len(places):len(places)], e.Key.Range))
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
		u.take(&Node{Kind: Map, Range: n.Range}, at, labels, places)
	}
}

// take adds a block, even one with a mistaken body, so that it is not reported as
// missing.
func (u *unpacking) take(n *Node, at hcl.Range, labels []string, places []hcl.Range) {
	for len(labels) < len(u.header.LabelNames) {
		// A label that blocks of this kind do not have.
		labels, places = append(labels[:len(labels):len(labels)], ""), append(places[:len(places):len(places)], places[len(places)-1])
	}
	u.found = append(u.found, &hcl.Block{
		Type: u.header.Type, Labels: labels, Body: n.Body(),
		DefRange: at, TypeRange: u.typeAt, LabelRanges: places,
	})
}

func name(kind string, labels []string) string {
	for _, l := range labels {
		kind += fmt.Sprintf(" %q", l)
	}
	return kind
}
