// Package cases decides the cases that people write for a plan's rules, as an apply would
// decide the same measurements, reports what they show about the rules, and writes
// missing ones. It knows plans and cases; it launches nothing and reads no records.
package cases

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	written "github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
)

// Outcome is the outcome of a case.
type Outcome struct {
	Case    *written.Case   `json:"-"`
	Verdict verdict.Verdict `json:"verdict"`
	// Reasons are what decided besides the rules: levels, and what was not given.
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	// Chosen is the winning value, for a feature that chooses.
	Chosen string         `json:"chosen,omitempty"`
	Rules  []verdict.Rule `json:"rules"`
	// Unexpected are the deviations from what the case expects; empty if there are none.
	Unexpected []Unexpected `json:"unexpected,omitempty"`
}

// Unexpected is a verdict that a case did not expect.
type Unexpected struct {
	// Rule is empty for the verdict of the whole, and for the choice.
	Rule string          `json:"rule,omitempty"`
	Want verdict.Verdict `json:"want,omitempty"`
	Got  verdict.Verdict `json:"got,omitempty"`
	// WantChosen and GotChosen are values of the chosen knob; nothing is chosen if no
	// alternative passes.
	WantChosen string `json:"want_chosen,omitempty"`
	GotChosen  string `json:"got_chosen,omitempty"`
}

// OK reports whether everything is as expected.
func (o *Outcome) OK() bool { return len(o.Unexpected) == 0 }

// Decide decides a case as an apply would from the same measurements: with the plan's
// decision block, one error budget for all rules that must hold, and levels that did not
// pass. It starts nothing.
func Decide(p *plans.Plan, c *written.Case) *Outcome {
	d := &decider{plan: p, given: c.Given}
	out := &Outcome{Case: c}
	var err error
	if f := p.Feature(c.Feature); f != nil {
		err = d.feature(f, out)
	} else {
		err = d.gate(p.Phase(c.Phase), out)
	}
	if err != nil {
		out.Verdict, out.Reasons = verdict.Error, []verdict.Reason{verdict.OfError(err)}
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

// decider decides one case.
type decider struct {
	plan  *plans.Plan
	given map[string]*written.GivenFeature
}

// view is what a decision sees of a case: steps have passed, and what is given of
// features is known.
func (d *decider) view() *decide.View {
	return &decide.View{
		Plan: d.plan, Found: d.found, Row: func(row *plans.Row) *gates.Feature {
			return &gates.Feature{Broken: verdict.Invalid, Cause: verdict.New(code.NotGiven).On(row.Key())}
		}, LockedBy: func(string) verdict.Reason { return verdict.Reason{} },
		Outcome: func(node string) *ledger.Decision {
			name := runtime.CandidateOf(node)
			if g := d.given[name]; g != nil {
				return &ledger.Decision{Verdict: g.Verdict, Accepted: g.Accepted}
			} else if name != "" {
				return &ledger.Decision{}
			}
			return &ledger.Decision{Verdict: verdict.Pass}
		},
	}
}

// feature decides a feature's criteria, for the best of its alternatives if it chooses,
// and joins the outcomes of its confirmations if the case gives them.
func (d *decider) feature(f *plans.Feature, out *Outcome) error {
	view := d.view()
	all, err := decide.Alternatives(view, f)
	if err != nil {
		return err
	}
	best := decide.Best(all)
	out.Verdict, out.Rules = decide.VerdictOf(all), best.Decision.Rules
	if f.Choose != nil {
		for _, a := range all {
			out.Reasons = append(out.Reasons, verdict.New(code.CaseAlternative).On(a.Feature.Name).Is(a.Decision.Verdict))
		}
		if out.Verdict == verdict.Pass {
			out.Chosen = best.Feature.Set[f.Choose.Knob]
		}
	}
	for _, l := range best.Decision.Levels {
		if l.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, l.Bare())
		}
	}
	for _, c := range f.Confirm {
		if d.given[c.Name] == nil {
			continue
		}
		confirmed, err := decide.Candidate(view, f, c)
		if err != nil {
			return err
		}
		out.Verdict = verdict.Join(out.Verdict, confirmed.Decision.Verdict)
		var against []verdict.Reason
		for _, r := range confirmed.Decision.Rules {
			if r.Verdict != verdict.Pass {
				against = append(against, decide.Unnamed(r))
			}
		}
		out.Reasons = append(out.Reasons, verdict.New(code.CaseConfirmation).On(c.Name).Is(confirmed.Decision.Verdict).From(against...))
	}
	return nil
}

// gate decides a phase's exit rules.
func (d *decider) gate(ph *plans.Phase, out *Outcome) error {
	decided, err := decide.Gate(d.view(), ph)
	if err == nil {
		out.Verdict, out.Rules = decided.Verdict, decided.Rules
	}
	return err
}

// RuleCoverage records whether cases have shown a rule able to pass and to fail.
type RuleCoverage struct {
	// Feature is set for a criterion, Phase for a rule of a gate.
	Feature string `json:"feature,omitempty"`
	Phase   string `json:"phase,omitempty"`
	Rule    string `json:"rule"`
	Passes  bool   `json:"shown_to_pass"`
	Fails   bool   `json:"shown_to_fail"`
}

// Coverage lists all criteria and rules of a plan with what cases have shown of them. A
// case with an unexpected outcome has shown nothing.
func Coverage(p *plans.Plan, outcomes []*Outcome) (list []*RuleCoverage) {
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

// NeverWhole are the phases whose gate no case has shown to pass, although each of its
// rules was: together they may exclude each other.
func NeverWhole(p *plans.Plan, outcomes []*Outcome) (phases []string) {
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
func shownWhole(outcomes []*Outcome, feature, phase string) bool {
	return slices.ContainsFunc(outcomes, func(o *Outcome) bool {
		return o.OK() && o.Case.Feature == feature && o.Case.Phase == phase && o.Verdict == verdict.Pass
	})
}
