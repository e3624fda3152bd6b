package load

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var phaseDoc = block(plans.Phase{}, lang.BlockDoc{
	Type: "phase", Times: plans.AnyTimes, Repeats: true,
	Doc:    "A set of steps and feature ports with one gate. It has at least one step, feature or gate.",
	Blocks: []*lang.BlockDoc{stepDoc, featureDoc, gateDoc},
})

var stepDoc = &lang.BlockDoc{
	Type: "step", Times: plans.AnyTimes,
	Labels: []lang.Label{
		{Name: "kind", Doc: "The kind of work."},
		{Name: "name", Doc: "Its name in reports. Unique among the steps of its kind in the phase."},
	},
	Doc: "Work before the features of the phase, in the order written.",
}

func (l *loader) decodePhase(pb *phaseBlock) {
	b, before := pb.block, len(l.Diags)
	f := l.Fields(l.expanded(b), phaseDoc)
	readable := len(l.Diags) == before
	ph := &plans.Phase{Name: b.Labels[0], Summary: f.Text("summary"), Range: lang.RangeOf(b.DefRange)}
	ph.After = l.decodeAfter(ph, pb, f, "after", nil)
	ph.AfterDecided = l.decodeAfter(ph, pb, f, "after_decided", ph.After)
	lines := map[string]int{}
	for _, b := range f.Blocks.OfType("step") {
		kind := b.Labels[0]
		l.CheckName(b, 1, 0)
		schema, known := l.reg.Steps[kind]
		if !known {
			l.Fail(b.LabelRanges[0], "unknown-kind", "Unknown step kind", "There is no step kind %q.%s", kind,
				l.DidYouMean(kind, lang.KeysOf(l.reg.Steps)))
			continue
		}
		step, key := l.decodeBlock(b, schema), kind+"."+b.Labels[1]
		if line := lines[key]; line > 0 {
			l.Fail(b.LabelRanges[1], "duplicate-name", "Duplicate step",
				"The step %q is already declared on line %d. Rename or remove one.", step.Name, line)
			continue
		}
		lines[key] = b.DefRange.Start.Line
		ph.Steps = append(ph.Steps, step)
	}
	if len(f.Blocks.OfType("feature")) > pb.written {
		l.Fail(b.DefRange, "repetition", "Feature in dynamic",
			"A feature can be referred to before dynamic blocks are expanded. Repeat the feature itself: ‹feature "+
				"\"name\" { for_each = … }›.")
	}
	for _, i := range pb.features {
		l.Within(i, func() {
			if ft := l.decodeFeature(i, ph); l.First(i.Block) {
				ph.Features = append(ph.Features, ft)
			}
		})
	}
	if g := f.Single("gate"); g != nil {
		ph.Gate = &plans.Gate{}
		gf := l.Read(g, gateDoc, ph.Gate)
		if ph.Gate.Rules = decodeRules(gf.Blocks, l.Scope, ruleDoc); len(gf.Blocks) == 0 {
			l.Fail(g.DefRange, "gate-without-rules", "Gate without rules",
				`A gate without rules would always open. Add: ‹rule "what must hold" { rule = "…" }›.`)
		}
	}
	if len(f.Blocks) == 0 && readable {
		l.Fail(b.DefRange, "empty-phase", "Empty phase",
			"A phase with neither step, feature nor gate does nothing and decides nothing. Add one of them, or "+
				"remove the phase.")
	}
	add(l, b, &l.plan.Phases, ph)
}

// decodeAfter reads the phases that come before this one.
func (l *loader) decodeAfter(ph *plans.Phase, pb *phaseBlock, f *eval.Body, attr string,
	already []string,
) (list []string) {
	for _, r := range f.Refs(attr, "phase") {
		switch {
		case r.Key == ph.Name:
			l.Fail(r.At, "cycle", "Phase after itself", "Phase %q cannot come after itself. Remove it from %s.",
				ph.Name, attr)
			continue
		case slices.Contains(already, r.Key):
			l.Fail(r.At, "duplicate-entry", "Duplicate reference",
				"%s is already in after, which is stricter. Remove one.", r)
			continue
		}
		list = append(list, r.Key)
		if l.First(pb.block) {
			l.edges = append(l.edges, phaseEdge{ph.Name, r.Key, attr, r.At})
		}
	}
	return list
}

var gateDoc = block(plans.Gate{}, lang.BlockDoc{
	Type: "gate", Times: plans.AtMost1,
	Doc: "The exit rule of a phase, which unlocks those after it. Its verdict is that of its worst rule. Without " +
		"a gate, a phase passes when its steps and features pass.",
	Blocks: []*lang.BlockDoc{ruleDoc},
})

var ruleDoc = block(plans.Rule{}, lang.BlockDoc{
	Type: "rule", Times: plans.AtLeast1,
	Doc: "One condition of the gate. Each comparison is decided on its own, and `and`, `or` and `not` join the " +
		"results. docs/rules.md lists the forms that are allowed and refused, and docs/statistics.md the test for " +
		"each.",
})

// maxRuleName is the longest name of a criterion or rule, which is a phrase.
const maxRuleName = 200

// decodeRules reads criteria, or the rules of a gate. They are compiled later, when the
// whole plan is known.
func decodeRules(blocks hcl.Blocks, s *eval.Scope, doc *lang.BlockDoc) (list []*plans.Rule) {
	lines := map[string]int{}
	for _, b := range blocks {
		f := s.Fields(b, doc)
		r := &plans.Rule{Name: b.Labels[0], Range: lang.RangeOf(b.DefRange), ExprRange: lang.RangeOf(f.At("rule"))}
		// No rule reads another, so names need not be identifiers.
		if strings.TrimSpace(r.Name) != r.Name || r.Name == "" || len(r.Name) > maxRuleName ||
			strings.ContainsAny(r.Name, "\n\r") {
			s.Fail(b.LabelRanges[0], "invalid-name", "Invalid rule name",
				"The name of a %s is a word or a one-line phrase of up to %d characters, without surrounding spaces.",
				b.Type, maxRuleName)
		}
		if a := f.Attrs["rule"]; a != nil && bare(s, a.Expr) {
			s.Fail(a.Expr.Range(), "rule-unquoted", "Rule is not in quotes",
				`A rule is text in a language of its own. Put it in quotes: ‹rule = "…"›.`)
		} else if r.Expr = f.NeedText("rule", s.Needs(*doc.Attr("rule"))); strings.TrimSpace(r.Expr) == "" {
			r.Expr = ""
		}
		if !s.Duplicate(lines, b, 0) {
			list = append(list, r)
		}
	}
	return list
}

// bare reports whether a rule was written without quotes: its words are then read as
// names of the plan language, which does not have them.
func bare(l *eval.Scope, expr hcl.Expression) bool {
	if text := l.TextAt(expr.Range()); len(text) > 0 && (text[0] == '"' || text[0] == '<') {
		return false
	}
	for _, t := range expr.Variables() {
		root := t.RootName()
		_, known := l.Ctx.Variables[root]
		if !known && root != "each" || root == "engine" || root == "feature" || root == "target" || root == "imported" {
			return true
		}
	}
	return false
}
