package tell

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

const wouldMeasure = "apply would measure it; the outcome is unknown"

var replayPhrases = phrases{
	code.NoRule:           "decided without a rule",
	code.KeptNotWhat:      "its record does not hold what decided it",
	code.LaunchUnrecorded: "launch {subject}, which {feature?feature {feature}}{feature!the decision} depends on, is not in the ledger",
	code.ArmUnrecorded:    "no launch of the session is of {subject}",
	code.NoRawData:        "launch {subject} has no raw data to decide from",
	code.RawUnread:        "{of}: {error}",
	code.RawUnnamed:       "its record names no raw data",
	code.LevelUnreplayed:  "level {subject} keeps too little to be decided again",
	code.LevelUnkept:      "what decided level {subject} was not kept: {error}",
	code.RawOfAnother:     "the {of} named by launch {subject} are of another launch: {key} is {found}{found!absent}, not {wanted}{wanted!empty}",

	code.PlanUnrecorded:    "its run did not record its plan",
	code.PlanTextless:      "its run did not keep the plan's text",
	code.PlanFileGone:      "plan file {subject} was not kept",
	code.PlanFileUnread:    "plan file {subject}: {error}",
	code.PlanFileElsewhere: "plan file {subject} has no path relative to the plan",
	code.PlanUncompiled:    "the recorded plan does not compile: {error}{error!it has errors}",
	code.PlanSealed:        "run {subject} does not record what may be secret: set {set} in the environment as it was then",
	code.PlanMoved:         "{subject} is not what run {run} applied: the plan is shown as that run kept it",
	code.RuleUncompiled:    "rule {subject:q} no longer compiles: {error}{error!it has errors}",
	code.PlanInexact: func(r verdict.Reason) string {
		if len(r.Args["sealed"].List) > 0 {
			return fill("The recorded plan has another digest without {sealed}, which no run records as it may be secret; each rule was compiled from the text recorded with its decision. To check the whole plan, give the same values (--var, --var-file, MXFLOW_VAR_name or the environment).", r)
		}
		return "The recorded plan has another digest although all its inputs are recorded: this version of mxflow reads it differently. Each rule was compiled from the text recorded with its decision."
	},
	code.PlanWithout: "the recorded plan has no {subject}",

	code.DecidedElsewhere:  "Decided on {arch}: numbers had to agree within {tolerance} only.",
	code.RecordedElsewhere: "Launch {subject} was recorded on {arch}: its statistics had to agree within {tolerance} only, and rules were decided from the recorded ones.",
	code.BestUnknown:       "The best alternative of {subject} was not recomputed.",

	code.WouldBe:        "{subject} {verdict:would}",
	code.NotReached:     "apply would not reach it: {causes}",
	code.NeverMeasured:  "it was never measured: " + wouldMeasure,
	code.RawDiffer:      "its raw data contradict the record ({differences} differences, see mxflow audit replay)",
	code.RetractedStays: "{causes}: apply does not let these launches pass again",
	code.StepNeverRun:   "step {subject} was never run: apply would run it; the outcome is unknown",
	code.StepOther:      "step {subject} is not what was run: apply would run it; the outcome is unknown",
	code.OutcomeUnknown: "the outcome of feature {subject} is unknown",

	code.StackUnknown: "it builds on the stack, and whether feature {subject} would be in it is unknown: apply would measure that one, and this one on top of it if accepted",
	code.StartsOther: whole(func(r verdict.Reason) string {
		return "the changed plan starts, sends or requires something other than what was measured (" + strings.Join(Lines(r.Causes), ", ") + "): only apply can tell"
	}),
	code.StartsMore: whole(func(r verdict.Reason) string {
		return "the changed plan needs something never measured (" + strings.Join(Lines(r.Causes), ", ") + "): " + wouldMeasure
	}),
	code.StartsUnknown: whole(func(r verdict.Reason) string {
		return "unknown whether the changed plan starts, sends and requires what was measured: " + giveAgain(r)
	}),
	code.SecretsUnknown: "unknown whether sensitive inputs are those measured with ({inputs}): give the same values, or apply may measure again",

	code.StartsVariant:  "variant {subject}",
	code.StartsEngine:   "engine {subject}",
	code.KnobValue:      "knob {subject} = {value}",
	code.StartsLevel:    "level {subject} of {candidate}{candidate!the baseline}",
	code.StartsWorkload: "workload {subject}",
}

// giveAgain is why a recorded plan is not available, and what to pass to restore it.
func giveAgain(r verdict.Reason) string {
	why := strings.TrimRight(Joined(r.Causes), ".")
	if len(r.Args["sealed"].List) > 0 {
		return why + fill(". Sensitive values are never recorded: give the same {sealed}", r)
	}
	return why
}
