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

// decodeAttr reads one declared attribute as plain data. If it returns false, the mistake
// has been reported.
func (l *loader) decodeAttr(a plans.Attr, v cty.Value, expr hcl.Expression) (any, bool) {
	at := expr.Range()
	switch a.Type {
	case plans.String, plans.Bool, plans.Number, plans.Int, plans.Duration:
		return l.decodeScalar(a, v, at)
	case plans.Ints:
		return l.decodeNumbers(withType(a, plans.Int), v, expr, "an integer, or a list of integers")
	case plans.Numbers:
		return l.decodeNumbers(withType(a, plans.Number), v, expr, "a number, or a list of numbers")
	case plans.Strings:
		return l.decodeList(withType(a, plans.String), v, expr, `a list, such as ["one", "two"]`)
	case plans.Refs:
		refs, ok := l.AsRefs(v, expr, a.Name, a.Ref)
		if ok && len(refs) == 0 && a.Required {
			return l.noElement(a, expr)
		}
		list := make([]any, len(refs))
		for i, r := range refs {
			list[i] = r.Key
		}
		return list, ok
	case plans.Reference:
		r, ok := l.AsRef(v, at, a.Name, a.Ref)
		return r.Key, ok
	case plans.Map:
		pairs, ok := l.Pairs(expr, v)
		if !ok {
			l.WrongType(at, a.Name, `a map, such as { name = "value" }`, v)
			return nil, false
		}
		m := map[string]any{}
		for _, p := range pairs {
			s, fine := l.AsText(p.V, p.At, fmt.Sprintf("%s in %s", p.Key, a.Name))
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

func (l *loader) decodeScalar(a plans.Attr, v cty.Value, at hcl.Range) (any, bool) {
	value, ok := l.Scalar(a, v, at)
	if d, is := value.(time.Duration); is {
		return d.String(), ok
	}
	return value, ok
}

// decodeNumbers reads one number, which is a list of one, or a list.
func (l *loader) decodeNumbers(a plans.Attr, v cty.Value, expr hcl.Expression, want string) (any, bool) {
	if v.Type() == cty.Number {
		n, ok := l.decodeScalar(a, v, expr.Range())
		return []any{n}, ok
	}
	return l.decodeList(a, v, expr, want)
}

func (l *loader) noElement(a plans.Attr, expr hcl.Expression) (any, bool) {
	l.Fail(expr.Range(), "empty-value", "Empty "+a.Name, "The list is empty. %s", a.Doc)
	return nil, false
}

// decodeList reads a list whose elements are scalars.
func (l *loader) decodeList(a plans.Attr, v cty.Value, expr hcl.Expression, want string) (any, bool) {
	elems, ok := eval.Elements(expr, v)
	if !ok {
		l.WrongType(expr.Range(), a.Name, want, v)
		return nil, false
	}
	if len(elems) == 0 && a.Required {
		return l.noElement(a, expr)
	}
	list := make([]any, 0, len(elems))
	for _, e := range elems {
		decoded, fine := l.decodeScalar(a, e.V, e.At)
		if ok = ok && fine; fine {
			list = append(list, decoded)
		}
	}
	return list, ok
}

// decodeBlock reads the body of a level or step by its declared schema.
func (l *loader) decodeBlock(b *hcl.Block, schema plans.Schema) *plans.Block {
	block := l.decodeBody(b, b.Labels[0], schema)
	if len(b.Labels) > 1 {
		block.Name = b.Labels[1]
	}
	if schema.Finds != nil {
		block.Finds = schema.Finds(block)
	}
	return block
}

// decodeBody reads the body of a block of that kind.
func (l *loader) decodeBody(b *hcl.Block, kind string, schema plans.Schema) *plans.Block {
	doc := &lang.BlockDoc{Type: b.Type, Attrs: slices.Clone(schema.Attrs)}
	for i, a := range doc.Attrs {
		// Free text goes to a program; words to choose from do not.
		doc.Attrs[i].Program = (a.Type == plans.String || a.Type == plans.Strings || a.Type == plans.Map) && len(a.OneOf) == 0
	}
	f := l.Fields(b, doc.WithParts(schema.Parts))
	block := &plans.Block{Kind: kind, Attrs: map[string]any{}, Range: lang.RangeOf(b.DefRange), Written: map[string]bool{}}
	for name := range f.Attrs {
		block.Written[name] = true
	}
	before := len(l.Diags)
	// doubtful is set if an attribute is misspelled, or depends on something that has been
	// found wrong elsewhere.
	doubtful := false
	for _, a := range schema.Attrs {
		if a.Type == plans.Refs || a.Type == plans.Reference {
			f.ReadReferences(a.Name)
		}
		v, ok := f.Value(a.Name)
		if ok {
			if decoded, ok := l.decodeAttr(a, v, f.Attrs[a.Name].Expr); ok {
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
	block.Parts = l.decodeParts(f, schema.Parts)
	if schema.Check == nil || doubtful || len(l.Diags) > before {
		return block
	}
	for _, e := range schema.Check(block) {
		l.Fail(f.At(e.Attr), e.Code, e.Summary, "%s", e.Detail)
	}
	return block
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

// decodeParts reads the declared blocks in f, by kind, in the order of the plan.
func (l *loader) decodeParts(f *eval.Body, parts map[string]plans.Part) map[string][]*plans.Block {
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
			l.CheckName(b, 0, lang.InRules)
		}
		if line := lines[what]; line > 0 {
			l.Fail(b.DefRange, "duplicate-name", "Duplicate "+b.Type+" block", "Only one %s is allowed here; the first is on line %d. Merge or rename them.", what, line)
			continue
		}
		lines[what] = b.DefRange.Start.Line
		block := l.decodeBody(b, b.Type, part.Schema)
		block.Name = name
		if out == nil {
			out = map[string][]*plans.Block{}
		}
		out[b.Type] = append(out[b.Type], block)
	}
	return out
}
