package yamlbody

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Language is how the text given to a Guard will be parsed.
type Language int

const (
	// TemplateText is text with ${…} and %{…} in it.
	TemplateText Language = iota
	// ExpressionText is an expression as such.
	ExpressionText
)

// Guard checks a text before a parser sees it, and returns why it must not be parsed, or
// nil.
type Guard func(text string, language Language) *Refusal

// Refusal is why a text is not parsed; From and To are offsets of the part to blame.
type Refusal struct {
	From, To              int
	Code, Summary, Detail string
}

// template is a text with HCL expressions in it. They are parsed with positions
// in the text; placed puts these into the file.
type template struct {
	expr  hclsyntax.Expression
	place placing
}

// placing turns a range within a text into one in the file.
type placing func(hcl.Range) hcl.Range

// whole is the expression in ${ } if the text is nothing else, or nil.
func (t *template) whole() hclsyntax.Expression {
	if wrap, ok := t.expr.(*hclsyntax.TemplateWrapExpr); ok {
		return wrap.Wrapped
	}
	return nil
}

// placingOf is the placing for the text of a scalar.
func (s *source) placingOf(n *Node) placing {
	from := n.Range.Start.Byte
	written := s.text[from:n.Range.End.Byte]
	skip := 0
	if n.Style == Quoted {
		skip = 1
	}
	if strings.HasPrefix(written[min(skip, len(written)):], n.Text) && !strings.Contains(n.Text, "\n") {
		return func(r hcl.Range) hcl.Range { return s.span(from+skip+r.Start.Byte, from+skip+r.End.Byte) }
	}
	offsets := align(written, n.Text, n.Style)
	if offsets == nil {
		return func(hcl.Range) hcl.Range { return n.Range }
	}
	return func(r hcl.Range) hcl.Range {
		start := max(0, min(r.Start.Byte, len(n.Text)))
		end := max(start, min(r.End.Byte, len(n.Text)))
		to := from + offsets[end]
		if end > start {
			// The end is after the last byte, not before what comes next.
			to = from + offsets[end-1] + 1
		}
		return s.span(from+offsets[start], to)
	}
}

// origin is where the text of every template begins for its parser.
var origin = hcl.Pos{Line: 1, Column: 1, Byte: 0}

// newTemplate parses the text of a scalar.
func (s *source) newTemplate(n *Node) (*template, hcl.Diagnostics) {
	expr, diags := hclsyntax.ParseTemplate([]byte(n.Text), s.filename, origin)
	t := &template{expr, s.placingOf(n)}
	return t, placedDiagnostics(diags, t.place)
}

func placedDiagnostics(diags hcl.Diagnostics, place placing) hcl.Diagnostics {
	placed := make(hcl.Diagnostics, len(diags))
	for i, d := range diags {
		c := *d
		if d.Subject != nil {
			c.Subject = place(*d.Subject).Ptr()
		}
		if d.Context != nil {
			c.Context = place(*d.Context).Ptr()
		}
		placed[i] = &c
	}
	return placed
}

// placedTraversal is a traversal with its steps' places in the file.
func placedTraversal(t hcl.Traversal, place placing) hcl.Traversal {
	c := make(hcl.Traversal, len(t))
	for i, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			step.SrcRange = place(step.SrcRange)
			c[i] = step
		case hcl.TraverseAttr:
			step.SrcRange = place(step.SrcRange)
			c[i] = step
		case hcl.TraverseIndex:
			step.SrcRange = place(step.SrcRange)
			c[i] = step
		case hcl.TraverseSplat:
			step.SrcRange = place(step.SrcRange)
			c[i] = step
		default:
			c[i] = step
		}
	}
	return c
}

// placed is an expression from a text, with its place in the file.
type placed struct {
	expr  hcl.Expression
	place placing
}

func (p *placed) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := p.expr.Value(ctx)
	return v, placedDiagnostics(diags, p.place)
}

func (p *placed) Variables() []hcl.Traversal {
	list := p.expr.Variables()
	for i, t := range list {
		list[i] = placedTraversal(t, p.place)
	}
	return list
}

func (p *placed) Range() hcl.Range      { return p.place(p.expr.Range()) }
func (p *placed) StartRange() hcl.Range { return p.place(p.expr.StartRange()) }

// ExprList is for hcl.ExprList.
func (p *placed) ExprList() []hcl.Expression {
	list, diags := hcl.ExprList(p.expr)
	if diags.HasErrors() {
		return nil
	}
	out := make([]hcl.Expression, len(list))
	for i, e := range list {
		out[i] = &placed{e, p.place}
	}
	return out
}

// ExprMap is for hcl.ExprMap.
func (p *placed) ExprMap() []hcl.KeyValuePair {
	pairs, diags := hcl.ExprMap(p.expr)
	if diags.HasErrors() {
		return nil
	}
	out := make([]hcl.KeyValuePair, len(pairs))
	for i, kv := range pairs {
		out[i] = hcl.KeyValuePair{Key: &placed{kv.Key, p.place}, Value: &placed{kv.Value, p.place}}
	}
	return out
}

// AsTraversal is for hcl.AbsTraversalForExpr and hcl.ExprAsKeyword.
func (p *placed) AsTraversal() hcl.Traversal {
	t, diags := hcl.AbsTraversalForExpr(p.expr)
	if diags.HasErrors() {
		return nil
	}
	return placedTraversal(t, p.place)
}

// ExprCall is for hcl.ExprCall.
func (p *placed) ExprCall() *hcl.StaticCall {
	call, diags := hcl.ExprCall(p.expr)
	if diags.HasErrors() {
		return nil
	}
	c := &hcl.StaticCall{Name: call.Name, NameRange: p.place(call.NameRange), ArgsRange: p.place(call.ArgsRange)}
	for _, arg := range call.Arguments {
		c.Arguments = append(c.Arguments, &placed{arg, p.place})
	}
	return c
}
