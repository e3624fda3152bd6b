package tell

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var graphPhrases = phrases{
	code.Rule: func(r verdict.Reason) string {
		of := ""
		if r.Args["role"].Text == verdict.RoleCriterion {
			of = verdict.RoleCriterion + " "
		}
		return of + r.Subject + ": " + string(r.Verdict)
	},
	code.Level: func(r verdict.Reason) string {
		if len(r.Causes) == 0 {
			return "level " + r.Subject + ": " + string(r.Verdict)
		}
		return fill("level {subject} {verdict:did}", r)
	},
	code.Feature:       "feature {subject}: {verdict}",
	code.Step:          "step {subject}: {verdict}",
	code.FeatureAlone:  "feature {subject} {verdict:did}",
	code.StepAlone:     "step {subject} {verdict:did}",
	code.FeatureNotRun: "feature {subject} was not run",
	code.StepNotRun:    "step {subject} was not run",
	code.Outcome:       outcome,
	code.Undecided:     "{subject} is undecided",
	code.NotTargeted:   "left out by --target",
	code.NotConfirmed:  "not confirmed on engine.{subject}, where it {verdict:did}",
	code.Broken:        "{error}",
	code.NoVerdict:     "the step returned no verdict (a bug in mxflow)",

	code.First:               "first",
	code.Rerun:               "--rerun",
	code.RulesChanged:        "rules changed",
	code.EvidenceChanged:     "evidence changed",
	code.BothChanged:         "rules and evidence changed",
	code.MeasurementChanged:  "measurement changed",
	code.HypothesisChanged:   "hypothesis changed",
	code.RetryAfter:          "retry after {verdict}",
	code.Unchanged:           "unchanged",
	code.NotPrepared:         "not prepared",
	code.Retracted:           "retracted",
	code.OnRetracted:         "based on something retracted",
	code.NoLongerWithdrawn:   "no longer withdrawn because of {subject}",
	code.ShownWrong:          "its evidence was retracted",
	code.GateWaived:          "gate waived",
	code.FeatureWasRetracted: "its feature was retracted",

	code.Relaxed:         "rule relaxed after its data were seen{causes? ({causes})}",
	code.PreferMoved:     "prefer {was} → {is?{is}}{is!nothing}",
	code.AskedAfter:      "no rule of the measured plan reads {subject}",
	code.Loosened:        "{was} → {is?{is}}{is!no longer required}",
	code.GoalsUnrecorded: "the requirements at the start of session {subject} are not on record",
	code.Withheld:        "no pass on seen data: {causes}; --rerun measures again",
	code.MeasuredAnew:    "an apply would measure it again: {causes}",
	code.OnSeenData:      "decided on seen data: {causes}",
	code.RestsOnSeenData: "rests on {subject}, which was decided on seen data",

	code.Tried:      "try {try} of {subject} against its parent: false pass at most {rate} (first try {of}, all tries together {bound})",
	code.TriesSpent: "try {try} of {subject} against its parent: {tries} tries used up its false pass rate of {of}, so no result passes; propose another change as another feature",

	code.TunePinned: "{subject} is measured with one pinned tune of each arm: the verdict speaks of these tunes",

	code.Waived:          "waived by {by} until {until}: {reason}",
	code.WaiverRevoked:   "waiver revoked by {by}: {reason}",
	code.WaiverExpired:   "waiver by {by} expired {until} ({reason})",
	code.WaiverOfEarlier: "not waived: the waiver by {by} covers attempt {attempt} ({verdict}), not this one",
	code.RetractedBy:     "retracted by {by}: {reason}",
	code.OnRetractedBy:   "based on {subject}, which was retracted by {by}: {reason}",
	code.RetractedNode:   "{subject} was retracted by {by}{causes? ({causes})}",
	code.Was:             "previously {verdict}{accepted?, accepted} (attempt {attempt})",
	code.SameLaunches:    "same launches as when it was retracted; --rerun measures again",
	code.LaunchesOf:      "based on launches of {subject}, which was retracted by {by}: {reason}",
	code.RerunMeasures:   "--rerun measures again",

	code.Finished:    "finished",
	code.Interrupted: "interrupted",
	code.Abandoned: "did not finish (killed?){processes?; {processes|process|processes} left running, stopped by the next apply}" +
		"{containers?; {containers|container|containers} left behind, removed by the next apply}",
}

// outcome puts the waiver of a gate, which did not cause its verdict, in brackets.
func outcome(r verdict.Reason) (text string, all bool) {
	if len(r.Causes) == 1 {
		switch r.Causes[0].Code {
		case code.Waived, code.WaiverRevoked, code.WaiverExpired, code.WaiverOfEarlier:
			return fill("{subject} {verdict:did} ({causes})", r), true
		}
	}
	return fill("{subject} {verdict:did}", r), false
}
