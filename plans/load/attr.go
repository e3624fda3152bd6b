package load

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

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
		doc.Attrs[i].Program = (a.Type == plans.String || a.Type == plans.Strings || a.Type == plans.Map) &&
			len(a.OneOf) == 0
	}
	f := l.Fields(b, doc.WithParts(schema.Parts))
	block := &plans.Block{
		Kind: kind, Attrs: map[string]any{}, Range: lang.RangeOf(b.DefRange),
		Written: map[string]bool{},
	}
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
			decoded, ok := l.Decode(a, v, f.Attrs[a.Name].Expr)
			if text, isText := decoded.(string); ok && a.Note && isText {
				block.Notes = map[string]string{a.Name: text}
			} else if ok {
				block.Attrs[a.Name] = decoded
			}
			continue
		}
		if !f.Lacks(a.Name) {
			doubtful, block.Written[a.Name] = true, true
		}
		if a.Required {
			f.Required(a.Name, l.Needs(a))
		}
		if a.Default != nil {
			// In the form that a plan's own value would have, since digests cover it.
			text, _ := json.Marshal(a.Default)
			var plain any
			if _ = json.Unmarshal(text, &plain); a.Type == plans.Duration {
				d, _ := time.ParseDuration(fmt.Sprint(a.Default))
				plain = d.String()
			}
			block.Attrs[a.Name] = plain
		}
	}
	f.Together(schema.Attrs)
	block.Parts = l.decodeParts(f, schema.Parts)
	if schema.Check == nil || doubtful || len(l.Diags) > before {
		return block
	}
	for _, e := range schema.Check(block) {
		l.Fail(f.At(e.Attr), e.Code, e.Summary, "%s", e.Detail)
	}
	return block
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
			l.Fail(b.DefRange, "duplicate-name", "Duplicate "+b.Type+" block",
				"Only one %s is allowed here; the first is on line %d. Merge or rename them.", what, line)
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
