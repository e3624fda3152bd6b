package steps

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// Skeleton writes cases for the rules of a plan that none has shown able to pass,
// or to fail, worked out from their thresholds. Each was decided before it is
// written, so that it comes out as it says. Left are rules for which none was
// found.
func Skeleton(res *plans.Result, known []*CaseOutcome) (text string, left []verdict.Reason) {
	k := &skeleton{res: res, names: map[string]bool{}}
	for _, o := range known {
		k.names[o.Case.Name] = true
	}
	k.outcomes = append(k.outcomes, known...)
	for _, ph := range res.Plan.Phases {
		for _, f := range ph.Features {
			k.subject("feature "+f.Name, "feature = feature."+f.Name, f.Name, "", f.Criteria)
		}
		if ph.Gate != nil {
			k.subject("gate "+ph.Name, "gate = phase."+ph.Name, "", ph.Name, ph.Gate.Rules)
		}
	}
	return strings.TrimLeft(k.b.String(), "\n"), k.left
}

// skeleton is cases while they are written.
type skeleton struct {
	res      *plans.Result
	b        strings.Builder
	names    map[string]bool
	outcomes []*CaseOutcome
	left     []verdict.Reason
	// why is what stood against the last case that was tried.
	why []verdict.Reason
}

// subject writes the cases of a gate or of a feature's criteria.
func (k *skeleton) subject(what, head, feature, phase string, rules []*plans.Rule) {
	if !shownWhole(k.outcomes, feature, phase) && len(rules) > 0 && !k.try(what, head, feature, phase, rules, nil, verdict.Pass) {
		// Each rule can pass, and all of them at once may still exclude each other.
		k.left = append(k.left, verdict.New(code.NoWholeCase).On(what).From(k.why...))
	}
	for _, c := range k.lacking(feature, phase) {
		for _, r := range rules {
			if r.Name != c.Rule {
				continue
			}
			for _, want := range []verdict.Verdict{verdict.Pass, verdict.Fail} {
				shown := c.Passes && want == verdict.Pass || c.Fails && want == verdict.Fail
				if !shown && !k.try(what, head, feature, phase, rules, r, want) {
					k.left = append(k.left, verdict.New(code.NoCase, verdict.Text("of", what)).On(r.Name).Is(want).From(k.why...))
				}
			}
		}
	}
}

// lacking are the rules of a subject of which something was not shown yet.
func (k *skeleton) lacking(feature, phase string) (list []*RuleCoverage) {
	for _, c := range Coverage(k.res.Plan, k.outcomes) {
		if c.Feature == feature && c.Phase == phase && !(c.Passes && c.Fails) {
			list = append(list, c)
		}
	}
	return list
}

// try writes a case in which a rule comes out as wanted and the others pass where
// they can; without a rule, one that all of them pass. It reports whether there is
// such a case.
func (k *skeleton) try(what, head, feature, phase string, rules []*plans.Rule, rule *plans.Rule, want verdict.Verdict) bool {
	name := what + " passes"
	if rule != nil && want == verdict.Pass {
		name = fmt.Sprintf("%s passes on: %s", what, rule.Name)
	} else if rule != nil {
		name = fmt.Sprintf("%s fails on: %s", what, rule.Name)
	}
	name = k.unused(name)
	for _, s := range k.sketches(rules, rule, want) {
		body := k.given(s, feature, phase)
		text := fmt.Sprintf("case %s {\n  %s\n%s", quotedHCL(name), head, body)
		o := k.decide(text + "  expect = \"pass\"\n}\n")
		if o == nil || o.Verdict == verdict.Error || !came(o, rule, want) {
			k.why = stood(o, rule)
			continue
		}
		text += fmt.Sprintf("  expect = %q\n", o.Verdict)
		if rule != nil && (o.Verdict != want || len(o.Rules) > 1) {
			text += fmt.Sprintf("  expect_rules = { %s = %q }\n", quotedHCL(rule.Name), want)
		}
		text += "}\n"
		if o = k.decide(text); o == nil || !o.OK() {
			continue
		}
		k.names[name] = true
		k.outcomes = append(k.outcomes, o)
		k.b.WriteString("\n" + doubts(rules, rule, want) + text)
		return true
	}
	return false
}

// sketches are measurements to try, the simplest first.
func (k *skeleton) sketches(rules []*plans.Rule, rule *plans.Rule, want verdict.Verdict) (list []*sketch) {
	add := func(margin float64, others bool, only *plans.Leaf) {
		s := &sketch{plan: k.res.Plan, margin: margin, features: map[string]*sketched{}}
		for _, r := range rules {
			switch {
			case r.Program == nil || r.Program.Logic == nil:
			case r == rule:
				s.want(r.Program.Logic, want == verdict.Pass, only)
			case others || rule == nil:
				s.want(r.Program.Logic, true, nil)
			}
		}
		list = append(list, s)
	}
	for _, margin := range margins {
		for _, others := range []bool{true, false} {
			add(margin, others, nil)
			if rule == nil {
				break
			}
			if want == verdict.Fail && rule.Program != nil && len(rule.Program.Leaves) > 1 {
				for _, leaf := range rule.Program.Leaves {
					add(margin, others, leaf)
				}
			}
		}
	}
	return list
}

// decide loads and decides one case; nil where it is not one.
func (k *skeleton) decide(text string) *CaseOutcome {
	cases, found := k.res.LoadCaseBytes("skeleton.mxtest.hcl", []byte(text))
	if !found.OK() || len(cases) != 1 {
		return nil
	}
	return DecideCase(k.res.Plan, cases[0])
}

// stood is why a rule did not come out as it should have.
func stood(o *CaseOutcome, rule *plans.Rule) []verdict.Reason {
	if o == nil || rule == nil {
		return nil
	}
	for _, r := range o.Rules {
		if r.Name == rule.Name {
			return r.Reasons
		}
	}
	return nil
}

// came reports whether a rule came out as wanted; without one, all of them.
func came(o *CaseOutcome, rule *plans.Rule, want verdict.Verdict) bool {
	if rule == nil && o.Verdict != want {
		return false
	}
	for _, r := range o.Rules {
		if (rule == nil || r.Name == rule.Name) && r.Verdict != want {
			return false
		}
	}
	return len(o.Rules) > 0
}
