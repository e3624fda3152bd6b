package plans

import (
	"strconv"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// address resolves an identifier or a chain of members and puts the input's
// variable in its place.
func (r *reader) address(n *ast.Node) *Operand {
	elements := r.elements(*n)
	if elements == nil {
		return nil
	}
	from, to := span(*n)
	in, err := r.ns.resolve(elements, r.sc)
	if err != nil {
		err.at, err.length = from, max(1, to-from)
		r.errs = append(r.errs, err)
		return nil
	}
	if have := r.seen[in.Path]; have != nil {
		in = have
	} else {
		in.Var = "v" + strconv.Itoa(len(r.p.Inputs))
		r.seen[in.Path] = in
		r.p.Inputs = append(r.p.Inputs, in)
	}
	ast.Patch(n, &ast.IdentifierNode{Value: in.Var})
	(*n).SetLocation(file.Location{From: from, To: to})
	return &Operand{Text: in.Path, Type: in.Type, Unit: in.unitWord(), Input: in}
}

// elements flattens a.b["c"].d; nil (with an error recorded) when an element is
// not a constant, since nobody could list what such a rule reads.
func (r *reader) elements(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		if !ok || n.Optional {
			r.refuse(n, "Dynamic member in a rule", "Write the name itself, as in chat.tg or feature[\"name\"]: what a rule reads must be known before anything is started.")
			return nil
		}
		path := r.elements(n.Node)
		if path == nil {
			return nil
		}
		return append(path, property.Value)
	default:
		r.refuse(n, "Member of an expression", "Addresses start with a name, as in chat.tg.gain.")
		return nil
	}
}

// source is a constant as it was written.
func (r *reader) source(n ast.Node) string {
	loc := n.Location()
	if loc.From < 0 || loc.To > len(r.text) || loc.From >= loc.To {
		return n.String()
	}
	return string(r.text[loc.From:loc.To])
}

// span is where a node stands, in runes: the parser gives a node the place of
// its operator or last name only. It goes down the edges of the tree and never
// visits a whole one, since nodes of chained comparisons are shared.
func span(n ast.Node) (from, to int) {
	return edge(n, first).Location().From, edge(n, last).Location().To
}

func edge(n ast.Node, side func(ast.Node) ast.Node) ast.Node {
	for {
		next := side(n)
		if next == nil {
			return n
		}
		n = next
	}
}

func first(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.BinaryNode:
		return n.Left
	case *ast.MemberNode:
		return n.Node
	case *ast.SliceNode:
		return n.Node
	case *ast.ChainNode:
		return n.Node
	case *ast.ConditionalNode:
		return n.Cond
	case *ast.CallNode:
		return n.Callee
	case *ast.SequenceNode:
		return n.Nodes[0]
	}
	return nil
}

func last(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.BinaryNode:
		return n.Right
	case *ast.MemberNode:
		return n.Property
	case *ast.UnaryNode:
		return n.Node
	case *ast.ConditionalNode:
		return n.Exp2
	case *ast.BuiltinNode:
		return lastOf(n.Arguments)
	case *ast.CallNode:
		return lastOf(n.Arguments)
	case *ast.ArrayNode:
		return lastOf(n.Nodes)
	case *ast.SequenceNode:
		return lastOf(n.Nodes)
	case *ast.PredicateNode:
		return n.Node
	}
	return nil
}

func lastOf(nodes []ast.Node) ast.Node {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[len(nodes)-1]
}
