package load

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var phaseDoc = &lang.BlockDoc{
	Type: "phase", Times: plans.AnyTimes, Repeats: true,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in references: `phase.<name>`."}},
	Doc:    "A set of steps and feature ports with one gate. It has at least one step, feature or gate.",
	Attrs: []plans.Attr{
		{Name: "summary", Type: plans.String, Doc: "What it is for, in one sentence."},
		{Name: "after", Type: plans.Refs, Ref: "phase", Doc: "Phases whose gate must pass, or be waived, first."},
		{Name: "after_decided", Type: plans.Refs, Ref: "phase", Doc: "Phases whose gate must only be decided: pass, fail or inconclusive."},
	},
	Blocks: []*lang.BlockDoc{stepDoc, featureDoc, gateDoc},
	Example: `phase "cutlass" {
  summary = "CUTLASS kernels for MXFP4"

  step "exec" "clean" {
    command = ["git", "diff", "--quiet"]
  }
  feature "gemm" {
    set = { moe_kernel = "gemm" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.10"
    }
  }
  gate {
    rule "decode did not regress" {
      expr = "chat.tg.gain >= -0.03"
    }
  }
}`,
}

var stepDoc = &lang.BlockDoc{
	Type: "step", Times: plans.AnyTimes,
	Labels: []lang.Label{{Name: "kind", Doc: "What is done."}, {Name: "name", Doc: "Its name in reports. Unique among the steps of its kind in the phase."}},
	Doc:    "Work before the features of the phase, in the order written.",
}

func (l *loader) decodePhase(pb *phaseBlock) {
	b, before := pb.block, len(l.Diags)
	f := l.Fields(l.expanded(b), phaseDoc)
	readable := len(l.Diags) == before
	ph := &plans.Phase{Name: b.Labels[0], Summary: f.Text("summary"), Range: lang.RangeOf(b.DefRange)}
	ph.After = l.decodeAfter(ph, pb, f, "after", nil)
	ph.AfterDecided = l.decodeAfter(ph, pb, f, "after_decided", ph.After)
	ph.Steps = l.decodeSteps(f.Blocks.OfType("step"))
	if len(f.Blocks.OfType("feature")) > pb.written {
		l.Fail(b.DefRange, "repetition", "Feature in dynamic", "Others may refer to a feature before it is known what dynamic makes. Repeat the feature itself: feature \"name\" { for_each = … }.")
	}
	for _, i := range pb.features {
		l.Within(i, func() {
			if ft := l.decodeFeature(i, ph); l.First(i.Block) {
				ph.Features = append(ph.Features, ft)
			}
		})
	}
	if g := f.Single("gate"); g != nil {
		ph.Gate = decodeGate(l.Scope, g)
	}
	if len(f.Blocks) == 0 && readable {
		l.Fail(b.DefRange, "empty-phase", "Empty phase", "A phase with neither step, feature nor gate does nothing and decides nothing. Add one of them, or remove the phase.")
	}
	if l.First(b) {
		l.plan.Phases = append(l.plan.Phases, ph)
	}
}

// decodeAfter reads the phases that come before this one.
func (l *loader) decodeAfter(ph *plans.Phase, pb *phaseBlock, f *eval.Body, attr string, already []string) (list []string) {
	for _, r := range f.Refs(attr, "phase") {
		switch {
		case r.Key == ph.Name:
			l.Fail(r.At, "cycle", "Phase after itself", "Phase %q cannot come after itself. Remove it from %s.", ph.Name, attr)
			continue
		case slices.Contains(already, r.Key):
			l.Fail(r.At, "duplicate-entry", "Duplicate reference", "%s is already in after, which is stricter. Remove one.", r)
			continue
		}
		list = append(list, r.Key)
		if l.First(pb.block) {
			l.edge(ph.Name, r.Key, attr, r.At)
		}
	}
	return list
}

func (l *loader) decodeSteps(blocks hcl.Blocks) (steps []*plans.Block) {
	lines := map[string]map[string]int{} // by kind
	for _, b := range blocks {
		kind := b.Labels[0]
		l.CheckName(b, 1, 0)
		schema, known := l.reg.Steps[kind]
		if !known {
			l.Fail(b.LabelRanges[0], "unknown-kind", "Unknown step kind", "There is no step kind %q.%s", kind, l.DidYouMean(kind, lang.KeysOf(l.reg.Steps)))
			continue
		}
		if lines[kind] == nil {
			lines[kind] = map[string]int{}
		}
		if step := l.decodeBlock(b, schema); !l.Twice(lines[kind], b, 1) {
			steps = append(steps, step)
		}
	}
	return steps
}

var gateDoc = &lang.BlockDoc{
	Type: "gate", Times: plans.AtMost1,
	Doc:    "The exit rule of a phase, which unlocks the phases after it. Its verdict is that of its worst rule. Without a gate, a phase passes when its steps and features pass.",
	Blocks: []*lang.BlockDoc{ruleDoc},
	Example: `gate {
  rule "kernel path proven" {
    expr = "levels.kernels == 'pass'"
  }
  rule "decode did not regress" {
    expr = "chat.tg.gain >= -0.03"
  }
}`,
}

var ruleDoc = &lang.BlockDoc{
	Type: "rule", Times: plans.AtLeast1,
	Labels: []lang.Label{{Name: "name", Doc: "What must hold, as a word or a one-line phrase."}},
	Doc:    "One condition of the gate. Each comparison is decided on its own, and `and`, `or` and `not` join the results. docs/statistics.md lists the allowed forms, the test for each, and what is refused.",
	Attrs:  ruleAttrs("Bare addresses belong to the phase's feature, if it has exactly one."),
	Example: `rule "decode did not regress" {
  expr = "chat.tg.gain >= -0.03"
}`,
}

// MaxRuleName is the longest name of a criterion or rule, which is a phrase.
const MaxRuleName = 200

func decodeGate(s *eval.Scope, b *hcl.Block) *plans.Gate {
	g := &plans.Gate{Range: lang.RangeOf(b.DefRange)}
	lines := map[string]int{}
	f := s.Fields(b, gateDoc)
	for _, rb := range f.Blocks {
		rule := decodeRule(rb, s.Fields(rb, ruleDoc))
		if !s.Twice(lines, rb, 0) {
			g.Rules = append(g.Rules, rule)
		}
	}
	if len(f.Blocks) == 0 {
		s.Fail(b.DefRange, "gate-without-rules", "Gate without rules", `A gate without rules would always open. Add: rule "what must hold" { expr = "…" }.`)
	}
	return g
}

// ruleAttrs are those of a criterion and of a gate's rule: one text, by either name.
func ruleAttrs(bare string) []plans.Attr {
	return []plans.Attr{
		{Name: "rule", Type: plans.RuleText, Doc: "A comparison of measured values, such as `chat.tg.gain >= 10%`; required, by this name or as `expr`. " + bare},
		{Name: "expr", Type: plans.RuleText, Doc: "Another name of `rule`."},
	}
}

// decodeRule reads the text of a rule or criterion. It is compiled later, when the whole
// plan is known.
func decodeRule(b *hcl.Block, f *eval.Body) *plans.Rule {
	attr := "rule"
	if f.Attrs["expr"] != nil {
		attr = "expr"
		if f.Attrs["rule"] != nil {
			f.Scope.Fail(f.At("expr"), "workload-contradiction", "Conflicting arguments", "rule and expr are two names of one argument. Remove one.")
		}
	}
	// No rule reads another, so names need not be identifiers.
	if name := b.Labels[0]; strings.TrimSpace(name) != name || name == "" || len(name) > MaxRuleName || strings.ContainsAny(name, "\n\r") {
		f.Scope.Fail(b.LabelRanges[0], "invalid-name", "Invalid rule name", "The name of a %s is a word or a one-line phrase of up to %d characters, without surrounding spaces.", b.Type, MaxRuleName)
	}
	r := &plans.Rule{Name: b.Labels[0], Range: lang.RangeOf(b.DefRange), ExprRange: lang.RangeOf(f.At(attr))}
	if a := f.Attrs[attr]; a != nil && bare(f.Scope, a.Expr) {
		f.Scope.Fail(a.Expr.Range(), "rule-unquoted", "Rule is not in quotes", `A rule is text in a language of its own. Put it in quotes: %s = "…".`, attr)
		return r
	}
	r.Expr = f.NeedText(attr, `a comparison in quotes, such as "chat.tg.gain >= 0.1".`)
	if strings.TrimSpace(r.Expr) == "" {
		r.Expr = ""
	}
	return r
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
