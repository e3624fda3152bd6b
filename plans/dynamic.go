package plans

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/zclconf/go-cty/cty"
)

// opened lets dynamic blocks in an instance's body make blocks.
func (l *loader) opened(i *instance) *instance {
	s := l.sources[i.block.DefRange.Filename]
	if s == nil || !s.dynamic || i.block.Type == "feature" {
		return i // a feature's body comes out of its phase's
	}
	block := *i.block
	block.Body = dynblock.Expand(&metered{block.Body, l, false}, l.ctx, dynblock.OptCheckForEach(l.checkDynamic))
	i.block = &block
	return i
}

// checkDynamic bounds what one dynamic block makes.
func (l *loader) checkDynamic(v cty.Value, expr hcl.Expression, _ *hcl.EvalContext) hcl.Diagnostics {
	bad := func(summary, detail string) hcl.Diagnostics {
		at := expr.Range()
		return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}}
	}
	if v.IsMarked() || l.hidden(v) {
		return bad("Sensitive value is not allowed here", "What for_each goes over decides which blocks there are, so it cannot come from a sensitive value. If it is no secret, say so with nonsensitive(…).")
	}
	if !v.IsWhollyKnown() {
		return bad("Invalid for_each", "Its value is not known. Mend what it refers to first.")
	}
	if v.IsNull() || !v.CanIterateElements() {
		return bad("Wrong type for for_each", "for_each takes a map or a list; this is "+describe(v)+".")
	}
	size, _ := sizeOf(v)
	if size > maxLooped || v.LengthInt() > maxInstances {
		return bad("Too many blocks", "A dynamic block makes up to 1000 blocks, from up to 32 KiB of data.")
	}
	if l.made += v.LengthInt(); l.made > maxGenerated {
		return bad("Too many blocks", "for_each, count and dynamic make up to 10000 blocks in a plan. Split the effort into several plans.")
	}
	return nil
}

// metered is a body whose dynamic blocks are evaluated under the same limits as
// every other expression of the plan: dynblock evaluates them by itself.
type metered struct {
	hcl.Body
	l *loader
	// inside is set in a dynamic block.
	inside bool
}

func (m *metered) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := m.Body.Content(schema)
	return m.wrap(content), diags
}

func (m *metered) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, remain, diags := m.Body.PartialContent(schema)
	return m.wrap(content), &metered{remain, m.l, m.inside}, diags
}

func (m *metered) wrap(content *hcl.BodyContent) *hcl.BodyContent {
	if content == nil {
		return nil
	}
	c := *content
	c.Blocks = nil
	for _, b := range content.Blocks {
		block := *b
		block.Body = &metered{b.Body, m.l, b.Type == "dynamic"}
		c.Blocks = append(c.Blocks, &block)
	}
	if !m.inside {
		return &c
	}
	c.Attributes = hcl.Attributes{}
	for name, a := range content.Attributes {
		attr := *a
		if name == "for_each" {
			attr.Expr = meteredExpr{a.Expr, m.l}
		}
		c.Attributes[name] = &attr
	}
	return &c
}

// meteredExpr is an expression that is paid for when it is evaluated.
type meteredExpr struct {
	hcl.Expression
	l *loader
}

func (e meteredExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	before := len(e.l.diags)
	uses := e.Expression.Variables()
	var known []hcl.Traversal
	for _, t := range uses {
		if _, ours := e.l.ctx.Variables[t.RootName()]; ours || !visible(ctx, t.RootName()) {
			known = append(known, t)
		}
	}
	e.l.at("a dynamic block", e.Range())
	if e.l.checkUses(known) && e.l.affordable(e.Expression, uses) {
		v, diags := e.Expression.Value(ctx)
		e.l.looping = false
		return v, explained(diags)
	}
	diags := e.l.diags[before:]
	e.l.diags = e.l.diags[:before:before]
	return cty.DynamicVal, diags
}

// UnwrapExpression lets HCL see the expression itself.
func (e meteredExpr) UnwrapExpression() hcl.Expression { return e.Expression }

// visible reports whether a scope knows a name: an iterator's, mostly.
func visible(ctx *hcl.EvalContext, name string) bool {
	for ; ctx != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[name]; ok {
			return true
		}
	}
	return false
}
