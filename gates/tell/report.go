package tell

import (
	"fmt"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var reportPhrases = phrases{
	code.More:        "(and {n} more)",
	code.LevelIs:     "level {subject} is {verdict}",
	code.LevelCame:   "level {subject}: {verdict}",
	code.OutcomeWas:  "{subject} was {verdict}",
	code.Unread:      "nothing of feature {subject} could be read ({verdict})",
	code.ByRule:      "{subject}",
	code.InError:     inError,
	code.LastLogLine: "last log line: {line}",
	code.FirstAbove:  "and on the first engine as above",
	code.Withdrawn:   "{verdict}{accepted? and accepted} (attempt {attempt})",

	code.NoLaunch:    "no launch of {features?the stack of all {features} accepted features}{features!{subject}} was measured",
	code.LaunchLacks: "launch {subject} has no {address} {stat}{why?: {why}} (mxflow show {subject})",
	code.OtherUnit:   "launch {subject} has {address} in {unit}, and the target is in {target}",
	code.SentElse:    "launch {subject} was sent {sent} in {cell}, which is not what the plan sends now: apply it again",
	code.NoMean:      "{subject}: {error}",
	code.NoInterval: func(r verdict.Reason) string {
		if n := r.Args["launches"].Number; n != nil && *n >= 2 {
			return fmt.Sprintf("all %.0f launches have one value, which gives no interval", *n)
		}
		return "1 launch has no interval: at least 2 are needed"
	},
	code.NoRatio: "no ratio: it takes values above zero and a metric with a better direction",

	code.MeasuredAgain: "it was measured {n} times from the start at this revision, so that the chance of an error is up to {n} times that of one",
	code.Moved:         "attempt {attempt} saw launches that this one rests on and was {verdict} by other rules, so that the error rates do not hold for what was changed since",
	code.RuleDropped:   "{subject} ({expr}) decided then and does not any more",
	code.RuleAdded:     "{subject} ({expr}) did not decide then",
	code.RuleRewritten: "{subject} was {was} and is {is}",
	code.ThresholdMoved: func(r verdict.Reason) string {
		return fill("{subject} ({expr}) was held against {was} and is against {is}", exact(r))
	},
	code.SettingMoved:      func(r verdict.Reason) string { return fill("{subject} was {was} and is {is}", exact(r)) },
	code.AlternativesMoved: "it was one of {was} alternatives for one place and is one of {is}",
	code.FirstLookMoved:    "the first look was at {was} launches an arm and is at {is}",
	code.MostMoved:         "at most {was} launches an arm were declared then, and {is} now",
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
