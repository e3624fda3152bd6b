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

// maxGenerated is how many blocks for_each and dynamic may make.
const maxGenerated = 10000

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
func (l *loader) instances(g *eval.Group, b *hcl.Block, outer *eval.Instance) []*eval.Instance {
	own := &eval.Instance{Block: b}
	if outer != nil {
		own.Keys, own.Each = outer.Keys, outer.Each
	}
	if !slices.Contains(eval.Generates, b.Type) {
		return []*eval.Instance{own}
	}
	content, body, diags := b.Body.PartialContent(repeatSchema)
	l.Diags = append(l.Diags, diags...)
	each := content.Attributes["for_each"]
	if each == nil && len(own.Keys) == 0 {
		return []*eval.Instance{own}
	}
	rounds := []repeat{{each: own.Each}}
	if each != nil {
		g.ForEach = true
		var ok bool
		if rounds, ok = l.forEach(each.Expr, own.Each); !ok {
			l.MarkIncomplete(b.Type)
			return nil
		}
	}
	if l.made += len(rounds); l.made > maxGenerated {
		l.Fail(b.DefRange, "repetition", "Too many blocks",
			"for_each may make up to %d blocks per plan. Split it into several plans.", maxGenerated)
		l.MarkIncomplete(b.Type)
		return nil
	}
	named, body, diags := body.PartialContent(nameSchema)
	l.Diags = append(l.Diags, diags...)
	var made []*eval.Instance
	for _, r := range rounds {
		i := &eval.Instance{Keys: own.Keys, Each: r.each}
		if each != nil {
			i.Keys = append(slices.Clone(own.Keys), r.key)
		}
		block := *b
		block.Labels, block.Body = slices.Clone(b.Labels), body
		i.Block = &block
		label := &block.Labels[len(b.Labels)-1]
		var ok bool
		if *label, ok = l.instanceName(i, *label, named.Attributes["name"]); !ok {
			l.MarkIncomplete(b.Type)
			break
		}
		l.Groups.Names[b.Type+"."+strings.Join(block.Labels, ".")] = true
		made = append(made, i)
	}
	return made
}

// instanceName is the label and the keys, unless the block sets a name.
func (l *loader) instanceName(i *eval.Instance, label string, name *hcl.Attribute) (text string, ok bool) {
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
	for _, key := range i.Keys {
		if !keyForm.MatchString(key) {
			l.Fail(i.Block.DefRange, "repetition", "Key cannot be part of a name",
				"Blocks made by for_each are named %s_<key>, but the key %q is not an identifier. Use keys of "+
					"letters, digits and underscores, or set the block's name: ‹name = \"%s_${…}\"›.",
				label, key, label)
			return "", false
		}
		text += "_" + key
	}
	return text, true
}

// forEach evaluates a for_each: a map, or different texts.
func (l *loader) forEach(expr hcl.Expression, outer cty.Value) (rounds []repeat, ok bool) {
	at := expr.Range()
	v, ok := l.Value(expr, "The value of for_each")
	if !ok {
		return nil, false
	}
	ty := v.Type()
	isMap := ty.IsObjectType() || ty.IsMapType()
	if v.IsNull() || ty.Equals(lang.ReferenceType) || !isMap && !ty.IsTupleType() && !ty.IsListType() &&
		!ty.IsSetType() {
		l.Fail(at, "wrong-type", "Wrong type for for_each",
			`for_each takes a map, or a list of different texts, such as ["short", "long"]; this is %s.`,
			lang.Describe(v))
		return nil, false
	}
	seen := map[string]bool{}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if !isMap {
			if value.IsNull() || value.Type() != cty.String {
				l.Fail(at, "wrong-type", "Wrong type for for_each",
					"An element of the list is %s, but the elements become names. Use text, or a map whose keys are "+
						"the names: { for x in … : x.name => x }.", lang.Describe(value))
				return nil, false
			}
			key = value
		}
		if seen[key.AsString()] {
			l.Fail(at, "repetition", "Duplicate key in for_each",
				"%q is in the list twice, but the elements become names. Use distinct(…), or a map.", key.AsString())
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

// expanded is a block whose dynamic blocks make blocks.
func (l *loader) expanded(b *hcl.Block) *hcl.Block {
	block := *b
	block.Body = dynblock.Expand(b.Body, l.Context(), dynblock.OptCheckForEach(l.checkDynamic))
	return &block
}

// checkDynamic refuses what no dynamic block can repeat for, in the words of for_each.
func (l *loader) checkDynamic(v cty.Value, expr hcl.Expression, _ *hcl.EvalContext) hcl.Diagnostics {
	bad := func(code, summary, detail string) hcl.Diagnostics {
		return hcl.Diagnostics{{
			Severity: hcl.DiagError, Extra: lang.Coded(code), Summary: summary, Detail: detail,
			Subject: expr.Range().Ptr(),
		}}
	}
	switch {
	case l.Secrets.Hidden(v):
		return bad("sensitive", "Sensitive value is not allowed here",
			"for_each determines which blocks there are, so it cannot use a sensitive value. If it is not secret, "+
				"mark it with nonsensitive(…).")
	case !v.IsWhollyKnown():
		return bad("invalid-value", "Invalid for_each", "Its value is not known. Fix its references first.")
	case v.IsNull() || !v.CanIterateElements():
		return bad("wrong-type", "Wrong type for for_each",
			"for_each takes a map or a list; this is "+lang.Describe(v)+".")
	}
	if l.made += v.LengthInt(); l.made > maxGenerated {
		return bad("repetition", "Too many blocks",
			"for_each and dynamic may make up to 10000 blocks per plan. Split it into several plans.")
	}
	return nil
}
