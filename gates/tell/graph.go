package tell

import (
	"fmt"
	"strings"

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
		return "level " + r.Subject + " is " + string(r.Verdict)
	},
	code.Feature:       "feature {subject}: {verdict}",
	code.Step:          "step {subject}: {verdict}",
	code.FeatureAlone:  "feature {subject} is {verdict}",
	code.StepAlone:     "step {subject} is {verdict}",
	code.FeatureNotRun: "feature {subject} was not run",
	code.StepNotRun:    "step {subject} was not run",
	code.Outcome:       outcome,
	code.Undecided:     "{subject} is not decided",
	code.NotConfirmed:  "not confirmed on engine.{subject}, where it is {verdict}",
	code.Broken:        "{error}",
	code.NoVerdict:     "the step gave no verdict; this is a mistake in mxflow",

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
	code.OnRetracted:         "rests on what was retracted",
	code.NoLongerWithdrawn:   "no longer withdrawn because of {subject}",
	code.ShownWrong:          "what it showed was retracted",
	code.GateWaived:          "the gate is waived",
	code.FeatureWasRetracted: "its feature was retracted",

	code.Waived:          "waived by {by} until {until}: {reason}",
	code.WaiverRevoked:   "its waiver was revoked by {by}: {reason}",
	code.WaiverExpired:   "waiver expired: that of {by} ended {until} ({reason})",
	code.WaiverOfEarlier: "not waived: the waiver of {by} covers an earlier decision (attempt {attempt}, {verdict}) and not this one",
	code.RetractedBy:     "retracted by {by}: {reason}",
	code.OnRetractedBy:   "rests on {subject}, which was retracted by {by}: {reason}",
	code.RetractedNode:   "{subject} was retracted by {by}{causes? ({causes})}",
	code.Was:             "it was {verdict}{accepted? and accepted} (attempt {attempt})",
	code.SameLaunches:    "it rests on the launches with which it was retracted; --rerun measures again",
	code.LaunchesOf:      "rests on the launches with which {subject} was retracted by {by}: {reason}",
	code.RerunMeasures:   "--rerun measures again",

	code.Finished:    "finished",
	code.Interrupted: "interrupted",
	code.Abandoned: "abandoned: mxflow ended without recording why{processes?; {processes|process|processes} left running, stopped by the next apply}" +
		"{containers?; {containers|container|containers} left behind, removed by the next apply}",

	code.Interference: interference,
}

// outcome puts a waiver of a gate, which is no cause of what it came to, in brackets.
func outcome(r verdict.Reason) (text string, all bool) {
	if len(r.Causes) == 1 {
		switch r.Causes[0].Code {
		case code.Waived, code.WaiverRevoked, code.WaiverExpired, code.WaiverOfEarlier:
			return fill("{subject} is {verdict} ({causes})", r), true
		}
	}
	return fill("{subject} is {verdict}", r), false
}

// interference is the comparison of a stack with its parts: "kv_cache and moe together
// are 12.0% worse in chat.tg than the product of their gains (interval -18.0% to
// -6.0%): they interfere".
func interference(r verdict.Reason) string {
	way, by := "better", 0.0
	if ratio := r.Args["ratio"].Number; ratio != nil {
		by = *ratio
	}
	if by < 0 {
		way, by = "worse", -by
	}
	text := fmt.Sprintf("%s together are %s %s in %s than the product of their gains",
		join(r.Args["parts"].List, "and"), strings.TrimPrefix(Percent(by, 1), "+"), way, r.Args["metric"].Text)
	low, high := r.Args["low"].Number, r.Args["high"].Number
	if low == nil || high == nil {
		return text + ", without an interval: whether they interfere is open"
	}
	text += fmt.Sprintf(" (interval %s to %s): ", Percent(*low, 1), Percent(*high, 1))
	switch {
	case *high < 0:
		return text + "they interfere"
	case *low > 0:
		return text + "they help each other"
	}
	return text + "no interaction is shown"
}
