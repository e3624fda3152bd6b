package plans

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/mxflow/mxflow/gates/verdict"
)

// address resolves an identifier or a chain of members and puts the input's
// variable in its place.
func (r *reader) address(n *ast.Node) InputType {
	elements, start, end := r.elements(*n)
	if elements == nil {
		return ""
	}
	in, err := r.ns.resolve(elements, r.sc)
	if err != nil {
		err.at, err.length = start, max(1, end-start)
		r.errs = append(r.errs, err)
		return ""
	}
	if have := r.seen[in.Path]; have != nil {
		in = have
	} else {
		in.Var = fmt.Sprintf("v%d", len(r.p.Inputs))
		r.seen[in.Path] = in
		r.p.Inputs = append(r.p.Inputs, in)
	}
	ast.Patch(n, &ast.IdentifierNode{Value: in.Var})
	return in.Type
}

// elements flattens a.b["c"].d; nil (with an error recorded) when an element is
// not a constant, since nobody could list what such a rule reads. start and
// end are rune offsets.
func (r *reader) elements(n ast.Node) (path []string, start, end int) {
	loc := n.Location()
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}, loc.From, loc.To
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		if !ok || n.Optional {
			r.refuse(n, "Dynamic member in a rule", "Write the name itself, as in chat.tg or feature[\"name\"]: what a rule reads must be known before anything is started.")
			return nil, 0, 0
		}
		path, start, _ = r.elements(n.Node)
		if path == nil {
			return nil, 0, 0
		}
		return append(path, property.Value), start, max(loc.To, property.Location().To)
	default:
		r.refuse(n, "Member of an expression", "Addresses start with a name, as in chat.tg.gain.")
		return nil, 0, 0
	}
}

// inputOf is the input that an operand is, when it is nothing else.
func (r *reader) inputOf(n ast.Node) *Input {
	if id, ok := n.(*ast.IdentifierNode); ok {
		for _, in := range r.p.Inputs {
			if in.Var == id.Value {
				return in
			}
		}
	}
	return nil
}

// unknownWord refuses the comparison of a verdict with a word that no verdict
// is: levels.kernels != "failed" would hold for ever.
func (r *reader) unknownWord(n *ast.BinaryNode) bool {
	in, other := r.inputOf(n.Left), n.Right
	if in == nil {
		in, other = r.inputOf(n.Right), n.Left
	}
	if in == nil || in.Type != WordInput {
		return false
	}
	var words []string
	switch in.Kind {
	case InputKnob:
		for _, v := range r.ns.knobs[in.Name].Values {
			words = append(words, v.Name)
		}
	default:
		words = verdict.Words()
	}
	constants := []ast.Node{other}
	if list, ok := other.(*ast.ArrayNode); ok {
		constants = list.Nodes
	}
	for _, c := range constants {
		if s, ok := c.(*ast.StringNode); ok && !contains(words, s.Value) {
			r.refuse(c, "Unknown word", fmt.Sprintf("%s is one of %s, never %q.%s", in.Path, strings.Join(words, ", "), s.Value, didYouMean(s.Value, words)))
			return true
		}
	}
	return false
}
