package load

import (
	"fmt"
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
	// maxInstances is how many blocks one for_each or count may make, and
	// maxGenerated all of them together.
	maxInstances = 1000
	maxGenerated = 10000
)

// keyForm is what may stand in an identifier, though not at its beginning.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

var (
	repeatSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "for_each"}, {Name: "count"}}}
	nameSchema   = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "name"}}}
)

// repeat is one round of for_each or count.
type repeat struct {
	key   cty.Value
	scope map[string]cty.Value
}

// instances are the blocks that b makes. outer is the phase that a feature
// stands in.
func (l *loader) instances(g *eval.Group, b *hcl.Block, outer *eval.Instance) []*eval.Instance {
	own := &eval.Instance{Block: b}
	if outer != nil {
		own.Keys, own.Scope = outer.Keys, outer.Scope
	}
	if !slices.Contains(eval.Generates, b.Type) {
		return []*eval.Instance{l.opened(own)}
	}
	what := fmt.Sprintf("%s %q", b.Type, b.Labels[len(b.Labels)-1])
	l.At(what, b.DefRange)
	content, body, diags := b.Body.PartialContent(repeatSchema)
	l.Diags = append(l.Diags, diags...)
	each, count := content.Attributes["for_each"], content.Attributes["count"]
	if each == nil && count == nil && len(own.Keys) == 0 {
		return []*eval.Instance{l.opened(own)}
	}
	if l.made > maxGenerated {
		return nil // reported
	}
	rounds, ok := []repeat{{scope: own.Scope}}, true
	switch {
	case each != nil && count != nil:
		ok = false
		l.Fail(count.NameRange, "repetition", "for_each and count", "A block is repeated by one of them. Remove count, or for_each.")
	case each != nil:
		g.Empty = cty.MapValEmpty(lang.ReferenceType)
		rounds, ok = l.forEach(each.Expr, own.Scope)
	case count != nil:
		g.Empty = cty.ListValEmpty(lang.ReferenceType)
		rounds, ok = l.count(count.Expr, own.Scope)
	}
	if !ok {
		l.Doubt(b.Type)
		return nil
	}
	named, body, diags := body.PartialContent(nameSchema)
	l.Diags = append(l.Diags, diags...)
	name := named.Attributes["name"]
	var made []*eval.Instance
	for _, r := range rounds {
		i := &eval.Instance{Keys: own.Keys, Scope: r.scope}
		if each != nil || count != nil {
			i.Keys = append(append([]cty.Value(nil), own.Keys...), r.key)
		}
		labels := append([]string(nil), b.Labels...)
		text, ok := l.instanceName(i, labels[len(labels)-1], name, b)
		if !ok {
			l.Doubt(b.Type)
			break
		}
		labels[len(labels)-1] = text
		block := *b
		block.Labels, block.Body = labels, body
		i.Block = &block
		l.Groups.Names[b.Type+"."+strings.Join(labels, ".")] = true
		made = append(made, l.opened(i))
	}
	if l.made += len(made); l.made > maxGenerated {
		l.Fail(b.DefRange, "repetition", "Too many blocks", "for_each and count make up to %d blocks in a plan. Split the effort into several plans.", maxGenerated)
		l.unordered = true
		l.Doubt(b.Type)
		return nil
	}
	return made
}

// instanceName is the label and the keys, unless the block says otherwise.
func (l *loader) instanceName(i *eval.Instance, label string, name *hcl.Attribute, b *hcl.Block) (text string, ok bool) {
	if name != nil {
		l.Within(i, func() {
			v, fine := l.Value(name.Expr, "A name")
			if ok = fine; ok {
				text, ok = l.AsText(v, name.Expr.Range(), "name")
			}
		})
		return text, ok
	}
	text = label
	for _, k := range i.Keys {
		key := eval.KeyText(k)
		if !keyForm.MatchString(key) {
			l.Fail(b.DefRange, "repetition", "Key cannot be part of a name", "What for_each makes is named %s_<key>, and the key %q is no identifier, as rules and references need. Use keys of letters, digits and underscores, or give the block a name of its own: name = \"%s_${…}\".", label, key, label)
			return "", false
		}
		text += "_" + key
	}
	return text, true
}

// forEach evaluates a for_each: a map, or different texts.
func (l *loader) forEach(expr hcl.Expression, outer map[string]cty.Value) (rounds []repeat, ok bool) {
	at := expr.Range()
	v, ok := l.Value(expr, "What for_each goes over")
	if !ok {
		return nil, false
	}
	ty := v.Type()
	isMap := ty.IsObjectType() || ty.IsMapType()
	if v.IsNull() || ty.Equals(lang.ReferenceType) || !isMap && !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
		l.Fail(at, "wrong-type", "Wrong type for for_each", `for_each takes a map, or a list of different texts, such as ["short", "long"]; this is %s.`, lang.Describe(v))
		return nil, false
	}
	if n := v.LengthInt(); n > maxInstances {
		l.Fail(at, "repetition", "Too many blocks", "for_each makes up to %d blocks; here it would make %d.", maxInstances, n)
		return nil, false
	}
	seen := map[string]bool{}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if !isMap {
			if value.IsNull() || value.Type() != cty.String {
				l.Fail(at, "wrong-type", "Wrong type for for_each", "An element of the list is %s, and names are made of them. Use text, or a map whose keys are the names: { for x in … : x.name => x }.", lang.Describe(value))
				return nil, false
			}
			key = value
		}
		if seen[key.AsString()] {
			l.Fail(at, "repetition", "Duplicate key in for_each", "%q is in the list twice, and names are made of it. Use distinct(…), or a map.", key.AsString())
			return nil, false
		}
		seen[key.AsString()] = true
		each := map[string]cty.Value{"key": key, "value": value}
		if before, nested := outer["each"]; nested {
			each["parent"] = before
		}
		rounds = append(rounds, repeat{key, withWord(outer, "each", cty.ObjectVal(each))})
	}
	return rounds, true
}

// count evaluates a count.
func (l *loader) count(expr hcl.Expression, outer map[string]cty.Value) (rounds []repeat, ok bool) {
	v, ok := l.Value(expr, "A count")
	if !ok {
		return nil, false
	}
	f := eval.Body{Scope: l.Scope}
	n, ok := f.AsWhole(v, expr.Range(), "count", 0, maxInstances)
	if !ok {
		return nil, false
	}
	for i := range n {
		index := cty.NumberIntVal(int64(i))
		word := cty.ObjectVal(map[string]cty.Value{"index": index})
		rounds = append(rounds, repeat{index, withWord(outer, "count", word)})
	}
	return rounds, true
}

func withWord(outer map[string]cty.Value, word string, v cty.Value) map[string]cty.Value {
	scope := map[string]cty.Value{word: v}
	for name, value := range outer {
		if name != word {
			scope[name] = value
		}
	}
	return scope
}

// opened lets dynamic blocks in an instance's body make blocks.
func (l *loader) opened(i *eval.Instance) *eval.Instance {
	s := l.Sources[i.Block.DefRange.Filename]
	if s == nil || !s.Dynamic || i.Block.Type == "feature" {
		return i // a feature's body comes out of its phase's
	}
	block := *i.Block
	block.Body = dynblock.Expand(&metered{block.Body, l, false}, l.Ctx, dynblock.OptCheckForEach(l.checkDynamic))
	i.Block = &block
	return i
}

// checkDynamic bounds what one dynamic block makes.
func (l *loader) checkDynamic(v cty.Value, expr hcl.Expression, _ *hcl.EvalContext) hcl.Diagnostics {
	bad := func(code, summary, detail string) hcl.Diagnostics {
		at := expr.Range()
		return hcl.Diagnostics{{Severity: hcl.DiagError, Extra: lang.Coded(code), Summary: summary, Detail: detail, Subject: &at}}
	}
	if v.IsMarked() || l.Hidden(v) {
		return bad("sensitive", "Sensitive value is not allowed here", "What for_each goes over decides which blocks there are, so it cannot come from a sensitive value. If it is no secret, say so with nonsensitive(…).")
	}
	if !v.IsWhollyKnown() {
		return bad("invalid-value", "Invalid for_each", "Its value is not known. Mend what it refers to first.")
	}
	if v.IsNull() || !v.CanIterateElements() {
		return bad("wrong-type", "Wrong type for for_each", "for_each takes a map or a list; this is "+lang.Describe(v)+".")
	}
	size, _ := eval.SizeOf(v)
	if size > eval.MaxLooped || v.LengthInt() > maxInstances {
		return bad("repetition", "Too many blocks", "A dynamic block makes up to 1000 blocks, from up to 32 KiB of data.")
	}
	if l.made += v.LengthInt(); l.made > maxGenerated {
		return bad("repetition", "Too many blocks", "for_each, count and dynamic make up to 10000 blocks in a plan. Split the effort into several plans.")
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
	before := len(e.l.Diags)
	uses := e.Expression.Variables()
	var known []hcl.Traversal
	for _, t := range uses {
		if _, ours := e.l.Ctx.Variables[t.RootName()]; ours || !visible(ctx, t.RootName()) {
			known = append(known, t)
		}
	}
	e.l.At("a dynamic block", e.Range())
	if e.l.CheckUses(known) && e.l.Affordable(e.Expression, uses) {
		v, diags := e.Expression.Value(ctx)
		e.l.Looping = false
		return v, eval.Explained(diags)
	}
	diags := e.l.Diags[before:]
	e.l.Diags = e.l.Diags[:before:before]
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
