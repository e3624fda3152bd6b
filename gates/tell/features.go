package tell

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var featurePhrases = phrases{
	code.NoCriterion:       "no criterion decides this feature",
	code.Trial:             "a trial, which never enters the stack (accept = [])",
	code.NoBenchmark:       "nothing was measured: protocol {subject} has no benchmark level",
	code.ParentNotAccepted: "not accepted: its parent {subject} is not in the stack",
	code.ChooserNotRun:     "feature {subject}, which makes the choice, was not run",
	code.ChosenUnknown:     "feature {subject} was decided with {knob} = {value:q}, which is not one of its alternatives",
	code.FirstUndecided:    "feature {subject} is undecided on the first engine",

	code.GotWorse:       "also worse: {subject} {change?{change}{bounds? (95% CI {bounds})}}{change!{was} to {is}}",
	code.NotCompared:    "other metrics not compared: that takes 3 launches per arm, and 2 were enough to decide",
	code.PromiseBroken:  "{subject}.gain {gain} alone would give {whole}.gain {promised}, but that is {shows} (upper bound {at_most}): the gain is lost elsewhere; a rule on {whole} would decide this trade-off",
	code.PromiseUnshown: "{subject}.gain {gain} alone would give {whole}.gain {promised}, but that is {shows}, which may be none: more launches, or a quieter machine, can show it",
	code.TailGrew:       "only the median improves: {subject}.gain {gain}, while {tail} changed by {change}: the slowest requests pay for it; a rule on {tail} would decide this trade-off",

	code.Wins:        whole(wins),
	code.NoneWins:    whole(noneWins),
	code.Alternative: "{subject} {verdict}{gain? {gain}}",

	code.Confirmed:          "confirmed on engine.{subject}",
	code.NotTried:           "not tried on engine.{subject}: {without} regardless",
	code.ConfirmationNotRun: "not confirmed on engine.{subject}",

	code.TargetUncompared: "no rule compares it with a measurement",
	code.TargetNamesAlone: "no rule compares it with a measurement, and its name alone does not say which number it matches",
	code.TargetOfCells:    "{subject} has {cells} cells, and neither the target nor a rule says which one this number is for",
	code.TargetNotPrinted: "the baseline's engine is not a command that prints it",
}

// wins is the choice in one line. Its gains are of all launches, and a criterion on the
// same metric reads those up to the look that decided it: where both appear, the line
// says so.
func wins(r verdict.Reason) string {
	line := fill("{subject} wins{gain? {gain}} in {metric}{gain? over all launches}; ", r) + alternatives(r.Causes)
	return line + fill("{first?; {metric} was not measured: the first in plan order is taken}", r)
}

// noneWins is the same if no alternative passes.
func noneWins(r verdict.Reason) string {
	over := ""
	if len(r.Causes) > 0 && r.Causes[0].Args["gain"].Number != nil {
		over = fill(" ({metric} over all launches)", r)
	}
	return fill("no alternative of {knob} passes: ", r) + alternatives(r.Causes) + over + fill("; reported below: {subject}", r)
}

func alternatives(all []verdict.Reason) string { return strings.Join(Lines(all), ", ") }
