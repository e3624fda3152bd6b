package load

import (
	"encoding/json"
	"fmt"
	"math"
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
	// schemas are those in HCL's terms, each made once.
	schemas map[string]*hcl.BodySchema
}

// decodeAttr reads one declared attribute as plain data. When it reports false
// the mistake has been reported.
func (bs *bodies) decodeAttr(a plans.Attr, v cty.Value, expr hcl.Expression) (any, bool) {
	at := expr.Range()
	switch a.Type {
	case plans.String, plans.Bool, plans.Number, plans.Int, plans.Duration:
		return bs.decodeScalar(a, v, at)
	case plans.Ints:
		if v.Type() == cty.Number {
			n, ok := bs.decodeScalar(withType(a, plans.Int), v, at)
			return []any{n}, ok
		}
		return bs.decodeList(withType(a, plans.Int), v, expr, "an integer, or a list of integers")
	case plans.Numbers:
		if v.Type() == cty.Number {
			n, ok := bs.decodeScalar(withType(a, plans.Number), v, at)
			return []any{n}, ok
		}
		return bs.decodeList(withType(a, plans.Number), v, expr, "a number, or a list of numbers")
	case plans.Strings:
		return bs.decodeList(withType(a, plans.String), v, expr, `a list, such as ["one", "two"]`)
	case plans.Refs:
		return bs.decodeList(a, v, expr, fmt.Sprintf("a list of references, such as [%s.name]", a.Ref))
	case plans.Reference:
		r, ok := bs.AsRef(v, at, a.Name, a.Ref)
		return r.Key, ok
	case plans.Map:
		pairs, ok := bs.Pairs(expr, v)
		if !ok {
			bs.mismatch(a, at, `a map, such as { name = "value" }`, v)
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

func (bs *bodies) mismatch(a plans.Attr, at hcl.Range, want string, v cty.Value) {
	bs.Fail(at, "wrong-type", "Wrong type for "+a.Name, "%s takes %s; this is %s.", a.Name, want, lang.Describe(v))
}

func (bs *bodies) decodeScalar(a plans.Attr, v cty.Value, at hcl.Range) (any, bool) {
	want := map[plans.AttrType]cty.Type{plans.String: cty.String, plans.Bool: cty.Bool, plans.Number: cty.Number, plans.Int: cty.Number, plans.Duration: cty.String}[a.Type]
	words := map[plans.AttrType]string{
		plans.String: "text in quotes", plans.Bool: "true or false", plans.Number: "a number", plans.Int: "a whole number",
		plans.Duration: `a duration in quotes, such as "30s" or "15m"`,
	}[a.Type]
	if s, ok := bs.Unwrapped(v, at); ok && want == cty.String {
		v = cty.StringVal(s)
	}
	if v.IsNull() || v.Type() != want {
		bs.mismatch(a, at, words, v)
		return nil, false
	}
	switch a.Type {
	case plans.Duration:
		d, ok := bs.AsDuration(v, at, a.Name)
		return d.String(), ok
	case plans.String:
		s := v.AsString()
		if len(a.OneOf) > 0 && !slices.Contains(a.OneOf, s) {
			bs.Fail(at, "invalid-value", "Invalid "+a.Name, "%s is one of %s; this is %q.%s", a.Name, plans.OrList(a.OneOf), s, bs.DidYouMean(s, a.OneOf))
			return nil, false
		}
		return s, true
	case plans.Bool:
		return v.True(), true
	}
	n, _ := v.AsBigFloat().Float64()
	switch {
	case a.Type == plans.Int && (n != math.Trunc(n) || math.Abs(n) > 1<<53):
		bs.Fail(at, "invalid-value", "Invalid "+a.Name, "%s is a whole number; this is %v.", a.Name, n)
		return nil, false
	case a.MinSet && n < a.Min:
		bs.Fail(at, "invalid-value", "Invalid "+a.Name, "%s is at least %v; this is %v.", a.Name, a.Min, n)
		return nil, false
	case a.Max != 0 && n > a.Max:
		bs.Fail(at, "invalid-value", "Invalid "+a.Name, "%s is at most %v; this is %v.", a.Name, a.Max, n)
		return nil, false
	}
	return n, true
}

// decodeList reads a list whose elements are scalars or references.
func (bs *bodies) decodeList(a plans.Attr, v cty.Value, expr hcl.Expression, want string) (any, bool) {
	elems, ok := eval.Elements(expr, v)
	if a.Type == plans.Refs {
		elems, ok = eval.References(expr, v)
	}
	if !ok {
		bs.mismatch(a, expr.Range(), want, v)
		return nil, false
	}
	if len(elems) == 0 && a.Required {
		bs.Fail(expr.Range(), "empty-value", "Empty "+a.Name, "The list is empty. %s", a.Doc)
		return nil, false
	}
	list := make([]any, 0, len(elems))
	seen := map[any]bool{}
	for _, e := range elems {
		var decoded any
		var fine bool
		if a.Type == plans.Refs {
			var r eval.Ref
			r, fine = bs.AsRef(e.V, e.At, a.Name, a.Ref)
			decoded = r.Key
		} else {
			decoded, fine = bs.decodeScalar(a, e.V, e.At)
		}
		ok = ok && fine
		if !fine {
			continue
		}
		if a.Type == plans.Refs && seen[decoded] {
			bs.Fail(e.At, "duplicate-entry", "Duplicate reference", "%s.%s is in %s already. Remove one.", a.Ref, decoded, a.Name)
			ok = false
			continue
		}
		seen[decoded] = true
		list = append(list, decoded)
	}
	return list, ok
}

// decodeBlock reads the body of a level or step by its declared schema.
func (bs *bodies) decodeBlock(b *hcl.Block, schema plans.Schema, what string) *plans.Block {
	block := bs.decodeBody(b, b.Labels[0], schema, what)
	if len(b.Labels) > 1 {
		block.Name = b.Labels[1]
	}
	return block
}

// decodeBody reads the body of a block of that kind.
func (bs *bodies) decodeBody(b *hcl.Block, kind string, schema plans.Schema, what string) *plans.Block {
	f := bs.Fields(b, bs.bodySchema(b.Type, kind, schema), what)
	block := &plans.Block{Kind: kind, Attrs: map[string]any{}, Range: lang.RangeOf(b.DefRange), Written: map[string]bool{}}
	for name := range f.Attrs {
		block.Written[name] = true
	}
	before := len(bs.Diags)
	// doubtful is set where an attribute depends on something that has been
	// found wrong elsewhere.
	doubtful := false
	f.Secret = map[string]bool{}
	for _, a := range schema.Attrs {
		// What is written freely goes to a program; words to choose from do not.
		f.Secret[a.Name] = (a.Type == plans.String || a.Type == plans.Strings || a.Type == plans.Map) && len(a.OneOf) == 0
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
		doubtful = doubtful || !f.Absent(a.Name)
		if a.Required {
			f.Required(a.Name, lang.OrElse(a.Doc, string(a.Type)+"."))
		}
		if a.Default != nil {
			block.Attrs[a.Name] = plainDefault(a)
		}
	}
	if schema.Check == nil || doubtful || len(bs.Diags) > before {
		return block
	}
	for _, e := range schema.Check(block) {
		bs.Fail(f.At(e.Attr), e.Code, e.Summary, "%s", e.Detail)
	}
	return block
}

// bodySchema is a declared schema in HCL's terms, made once for each kind.
func (bs *bodies) bodySchema(block, kind string, schema plans.Schema) *hcl.BodySchema {
	key := block + " " + kind
	if s := bs.schemas[key]; s != nil {
		return s
	}
	s := &hcl.BodySchema{}
	for _, a := range schema.Attrs {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	bs.schemas[key] = s
	return s
}

// plainDefault is a default in the form that a plan's own value would have,
// down to the letter, since digests are taken of it: the package that declares
// it writes 3, "5m" or []string{"log"}.
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

// partSchema is what d and parts accept together, in HCL's terms.
func (bs *bodies) partSchema(d *lang.BlockDoc, parts map[string]plans.Part) *hcl.BodySchema {
	key := "with parts " + d.Type
	if bs.schemas[key] == nil {
		bs.schemas[key] = d.WithParts(parts).Schema()
	}
	return bs.schemas[key]
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
		what := b.Type
		if part.Label != "" {
			what = fmt.Sprintf("%s %q", b.Type, b.Labels[0])
			bs.CheckName(b, 0, lang.InRules)
		}
		if line := lines[what]; line > 0 {
			bs.Fail(b.DefRange, "duplicate-name", "Duplicate "+b.Type+" block", "There can be one %s here; the first is on line %d. Merge or rename them.", what, line)
			continue
		}
		lines[what] = b.DefRange.Start.Line
		if out == nil {
			out = map[string][]*plans.Block{}
		}
		out[b.Type] = append(out[b.Type], bs.decodePart(b, part, what))
	}
	return out
}

func (bs *bodies) decodePart(b *hcl.Block, part plans.Part, what string) *plans.Block {
	block := bs.decodeBody(b, b.Type, part.Schema, what)
	if part.Label != "" {
		block.Name = b.Labels[0]
	}
	return block
}
