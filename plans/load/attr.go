package load

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

// bodies reads the bodies of blocks by the schemas that levels, steps and engine
// kinds declare.
type bodies struct {
	*eval.Scope
	// docs describe those blocks, each made once.
	docs map[string]*lang.BlockDoc
}

// decodeAttr reads one declared attribute as plain data. If it returns false, the mistake
// has been reported.
func (bs *bodies) decodeAttr(a plans.Attr, v cty.Value, expr hcl.Expression) (any, bool) {
	at := expr.Range()
	switch a.Type {
	case plans.String, plans.Bool, plans.Number, plans.Int, plans.Duration:
		return bs.decodeScalar(a, v, at)
	case plans.Ints:
		return bs.decodeNumbers(withType(a, plans.Int), v, expr, "an integer, or a list of integers")
	case plans.Numbers:
		return bs.decodeNumbers(withType(a, plans.Number), v, expr, "a number, or a list of numbers")
	case plans.Strings:
		return bs.decodeList(withType(a, plans.String), v, expr, `a list, such as ["one", "two"]`)
	case plans.Refs:
		refs, ok := bs.AsRefs(v, expr, a.Name, a.Ref)
		if ok && len(refs) == 0 && a.Required {
			return bs.noElement(a, expr)
		}
		list := make([]any, len(refs))
		for i, r := range refs {
			list[i] = r.Key
		}
		return list, ok
	case plans.Reference:
		r, ok := bs.AsRef(v, at, a.Name, a.Ref)
		return r.Key, ok
	case plans.Map:
		pairs, ok := bs.Pairs(expr, v)
		if !ok {
			bs.WrongType(at, a.Name, `a map, such as { name = "value" }`, v)
			return nil, false
		}
		m := map[string]any{}
		for _, p := range pairs {
			s, fine := bs.AsText(p.V, p.At, fmt.Sprintf("%s in %s", p.Key, a.Name))
			m[p.Key], ok = s, ok && fine
		}
		return m, ok
	}
	return lang.Plain(v), true
}

func withType(a plans.Attr, ty plans.AttrType) plans.Attr {
	a.Type = ty
	return a
}

func (bs *bodies) decodeScalar(a plans.Attr, v cty.Value, at hcl.Range) (any, bool) {
	value, ok := bs.Scalar(a, v, at)
	if d, is := value.(time.Duration); is {
		return d.String(), ok
	}
	return value, ok
}

// decodeNumbers reads one number, which is a list of one, or a list.
func (bs *bodies) decodeNumbers(a plans.Attr, v cty.Value, expr hcl.Expression, want string) (any, bool) {
	if v.Type() == cty.Number {
		n, ok := bs.decodeScalar(a, v, expr.Range())
		return []any{n}, ok
	}
	return bs.decodeList(a, v, expr, want)
}

func (bs *bodies) noElement(a plans.Attr, expr hcl.Expression) (any, bool) {
	bs.Fail(expr.Range(), "empty-value", "Empty "+a.Name, "The list is empty. %s", a.Doc)
	return nil, false
}

// decodeList reads a list whose elements are scalars.
func (bs *bodies) decodeList(a plans.Attr, v cty.Value, expr hcl.Expression, want string) (any, bool) {
	elems, ok := eval.Elements(expr, v)
	if !ok {
		bs.WrongType(expr.Range(), a.Name, want, v)
		return nil, false
	}
	if len(elems) == 0 && a.Required {
		return bs.noElement(a, expr)
	}
	list := make([]any, 0, len(elems))
	for _, e := range elems {
		decoded, fine := bs.decodeScalar(a, e.V, e.At)
		if ok = ok && fine; fine {
			list = append(list, decoded)
		}
	}
	return list, ok
}

// decodeBlock reads the body of a level or step by its declared schema.
func (bs *bodies) decodeBlock(b *hcl.Block, schema plans.Schema) *plans.Block {
	block := bs.decodeBody(b, b.Labels[0], schema)
	if len(b.Labels) > 1 {
		block.Name = b.Labels[1]
	}
	if schema.Finds != nil {
		block.Finds = schema.Finds(block)
	}
	return block
}

// decodeBody reads the body of a block of that kind.
func (bs *bodies) decodeBody(b *hcl.Block, kind string, schema plans.Schema) *plans.Block {
	f := bs.Fields(b, bs.schemaDoc(b.Type, kind, schema))
	block := &plans.Block{Kind: kind, Attrs: map[string]any{}, Range: lang.RangeOf(b.DefRange), Written: map[string]bool{}}
	for name := range f.Attrs {
		block.Written[name] = true
	}
	before := len(bs.Diags)
	// doubtful is set if an attribute is misspelled, or depends on something that has been
	// found wrong elsewhere.
	doubtful := false
	for _, a := range schema.Attrs {
		if a.Type == plans.Refs || a.Type == plans.Reference {
			f.ReadReferences(a.Name)
		}
		v, ok := f.Value(a.Name)
		if ok {
			if decoded, ok := bs.decodeAttr(a, v, f.Attrs[a.Name].Expr); ok {
				block.Attrs[a.Name] = decoded
			}
			continue
		}
		if !f.Lacks(a.Name) {
			doubtful, block.Written[a.Name] = true, true
		}
		if a.Required {
			f.Required(a.Name, lang.OrElse(a.Doc, string(a.Type)+"."))
		}
		if a.Default != nil {
			block.Attrs[a.Name] = plainDefault(a)
		}
	}
	block.Parts = bs.decodeParts(f, schema.Parts)
	if schema.Check == nil || doubtful || len(bs.Diags) > before {
		return block
	}
	for _, e := range schema.Check(block) {
		bs.Fail(f.At(e.Attr), e.Code, e.Summary, "%s", e.Detail)
	}
	return block
}

// schemaDoc describes the body of a block of that kind, made once.
func (bs *bodies) schemaDoc(block, kind string, schema plans.Schema) *lang.BlockDoc {
	return bs.made(block+" "+kind, func() *lang.BlockDoc {
		d := &lang.BlockDoc{Type: block, Attrs: slices.Clone(schema.Attrs)}
		for i, a := range d.Attrs {
			// Free text goes to a program; words to choose from do not.
			d.Attrs[i].Program = (a.Type == plans.String || a.Type == plans.Strings || a.Type == plans.Map) && len(a.OneOf) == 0
		}
		return d.WithParts(schema.Parts)
	})
}

// made is the description for a key, made once.
func (bs *bodies) made(key string, make func() *lang.BlockDoc) *lang.BlockDoc {
	if bs.docs[key] == nil {
		bs.docs[key] = make()
	}
	return bs.docs[key]
}

// plainDefault is a default in exactly the form that a plan's own value would have, since
// digests cover it: the package that declares it writes 3, "5m" or []string{"log"}.
func plainDefault(a plans.Attr) any {
	v := a.Default
	if d, ok := v.(time.Duration); ok {
		return d.String()
	}
	if text, ok := v.(string); ok && a.Type == plans.Duration {
		if d, err := time.ParseDuration(text); err == nil {
			return d.String()
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var plain any
	if json.Unmarshal(text, &plain) != nil {
		return v
	}
	return plain
}

// withParts is what d and parts accept together, made once.
func (bs *bodies) withParts(d *lang.BlockDoc, parts map[string]plans.Part) *lang.BlockDoc {
	return bs.made("with parts "+d.Type, func() *lang.BlockDoc { return d.WithParts(parts) })
}

// decodeParts reads the declared blocks in f, by kind, in the order of the plan.
func (bs *bodies) decodeParts(f *eval.Body, parts map[string]plans.Part) map[string][]*plans.Block {
	var out map[string][]*plans.Block
	lines := map[string]int{}
	for _, b := range f.Blocks {
		part, ok := parts[b.Type]
		if !ok {
			continue
		}
		what, name := b.Type, ""
		if part.Label != "" {
			name = b.Labels[0]
			what = fmt.Sprintf("%s %q", b.Type, name)
			bs.CheckName(b, 0, lang.InRules)
		}
		if line := lines[what]; line > 0 {
			bs.Fail(b.DefRange, "duplicate-name", "Duplicate "+b.Type+" block", "Only one %s is allowed here; the first is on line %d. Merge or rename them.", what, line)
			continue
		}
		lines[what] = b.DefRange.Start.Line
		block := bs.decodeBody(b, b.Type, part.Schema)
		block.Name = name
		if out == nil {
			out = map[string][]*plans.Block{}
		}
		out[b.Type] = append(out[b.Type], block)
	}
	return out
}
