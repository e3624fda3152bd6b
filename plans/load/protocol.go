package load

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var protocolDoc = block(plans.Protocol{}, lang.BlockDoc{
	Type: "protocol", Times: plans.AnyTimes,
	Doc: "The test levels of a variant, in order. All but the benchmark run in one qualification launch that is " +
		"never measured. A level that does not pass stops the ones after it; they are invalid, with the root cause.",
	Blocks: []*lang.BlockDoc{levelDoc},
})

var levelDoc = &lang.BlockDoc{
	Type: "level", Times: plans.AtLeast1,
	Labels: []lang.Label{
		{Name: "kind", Doc: "The kind of test. A kind without a name can appear only once in a protocol."},
		{Name: "name", Doc: "Its name in rules and reports: `levels.<name>`."},
	},
	Doc: "One test level.",
}

func (l *loader) decodeProtocol(b *hcl.Block) {
	before := len(l.Diags)
	defer func() { l.protocolsInDoubt = l.protocolsInDoubt || len(l.Diags) > before }()
	p := &plans.Protocol{}
	f := l.Read(b, protocolDoc.With(l.reg), p)
	lines := map[string]int{}
	for _, lb := range f.Blocks {
		kind := lb.Labels[0]
		schema, known := l.reg.Levels[kind]
		if !known {
			l.Fail(lb.LabelRanges[0], "unknown-kind", "Unknown level", "There is no level %q.%s", kind,
				l.DidYouMean(kind, lang.KeysOf(l.reg.Levels)))
			continue
		}
		label := 0
		switch name := lb.Labels[1]; {
		case schema.Label == "" && name != "":
			l.Fail(lb.LabelRanges[1], "invalid-name", "Level without a name",
				"A protocol has only one level %q, and it has no name. Remove %q.", kind, name)
			continue
		case schema.Label != "" && name == "":
			l.Fail(lb.LabelRanges[0], "invalid-name", "Missing name",
				"A protocol can have several levels %q, so each has a name: ‹level %[1]q \"accuracy\" { … }›.", kind)
			continue
		case schema.Label != "":
			label = 1
			l.CheckName(lb, label, lang.InRules)
			if _, taken := l.reg.Levels[name]; taken {
				l.Fail(lb.LabelRanges[1], "invalid-name", "Reserved name",
					"%q is a kind of level. Choose another name for this one.", name)
			}
		}
		level := l.decodeBlock(lb, schema)
		if n := l.opts.Launches; n > 0 && kind == plans.BenchmarkLevel {
			level.Attrs["launches"], level.Written["launches"] = float64(n), true
		}
		switch {
		case l.Duplicate(lines, lb, label):
		case kind == plans.RegressionLevel:
			p.Regression = &plans.Regression{At: level.Range}
			if level.Decode(p.Regression) != nil {
				p.Regression = nil // reported
			}
		default:
			p.Levels = append(p.Levels, level)
		}
	}
	if len(f.Blocks) == 0 {
		l.Fail(b.DefRange, "protocol-without-levels", "Protocol without levels",
			`A protocol lists the tests for a variant, in order. Add at least one: ‹level "smoke" { … }›.`)
	}
	add(l, b, &l.plan.Protocols, p)
}
