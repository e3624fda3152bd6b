package load

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var reportDoc = block(plans.Report{}, lang.BlockDoc{
	Type: "report", Times: plans.AtMost1,
	Doc: "What tables of results show. They are in the terminal, in Markdown, on the page and in committed files. " +
		"Without it, the metrics " +
		"that rules, hypotheses and targets read, in that order; a comparison adds decode, prefill, TTFT, startup " +
		"and memory. It is " +
		"not part of any digest: another column needs no other launch and no other decision.",
	Blocks: []*lang.BlockDoc{tableDoc},
})

var tableDoc = block(plans.Table{}, lang.BlockDoc{
	Type: "table", Times: plans.AnyTimes,
	Doc: "One of several tables with the same rows, such as throughput, power and quality.",
})

func (l *loader) decodeReport(blocks hcl.Blocks) {
	b := l.Single(blocks)
	if b == nil {
		return
	}
	f := l.Read(l.expanded(b), reportDoc, &plans.Report{})
	tables := f.Blocks.OfType("table")
	if !f.Absent("columns") {
		l.plan.Tables = append(l.plan.Tables, &plans.Table{Columns: decodeColumns(f)})
	}
	lines := map[string]int{}
	for _, b := range tables {
		t := &plans.Table{}
		tf := l.Read(b, tableDoc, t)
		tf.Required("columns", tableDoc.Attrs[0].Needs)
		t.Columns = decodeColumns(tf)
		if strings.TrimSpace(t.Name) == "" || len(t.Name) > maxRuleName || strings.ContainsAny(t.Name, "\n\r") {
			l.Fail(b.LabelRanges[0], "invalid-name", "Invalid title",
				"A table's title is a word or a one-line phrase of up to %d characters.", maxRuleName)
		}
		if !l.Duplicate(lines, b, 0) {
			l.plan.Tables = append(l.plan.Tables, t)
		}
	}
}

// decodeColumns reads a list of addresses, with or without a heading.
func decodeColumns(f *eval.Body) (columns []*plans.Column) {
	v, ok := f.Value("columns")
	if !ok {
		return nil
	}
	elements, isList := eval.Elements(f.Attrs["columns"].Expr, v)
	if !isList || len(elements) == 0 {
		f.WrongType("columns", `a list of addresses, such as ["chat.tg32", "chat.ttft.p50"]`, v)
		return nil
	}
	text := func(e eval.Element, what string) string {
		text, _ := f.Scope.AsText(e.V, e.At, what)
		return strings.TrimSpace(text)
	}
	for _, e := range elements {
		c, before := &plans.Column{Range: lang.RangeOf(e.At)}, len(f.Scope.Diags)
		if pairs, isMap := f.Scope.Pairs(hcl.StaticExpr(e.V, e.At), e.V); isMap {
			for _, p := range pairs {
				part := eval.Element{V: p.V, At: e.At}
				switch p.Key {
				case "column":
					c.Path = text(part, "The column")
				case "heading":
					c.Heading = text(part, "The heading")
				default:
					f.Scope.Fail(e.At, "unknown-attribute", "Unknown part of a column",
						"A column has an address and a heading, and no %q: write { column = \"chat.ttft.p50\", "+
							"heading = \"TTFT\" }.", p.Key)
				}
			}
		} else {
			c.Path = text(e, "A column")
		}
		if c.Path == "" && len(f.Scope.Diags) == before {
			f.Scope.Fail(e.At, "empty-value", "Column without an address",
				`Write what a rule would read, such as "chat.tg32" or { column = "chat.ttft.p50", heading = "TTFT" }.`)
		}
		if c.Path == "" {
			continue
		}
		columns = append(columns, c)
	}
	return columns
}
