package tell

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

const wouldMeasure = "an apply would measure it, and what would come out is not known"

var replayPhrases = phrases{
	code.NoRule:           "it was decided without a rule",
	code.KeptNotWhat:      "its record does not hold by what it was decided",
	code.LaunchUnrecorded: "launch {subject}, which {feature?feature {feature}}{feature!the decision} rests on, is not in the ledger",
	code.NoRawData:        "launch {subject} has no raw data to decide by",
	code.RawUnread:        "{of}: {error}",
	code.RawUnnamed:       "its record names no raw data",

	code.PlanUnrecorded:    "its run has no record of its plan",
	code.PlanTextless:      "its run kept no text of the plan",
	code.PlanFileGone:      "file {subject} of the plan was not kept",
	code.PlanFileUnread:    "file {subject} of the plan: {error}",
	code.PlanFileElsewhere: "file {subject} of the plan lies elsewhere than the plan{error?: {error}}",
	code.PlanUncompiled:    "the recorded plan cannot be compiled: {error}{error!it has mistakes}",
	code.RuleUncompiled:    "rule {subject:q} cannot be compiled any more: {error}{error!it has mistakes}",
	code.PlanInexact: func(r verdict.Reason) string {
		switch {
		case len(r.Args["sealed"].List) > 0:
			return fill("The recorded plan has another digest without {sealed}, which no run records, since it may be secret; each rule was compiled from the text that the decision recorded. Given again as they were then (--var, --var-file, MXFLOW_VAR_name or the environment), all of the plan is checked.", r)
		case present(r.Args["unrecorded"]):
			return "The recorded plan has another digest without the variables that were given to it, which its run does not record; each rule was compiled from the text that the decision recorded. With --var and --var-file as they were given then, all of the plan is checked."
		}
		return "The recorded plan has another digest although all that was given to it is on record: this version of mxflow reads it otherwise. Each rule was compiled from the text that the decision recorded."
	},
	code.ComparedInexact: func(r verdict.Reason) string {
		text := "Whether the changed plan starts, sends and demands what was measured was compared with the recorded plan as it comes out "
		switch {
		case len(r.Args["sealed"].List) > 0:
			return text + fill("without {sealed}, which no run records, since it may be secret: give it as it was given then.", r)
		case present(r.Args["unrecorded"]):
			return text + "without the variables that no run records: give --var and --var-file as they were given then."
		}
		return text + "by this version of mxflow, which reads it otherwise than the one that recorded it."
	},
	code.PlanWithout: "the recorded plan comes out without {subject}",

	code.TestsOnly:         "Only the recorded tests were computed again: {causes}.",
	code.DecidedElsewhere:  "It was decided on {arch}, so numbers had to agree within {tolerance} only.",
	code.RecordedElsewhere: "Launch {subject} was recorded on {arch}, so its statistics had to agree within {tolerance} only; rules were decided by the recorded ones.",
	code.LaunchNote:        "Launch {subject}: {causes}.",
	code.BestUnknown:       "Which alternative of {subject} is best was not worked out again.",

	code.WouldBe:        "{subject} would be {verdict}",
	code.NotReached:     "an apply would not come to it, because {causes}",
	code.NeverMeasured:  "{subject}{subject!it} was never measured: " + wouldMeasure,
	code.NothingKept:    "nothing was kept that it could be decided by{causes?; it was recorded as {verdict}: {causes}}",
	code.RawDiffer:      "it is decided by raw data that say otherwise than the record does ({differences} differences, which mxflow audit replay lists)",
	code.RetractedStays: "{causes}: an apply does not let these launches pass again",
	code.MoreNeeded:     "{n|launch|launches} an arm were made, and more would be needed (up to {most})",
	code.LevelRecorded:  "level {subject} is {verdict}, as recorded",
	code.StepRecorded:   "step {subject} is {verdict}, as recorded",
	code.StepNeverRun:   "step {subject} was never run: an apply would run it, and what would come out is not known",
	code.StepOther:      "step {subject} is not what was run: an apply would run it, and what would come out is not known",
	code.StepUnknown: whole(func(r verdict.Reason) string {
		return fill("whether step {subject} is what was run is not known: ", r) + giveAgain(r)
	}),
	code.NoneWouldPass:   "no alternative would have passed",
	code.WouldWin:        "{subject} would have won{over? and not {over}: what was measured on top of that was measured on another stack}",
	code.NeverOnEngine:   "it was never measured on engine.{subject}, which would have to confirm it",
	code.NothingOnEngine: "nothing is kept of it on engine.{subject}",
	code.OnEngine:        "on engine.{subject}: {verdict}",
	code.WouldNotEnter:   "it would not enter the stack: {subject}, which it builds on, would not be in it",
	code.ReadsUnmeasured: "rule {subject:q} reads feature {feature}",
	code.ReadsDoubted:    "it reads feature {subject}, of whose evidence nothing passes here",
	code.OutcomeUnknown:  "what would have become of feature {subject} is not known",

	code.OtherKnob:  "the changed plan sets knob {subject} to {now:q}, and {was:q} is what was measured: only an apply can tell",
	code.OtherStack: "it would build on another stack, with knob {subject} at {now:q}, and {was:q} is what it was measured on: only an apply can tell",
	code.PerhapsUnder: func(r verdict.Reason) string {
		would := string(r.Verdict)
		switch r.Args["how"].Text {
		case "locked":
			would = "locked by what is not known"
		case "over":
			would = "on a feature of which the same is true"
		}
		return fill("it builds on what is accepted, and whether feature {subject} would be in that is not known, which would be ", r) + would +
			": an apply would measure it, and this one on top of it where it is accepted"
	},
	code.StartsOther: whole(func(r verdict.Reason) string {
		return "the changed plan starts, sends or demands something else than was measured (" + strings.Join(Lines(r.Causes), ", ") + "): only an apply can tell"
	}),
	code.StartsMore: whole(func(r verdict.Reason) string {
		return "the changed plan asks for something that was never measured (" + strings.Join(Lines(r.Causes), ", ") + "): " + wouldMeasure
	}),
	code.StartsUnknown: whole(func(r verdict.Reason) string {
		return "whether the changed plan starts, sends and demands what was measured is not known: " + giveAgain(r)
	}),
	code.SecretsUnknown: "whether what was sensitive is what was measured with is not known ({inputs}): give it as it was then, or an apply may measure again",

	code.StartsBaseline: "baseline",
	code.StartsParent:   "parent of {subject}",
	code.StartsEngine:   "engine {subject}",
	code.KnobChanges:    "changes of knob {subject}",
	code.KnobValue:      "knob {subject} = {value}",
	code.StartsLevel:    "level {subject} of {candidate}{candidate!the baseline}",
	code.StartsWorkload: "workload {subject}",
	code.StartsOrder:    "the order of levels or workloads",
}

// giveAgain is why a recorded plan is not at hand, and what to give so that it is.
func giveAgain(r verdict.Reason) string {
	why := strings.TrimRight(Joined(r.Causes), ".")
	switch {
	case len(r.Args["sealed"].List) > 0:
		return why + fill(". What is sensitive is in no record: give {sealed} as it was then", r)
	case present(r.Args["unrecorded"]):
		return why + ". If the recorded plan needs variables, give --var and --var-file as they were given then"
	}
	return why
}
