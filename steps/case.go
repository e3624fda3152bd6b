package steps

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// CaseOutcome is how a case came out.
type CaseOutcome struct {
	Case    *cases.Case     `json:"-"`
	Verdict verdict.Verdict `json:"verdict"`
	// Reasons are what decided besides the rules: levels, what was not given.
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	// Chosen is the value that won, of a feature that chooses.
	Chosen string         `json:"chosen,omitempty"`
	Rules  []verdict.Rule `json:"rules"`
	// Unexpected is what came out otherwise; empty where all is as expected.
	Unexpected []Unexpected `json:"unexpected,omitempty"`
}

// Unexpected is a verdict that a case did not expect.
type Unexpected struct {
	// Rule is empty for the verdict of the whole, and for what was chosen.
	Rule string          `json:"rule,omitempty"`
	Want verdict.Verdict `json:"want,omitempty"`
	Got  verdict.Verdict `json:"got,omitempty"`
	// WantChosen and GotChosen are values of the knob that is chosen; nothing is
	// chosen where no alternative passes.
	WantChosen string `json:"want_chosen,omitempty"`
	GotChosen  string `json:"got_chosen,omitempty"`
}

// OK reports whether all came out as expected.
func (o *CaseOutcome) OK() bool { return len(o.Unexpected) == 0 }

// DecideCase decides what a case is about, as an apply would from the same
// measurements: with the plan's decision block, one error budget for all rules
// that have to hold, and levels that did not pass. It starts nothing.
func DecideCase(p *plans.Plan, c *cases.Case) *CaseOutcome {
	d := &caseDecider{lab: NewLab(p, nil), given: c.Given}
	out := &CaseOutcome{Case: c}
	switch f := p.Feature(c.Feature); {
	case f != nil:
		d.feature(f, out)
	default:
		d.gate(p.Phase(c.Phase), out)
	}
	if c.Expect != "" && c.Expect != out.Verdict {
		out.Unexpected = append(out.Unexpected, Unexpected{Want: c.Expect, Got: out.Verdict})
	}
	if c.ExpectChosen != "" && c.ExpectChosen != out.Chosen {
		out.Unexpected = append(out.Unexpected, Unexpected{WantChosen: c.ExpectChosen, GotChosen: out.Chosen})
	}
	for _, name := range slices.Sorted(maps.Keys(c.ExpectRules)) {
		want, got := c.ExpectRules[name], verdict.Verdict("")
		for _, r := range out.Rules {
			if r.Name == name {
				got = r.Verdict
			}
		}
		if got != want {
			out.Unexpected = append(out.Unexpected, Unexpected{Rule: name, Want: want, Got: got})
		}
	}
	return out
}

// caseDecider decides one case.
type caseDecider struct {
	lab   *Lab
	given map[string]*cases.GivenFeature
}

// feature decides a feature's criteria, of the best of its alternatives where it
// chooses, and joins what its confirmations come to where the case gives them.
func (d *caseDecider) feature(f *plans.Feature, out *CaseOutcome) {
	var decided *ledger.Decision
	if f.Choose == nil {
		decided = d.criteria(f)
	} else {
		decided = d.choice(f, out)
	}
	out.Verdict, out.Rules = decided.Verdict, decided.Rules
	out.Reasons = append(out.Reasons, decided.Reasons...)
	for _, c := range f.Confirm {
		if d.given[c.Name] == nil {
			continue
		}
		confirmed := d.criteria(c)
		out.Verdict = verdict.Join(out.Verdict, confirmed.Verdict)
		var against []verdict.Reason
		for _, r := range confirmed.Rules {
			if r.Verdict != verdict.Pass {
				against = append(against, unnamed(r))
			}
		}
		out.Reasons = append(out.Reasons, verdict.New(code.CaseConfirmation).On(c.Name).Is(confirmed.Verdict).From(against...))
	}
}

// choice decides the criteria of every alternative, and is the decision of the best.
func (d *caseDecider) choice(f *plans.Feature, out *CaseOutcome) *ledger.Decision {
	var all []*alternative
	for _, a := range f.Alternatives {
		c := &alternative{feature: a, decision: d.criteria(a), gain: preferred(f.Choose, d.evidence(a), d.lab.settings(a))}
		all = append(all, c)
		out.Reasons = append(out.Reasons, verdict.New(code.CaseAlternative).On(a.Name).Is(c.decision.Verdict))
	}
	best := better(all)
	if best.decision.Verdict = verdictOf(all); best.decision.Verdict == verdict.Pass {
		out.Chosen = best.feature.Set[f.Choose.Knob]
	}
	return best.decision
}

// unnamed is what a rule came to, without the word for what it is.
func unnamed(r verdict.Rule) verdict.Reason {
	return verdict.New(code.Rule).On(r.Name).Is(r.Verdict).From(r.Reasons...)
}

// criteria decides the criteria of one candidate.
func (d *caseDecider) criteria(f *plans.Feature) *ledger.Decision {
	levels := d.levels(f)
	out := &ledger.Decision{Kind: string(runtime.KindFeature), Levels: levels}
	d.lab.criteria(f, d.evidence(f), out)
	out.Verdict, out.Reasons = whole(out, levels, out.Rules), nil
	for _, l := range levels {
		if l.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, l.Bare())
		}
	}
	return out
}

// evidence is what the criteria of one candidate read.
func (d *caseDecider) evidence(f *plans.Feature) *gates.Evidence {
	return &gates.Evidence{Features: map[string]*gates.Feature{readAs(f): d.gathered(f)}}
}

// gate decides a phase's exit rules.
func (d *caseDecider) gate(ph *plans.Phase, out *CaseOutcome) {
	all := &gates.Evidence{Features: map[string]*gates.Feature{}}
	for _, f := range (&decideGate{lab: d.lab, phase: ph}).features() {
		all.Features[f.Name] = d.gathered(f)
		if g := d.given[f.Name]; g != nil {
			all.Features[f.Name].Outcome, all.Features[f.Name].Accepted = g.Verdict, g.Accepted
		}
	}
	var verdicts []verdict.Verdict
	for _, r := range gates.Decide(ph.Gate.Rules, all, d.lab.settingsOfGate(ph)) {
		r.Role, r.Decides = verdict.RoleRule, true
		out.Rules = append(out.Rules, r)
		verdicts = append(verdicts, r.Verdict)
	}
	out.Verdict = verdict.Join(verdicts...)
}
