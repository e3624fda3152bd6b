package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
)

// UntestedGates are the phases whose gate no case expects to pass, or none to
// fail: a rule that cannot fail protects nothing, and one that cannot pass stops
// everything. Cases are not decided here: that they come out so is for mxflow test.
func (p *Plan) UntestedGates(cases []*Case) (phases []string) {
	for _, ph := range p.Phases {
		if ph.Gate != nil && untested(ph, cases) != "" {
			phases = append(phases, ph.Name)
		}
	}
	return phases
}

// untested says which cases a gate lacks; empty where it lacks none.
func untested(ph *Phase, cases []*Case) string {
	passes, fails := false, false
	shown := map[string]bool{}
	for _, c := range cases {
		if c.Phase != ph.Name {
			continue
		}
		for name, v := range c.ExpectRules {
			shown[name] = shown[name] || v == verdict.Pass
			fails = fails || v == verdict.Fail
		}
		passes = passes || c.Expect == verdict.Pass
		fails = fails || c.Expect == verdict.Fail
	}
	each := true
	for _, r := range ph.Gate.Rules {
		each = each && shown[r.Name]
	}
	passes = passes || each
	switch {
	case !passes && !fails:
		return "no case"
	case !passes:
		return "no case that passes"
	case !fails:
		return "no case that fails"
	}
	return ""
}

// WarnUntested adds to what was found in case files a warning for each gate
// that lacks cases.
func (r *Result) WarnUntested(found *Findings, cases []*Case) {
	for _, ph := range r.Plan.Phases {
		if ph.Gate == nil {
			continue
		}
		lacks := untested(ph, cases)
		if lacks == "" {
			continue
		}
		at := ph.Gate.Range.hcl()
		found.Diagnostics = append(found.Diagnostics, &hcl.Diagnostic{
			Severity: hcl.DiagWarning, Summary: "Gate is not tested",
			Detail:  fmt.Sprintf("There is %s for the gate of phase %q, so that it is not shown to be able to do both. Write gate = phase.%s in a case beside the plan; mxflow test --print prints what is missing.", lacks, ph.Name, ph.Name),
			Subject: &at,
		})
	}
}
