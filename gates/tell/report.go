package tell

import (
	"fmt"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var reportPhrases = phrases{
	code.More:        "(and {n} more)",
	code.LevelIs:     "level {subject} {verdict:did}",
	code.LevelCame:   "level {subject}: {verdict}",
	code.OutcomeWas:  "{subject} {verdict:did}",
	code.Unread:      "no result of feature {subject} could be read ({verdict})",
	code.ByRule:      "{subject}",
	code.InError:     inError,
	code.LastLogLine: "last log line: {line}",
	code.FirstAbove:  "and on the first engine, see above",
	code.Withdrawn:   "{verdict}{accepted?, accepted} (attempt {attempt})",

	code.NoLaunch:    "no launch of {features?the stack of all {features} accepted features}{features!{subject}} was measured",
	code.LaunchLacks: "launch {subject} has no {address} {stat}{causes?: {causes}} (mxflow show {subject})",
	code.OtherUnit:   "launch {subject} has {address} in {unit}, the target is in {target}",
	code.SentElse:    "launch {subject} was sent {sent} in {cell}, which the plan no longer sends: apply it again",
	code.NoMean:      "{subject}: {error}",
	code.NoInterval: func(r verdict.Reason) string {
		if n := r.Args["launches"].Number; n != nil && *n >= 2 {
			return fmt.Sprintf("no interval: all %.0f launches have the same value", *n)
		}
		return "no interval: 1 launch of at least 2"
	},
	code.NoRatio: "no ratio: it needs values above zero and a metric with a better direction",

	code.SentApart:        "not compared in {subject}: it was sent {was} and {is}",
	code.MeasuredApart:    "not compared in {subject}: it was measured in two ways (latency correction, enforced lengths or how tokens are counted)",
	code.LackingSomewhere: "not every launch has it",
	code.SideDiffers:      "{subject} was {was}{was!unknown}, is {is}{is!unknown}",
	code.OtherMachine:     "different machines ({causes}): launches show how one machine varies, so the changes have neither bounds nor p",
	code.OtherSession:     "measured in different sessions: drift between them is part of the changes, and the bounds do not cover it",
	code.LeftOut:          "{launches|launch|launches} of {subject} left out: failed, invalid or incoherent",

	code.SettingMoved:      func(r verdict.Reason) string { return fill("{subject} was {was}, now {is}", exact(r)) },
	code.AlternativesMoved: "it was one of {was} alternatives, now one of {is}",
	code.FirstLookMoved:    "the first look was at {was} launches per arm, now at {is}",
}

// inError quotes names that people give to rules: "level kernels", `criterion "fast"`.
func inError(r verdict.Reason) string {
	switch r.Args["role"].Text {
	case verdict.RoleRule, verdict.RoleCriterion:
		return fill("{role} {subject:q}", r)
	}
	return fill("{role} {subject}", r)
}

// exact is a reason with all digits of what was and is: two numbers that differ must
// not look alike.
func exact(r verdict.Reason) verdict.Reason {
	args := verdict.Args{}
	for name, v := range r.Args {
		if v.Number != nil {
			v = verdict.Value{Text: strconv.FormatFloat(*v.Number, 'g', -1, 64)}
		}
		args[name] = v
	}
	r.Args = args
	return r
}
