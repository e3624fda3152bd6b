package load

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

const (
	// maxInstances is how many blocks one for_each may make, and maxGenerated all of them
	// together.
	maxInstances = 1000
	maxGenerated = 10000
)

// keyForm matches text that may be part of an identifier, though not its beginning.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

var (
	repeatSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "for_each"}}}
	nameSchema   = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "name"}}}
)

// repeat is one round of for_each.
type repeat struct {
	key  string
	each cty.Value
}

// instances are the blocks that b makes. outer is the phase that contains a feature.
func (s *settling) instances(g *eval.Group, b *hcl.Block, outer *eval.Instance) []*eval.Instance {
	own := &eval.Instance{Block: b}
	if outer != nil {
		own.Keys, own.Each = outer.Keys, outer.Each
	}
	if !slices.Contains(eval.Generates, b.Type) {
		return []*eval.Instance{s.opened(own)}
	}
	content, body, diags := b.Body.PartialContent(repeatSchema)
	s.Diags = append(s.Diags, diags...)
	each := content.Attributes["for_each"]
	if each == nil && len(own.Keys) == 0 {
		return []*eval.Instance{s.opened(own)}
	}
	if s.made > maxGenerated {
		return nil // reported
	}
	rounds := []repeat{{each: own.Each}}
	if each != nil {
		g.ForEach = true
		var ok bool
		if rounds, ok = s.forEach(each.Expr, own.Each); !ok {
			s.Doubt(b.Type)
			return nil
		}
	}
	named, body, diags := body.PartialContent(nameSchema)
	s.Diags = append(s.Diags, diags...)
	name := named.Attributes["name"]
	var made []*eval.Instance
	for _, r := range rounds {
		i := &eval.Instance{Keys: own.Keys, Each: r.each}
		if each != nil {
			i.Keys = append(slices.Clone(own.Keys), r.key)
		}
		labels := append([]string(nil), b.Labels...)
		text, ok := s.instanceName(i, labels[len(labels)-1], name, b)
		if !ok {
			s.Doubt(b.Type)
			break
		}
		labels[len(labels)-1] = text
		block := *b
		block.Labels, block.Body = labels, body
		i.Block = &block
		s.Groups.Names[b.Type+"."+strings.Join(labels, ".")] = true
		made = append(made, s.opened(i))
	}
	if s.made += len(made); s.made > maxGenerated {
		s.Fail(b.DefRange, "repetition", "Too many blocks", "for_each may make up to %d blocks per plan. Split it into several plans.", maxGenerated)
		s.tooMany = true
		s.Doubt(b.Type)
		return nil
	}
	return made
}

// instanceName is the label and the keys, unless the block sets a name.
func (s *settling) instanceName(i *eval.Instance, label string, name *hcl.Attribute, b *hcl.Block) (text string, ok bool) {
	if name != nil {
		s.Within(i, func() {
			v, fine := s.Value(name.Expr, "A name")
			if ok = fine; ok {
				text, ok = s.AsText(v, name.Expr.Range(), "name")
			}
		})
		return text, ok
	}
	text = label
	for _, key := range i.Keys {
		if !keyForm.MatchString(key) {
			s.Fail(b.DefRange, "repetition", "Key cannot be part of a name", "Blocks made by for_each are named %s_<key>, but the key %q is not an identifier. Use keys of letters, digits and underscores, or set the block's name: name = \"%s_${…}\".", label, key, label)
			return "", false
		}
		text += "_" + key
	}
	return text, true
}

// forEach evaluates a for_each: a map, or different texts.
func (s *settling) forEach(expr hcl.Expression, outer cty.Value) (rounds []repeat, ok bool) {
	at := expr.Range()
	v, ok := s.Value(expr, "The value of for_each")
	if !ok {
		return nil, false
	}
	ty := v.Type()
	isMap := ty.IsObjectType() || ty.IsMapType()
	if v.IsNull() || ty.Equals(lang.ReferenceType) || !isMap && !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
		s.Fail(at, "wrong-type", "Wrong type for for_each", `for_each takes a map, or a list of different texts, such as ["short", "long"]; this is %s.`, lang.Describe(v))
		return nil, false
	}
	if n := v.LengthInt(); n > maxInstances {
		s.Fail(at, "repetition", "Too many blocks", "for_each may make up to %d blocks; this makes %d.", maxInstances, n)
		return nil, false
	}
	seen := map[string]bool{}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if !isMap {
			if value.IsNull() || value.Type() != cty.String {
				s.Fail(at, "wrong-type", "Wrong type for for_each", "An element of the list is %s, but the elements become names. Use text, or a map whose keys are the names: { for x in … : x.name => x }.", lang.Describe(value))
				return nil, false
			}
			key = value
		}
		if seen[key.AsString()] {
			s.Fail(at, "repetition", "Duplicate key in for_each", "%q is in the list twice, but the elements become names. Use distinct(…), or a map.", key.AsString())
			return nil, false
		}
		seen[key.AsString()] = true
		each := map[string]cty.Value{"key": key, "value": value}
		if outer != cty.NilVal {
			each["parent"] = outer
		}
		rounds = append(rounds, repeat{key.AsString(), cty.ObjectVal(each)})
	}
	return rounds, true
}

// opened lets dynamic blocks in an instance's body make blocks.
func (s *settling) opened(i *eval.Instance) *eval.Instance {
	if !s.dynamic(i.Block) || i.Block.Type == "feature" {
		return i // a feature's body is taken from its phase's
	}
	block := *i.Block
	block.Body = dynblock.Expand(&dynamicBody{block.Body, s, false}, s.Ctx, dynblock.OptCheckForEach(s.checkDynamic))
	i.Block = &block
	return i
}

// dynamic reports whether a block's file has dynamic blocks.
func (s *settling) dynamic(b *hcl.Block) bool {
	text := s.Sources[b.DefRange.Filename]
	return text != nil && text.Dynamic
}

// checkDynamic bounds what one dynamic block makes.
func (s *settling) checkDynamic(v cty.Value, expr hcl.Expression, _ *hcl.EvalContext) hcl.Diagnostics {
	bad := func(code, summary, detail string) hcl.Diagnostics {
		at := expr.Range()
		return hcl.Diagnostics{{Severity: hcl.DiagError, Extra: lang.Coded(code), Summary: summary, Detail: detail, Subject: &at}}
	}
	if v.IsMarked() || s.Secrets.Hidden(v) {
		return bad("sensitive", "Sensitive value is not allowed here", "for_each determines which blocks there are, so it cannot use a sensitive value. If it is not secret, mark it with nonsensitive(…).")
	}
	if !v.IsWhollyKnown() {
		return bad("invalid-value", "Invalid for_each", "Its value is not known. Fix what it refers to first.")
	}
	if v.IsNull() || !v.CanIterateElements() {
		return bad("wrong-type", "Wrong type for for_each", "for_each takes a map or a list; this is "+lang.Describe(v)+".")
	}
	if v.LengthInt() > maxInstances {
		return bad("repetition", "Too many blocks", "A dynamic block may make up to 1000 blocks.")
	}
	if s.made += v.LengthInt(); s.made > maxGenerated {
		return bad("repetition", "Too many blocks", "for_each and dynamic may make up to 10000 blocks per plan. Split it into several plans.")
	}
	return nil
}

// dynamicBody is a body whose dynamic blocks, which dynblock evaluates itself, use names like
// every other expression of the plan.
type dynamicBody struct {
	hcl.Body
	s *settling
	// inside is set in a dynamic block.
	inside bool
}

func (m *dynamicBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := m.Body.Content(schema)
	return m.wrap(content), diags
}

func (m *dynamicBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, remain, diags := m.Body.PartialContent(schema)
	return m.wrap(content), &dynamicBody{remain, m.s, m.inside}, diags
}

func (m *dynamicBody) wrap(content *hcl.BodyContent) *hcl.BodyContent {
	if content == nil {
		return nil
	}
	c := *content
	c.Blocks = nil
	for _, b := range content.Blocks {
		block := *b
		block.Body = &dynamicBody{b.Body, m.s, b.Type == "dynamic"}
		c.Blocks = append(c.Blocks, &block)
	}
	if !m.inside {
		return &c
	}
	c.Attributes = hcl.Attributes{}
	for name, a := range content.Attributes {
		attr := *a
		if name == "for_each" || name == "labels" {
			attr.Expr = dynamicExpr{a.Expr, m.s}
		}
		c.Attributes[name] = &attr
	}
	return &c
}

// dynamicExpr is an expression whose names are settled when it is evaluated.
type dynamicExpr struct {
	hcl.Expression
	s *settling
}

func (e dynamicExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	before := len(e.s.Diags)
	uses := e.Expression.Variables()
	var known []hcl.Traversal
	for _, t := range uses {
		if !e.iterates(ctx, t.RootName()) {
			known = append(known, t)
		}
	}
	if e.s.Before(known) && e.s.CheckUses(known) {
		v, diags := e.Expression.Value(ctx)
		return v, eval.Explained(diags)
	}
	diags := e.s.Diags[before:]
	e.s.Diags = e.s.Diags[:before:before]
	return cty.DynamicVal, diags
}

// UnwrapExpression lets HCL see the expression itself.
func (e dynamicExpr) UnwrapExpression() hcl.Expression { return e.Expression }

// ExprList are the elements of a list of expressions.
func (e dynamicExpr) ExprList() []hcl.Expression {
	list, diags := hcl.ExprList(e.Expression)
	if diags.HasErrors() {
		return nil
	}
	for i := range list {
		list[i] = dynamicExpr{list[i], e.s}
	}
	return list
}

// iterates reports whether a name is that of an iterator, which hides the plan's own
// name.
func (e dynamicExpr) iterates(ctx *hcl.EvalContext, name string) bool {
	for ; ctx != nil && ctx != e.s.Ctx; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[name]; ok {
			return true
		}
	}
	return false
}
