package gates

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Measured is the measured value that a rule reads, with its evidence; no fact if it
// cannot be given.
func Measured(rule *plans.Rule, ev *Evidence) verdict.Reason {
	inputs := rule.Inputs()
	if len(inputs) != 1 {
		return verdict.Reason{}
	}
	in := inputs[0]
	r := read(in, ev)
	if r.Value == nil {
		return verdict.Reason{}
	}
	return verdict.Say("value.seen",
		"{value}, {base_n?{n} against {base_n|launch|launches}}{base_n!{n|launch|launches}}{interval?, 95% CI "+
			"{interval}}",
		append(strength(in, r), verdict.Num("value", *r.Value, unitOf(in)))...).On(in.Path)
}

// Outcomes of a hypothesis.
const (
	Confirmed = "confirmed"
	Refuted   = "refuted"
	Unsettled = "open"
)

// Claimed holds a hypothesis against what was measured: the rule is its claim as Load
// compiled it. It decides nothing else, so it takes no part of the criteria's error
// budget. The hypothesis of the best of several alternatives has one chance per
// alternative to be confirmed by luck.
func Claimed(rule *plans.Rule, ev *Evidence, s Settings) (outcome string, decided verdict.Rule) {
	decided = Decide([]*plans.Rule{rule}, ev, s)[0]
	decided.Role, decided.Decides = verdict.RoleHypothesis, false
	switch decided.Verdict {
	case verdict.Pass:
		return Confirmed, decided
	case verdict.Fail:
		return Refuted, decided
	}
	return Unsettled, decided
}
