package steps

import (
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// RulesFrom says where the rules of a replay came from.
type RulesFrom string

const (
	// RulesOfPlan: the recorded plan, whose digest agrees.
	RulesOfPlan RulesFrom = "the recorded plan"
	// RulesAsRecorded: the text of each rule as the decision recorded it, compiled
	// in the recorded plan. Its digest does not agree, because it was given what its
	// run does not record.
	RulesAsRecorded RulesFrom = "the decision's own text"
	// RulesGone: the plan cannot be compiled any more, so that only the tests that
	// the decision recorded are computed again.
	RulesGone RulesFrom = "recorded tests only"
)

// replayRules are the rules of a decision, recorded and compiled beside each
// other.
type replayRules struct {
	from   RulesFrom
	why    verdict.Reason
	parts  []rulePart
	notes  []verdict.Reason
	differ []ReplayDifference
}

// rulePart is what was decided as one: all rules of a gate or a feature, or of one
// alternative among which a feature chose.
type rulePart struct {
	// alternative is nil where the decision chose nothing.
	alternative *ledger.Alternative
	evidence    *gates.Evidence
	recorded    []verdict.Rule
	rules       []*plans.Rule
}

// rulesOf compiles the rules of a decision.
func (r *Replay) rulesOf(d store.Decided, ev *gates.Evidence) replayRules {
	plan := r.planOf(d.Run)
	if plan.res == nil {
		return replayRules{from: RulesGone, why: plan.why}
	}
	out := replayRules{from: RulesOfPlan}
	if !plan.exact {
		out.from = RulesAsRecorded
		out.notes = append(out.notes, verdict.New(code.PlanInexact, plan.lacking()...))
	}
	out.parts = []rulePart{{evidence: ev, recorded: d.Rules}}
	if len(d.Alternatives) > 0 {
		out.parts = nil
		for i := range d.Alternatives {
			alt := &d.Alternatives[i]
			// Its rules read it by the name of the feature that it may become.
			own := &gates.Evidence{Features: map[string]*gates.Feature{d.Feature: ev.Features[alt.Name]}}
			out.parts = append(out.parts, rulePart{alternative: alt, evidence: own, recorded: alt.Rules})
		}
	}
	for i := range out.parts {
		part := &out.parts[i]
		candidate := runtime.CandidateOf(d.Node)
		if part.alternative != nil {
			candidate = part.alternative.Name
		}
		for _, rec := range part.recorded {
			rule, why := plan.rule(d.Decision, rec, candidate)
			if rule == nil {
				return replayRules{from: RulesGone, why: why}
			}
			if rule.Expr != rec.Expr {
				out.differ = append(out.differ, ReplayDifference{rec.Name, "rule", rec.Expr, rule.Expr})
			}
			part.rules = append(part.rules, rule)
		}
	}
	return out
}

// rule is a rule of the plan: as the plan has it where that is the recorded one,
// else compiled from the recorded text.
func (p *recordedPlan) rule(d *ledger.Decision, rec verdict.Rule, candidate string) (*plans.Rule, verdict.Reason) {
	if p.exact {
		if rule := ruleNamed(p.res.Plan, d, rec.Name, candidate); rule != nil {
			return rule, verdict.Reason{}
		}
	}
	feature := d.Feature
	if runtime.Kind(d.Kind) == runtime.KindGate {
		if ph := p.res.Plan.Phase(d.Phase); ph != nil && len(ph.Features) == 1 {
			feature = ph.Features[0].Name
		}
	}
	key := [2]string{feature, rec.Expr}
	if rule := p.rules[key]; rule != nil {
		named := *rule
		named.Name = rec.Name
		return &named, verdict.Reason{}
	}
	rule, _, diags := p.res.CompileRule(rec.Expr, feature)
	if diags.HasErrors() || rule.Program == nil {
		return nil, verdict.New(code.RuleUncompiled, firstError(diags)).On(rec.Name)
	}
	p.rules[key] = rule
	named := *rule
	named.Name = rec.Name
	return &named, verdict.Reason{}
}

// ruleNamed is a rule of the plan by its name; nil where the plan has none.
func ruleNamed(p *plans.Plan, d *ledger.Decision, name, candidate string) *plans.Rule {
	var rules []*plans.Rule
	if ph := p.Phase(d.Phase); runtime.Kind(d.Kind) == runtime.KindGate {
		if ph != nil && ph.Gate != nil {
			rules = ph.Gate.Rules
		}
		candidate = ""
	}
	if f := candidateNamed(p, candidate); f != nil {
		rules = f.Criteria
	}
	for _, r := range rules {
		if r.Name == name {
			return r
		}
	}
	return nil
}
