package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// RuleCoverage says whether cases have shown a rule able to pass and to fail.
type RuleCoverage struct {
	// Feature is set for a criterion, Phase for a rule of a gate.
	Feature string `json:"feature,omitempty"`
	Phase   string `json:"phase,omitempty"`
	Rule    string `json:"rule"`
	Passes  bool   `json:"shown_to_pass"`
	Fails   bool   `json:"shown_to_fail"`
}

// Coverage lists all criteria and rules of a plan with what cases have shown of
// them. A case that came out otherwise than expected has shown nothing.
func Coverage(p *plans.Plan, outcomes []*CaseOutcome) (list []*RuleCoverage) {
	type key struct{ feature, phase, rule string }
	at := map[key]*RuleCoverage{}
	add := func(feature, phase string, rules []*plans.Rule) {
		for _, r := range rules {
			c := &RuleCoverage{Feature: feature, Phase: phase, Rule: r.Name}
			at[key{feature, phase, r.Name}] = c
			list = append(list, c)
		}
	}
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			add(f.Name, "", f.Criteria)
		}
		if ph.Gate != nil {
			add("", ph.Name, ph.Gate.Rules)
		}
	}
	for _, o := range outcomes {
		if !o.OK() {
			continue
		}
		for _, r := range o.Rules {
			if c := at[key{o.Case.Feature, o.Case.Phase, r.Name}]; c != nil {
				c.Passes = c.Passes || r.Verdict == verdict.Pass
				c.Fails = c.Fails || r.Verdict == verdict.Fail
			}
		}
	}
	return list
}

// NeverWhole are the phases whose gate no case has shown to pass, although each of
// its rules was shown to: all at once they may exclude each other.
func NeverWhole(p *plans.Plan, outcomes []*CaseOutcome) (phases []string) {
	lacks := map[string]bool{}
	for _, c := range Coverage(p, outcomes) {
		lacks[c.Phase] = lacks[c.Phase] || !c.Passes
	}
	for _, ph := range p.Phases {
		if ph.Gate != nil && len(ph.Gate.Rules) > 0 && !lacks[ph.Name] && !shownWhole(outcomes, "", ph.Name) {
			phases = append(phases, ph.Name)
		}
	}
	return phases
}

// shownWhole reports whether a case has shown a feature, or a gate, to pass as a
// whole.
func shownWhole(outcomes []*CaseOutcome, feature, phase string) bool {
	return slices.ContainsFunc(outcomes, func(o *CaseOutcome) bool {
		return o.OK() && o.Case.Feature == feature && o.Case.Phase == phase && o.Verdict == verdict.Pass
	})
}
