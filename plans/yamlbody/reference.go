package yamlbody

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ReadReferences makes an expression, and the elements of a list, read text without ${ }
// as the name of something: "engine: engine.embedded.tiny". It is for places where text
// has no meaning of its own. A name of one word counts only if it is one of those given:
// any other is more likely meant as text. It reports whether this is new; an expression
// that is not from a YAML file is left alone.
func ReadReferences(expr hcl.Expression, words ...string) bool {
	e := physical(expr)
	if e == nil || e.references {
		return false
	}
	e.references, e.words = true, words
	return true
}

// physical is the expression of this package within wrappers, nil if there is none.
func physical(expr hcl.Expression) *expression {
	found := hcl.UnwrapExpressionUntil(expr, func(e hcl.Expression) bool {
		_, is := e.(*expression)
		return is
	})
	e, _ := found.(*expression)
	return e
}

// item is an element of a list, read as the list is.
func (e *expression) item(n *Node) hcl.Expression { return &expression{n, e.references, e.words} }

// named is the text as a name, if it is to be read as one and is one; else nil.
func (e *expression) named() *placed {
	if !e.references || e.node.template != nil || !e.node.IsText {
		return nil
	}
	p := e.static()
	if p == nil {
		return nil
	}
	if t := p.AsTraversal(); len(t) > 1 || len(t) == 1 && slices.Contains(e.words, t.RootName()) {
		return p
	}
	return nil
}

// AsTraversal is for hcl.AbsTraversalForExpr and hcl.ExprAsKeyword: a text is a name
// where only a name is possible.
func (e *expression) AsTraversal() hcl.Traversal {
	if p := e.static(); p != nil {
		return p.AsTraversal()
	}
	return nil
}

// ExprCall is for hcl.ExprCall: a text is a call where only a call is possible.
func (e *expression) ExprCall() *hcl.StaticCall {
	if p := e.static(); p != nil {
		return p.ExprCall()
	}
	return nil
}

// static is the text read as an expression, with or without ${ } around it.
func (e *expression) static() *placed {
	n := e.node
	switch {
	case n.template != nil:
		return e.whole()
	case n.Kind != Scalar, !n.IsText:
		return nil
	}
	if n.guard(n.Text, ExpressionText) != nil {
		return nil
	}
	expr, diags := hclsyntax.ParseExpression([]byte(n.Text), n.Range.Filename, origin)
	if diags.HasErrors() {
		return nil
	}
	return &placed{expr, n.src.placingOf(n)}
}
