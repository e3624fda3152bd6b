package tell

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var arguePhrases = phrases{
	code.ByLogs:        "Welch's t-test on the logarithms of both arms' launches",
	code.ByDifferences: "Welch's t-test on the untransformed launches of both arms",
	code.ByRounds:      "one-sample t-test on the differences between the arms{logs?' logarithms} within each round",
	code.ByPlaces:      "one-sample t-test at each place, using the spread of launches around their place's mean. Interleaving does not protect it from drift",
	code.ByLogLevel:    "one-sample t-test on the logarithms of one arm's launches. Interleaving does not protect it from drift",
	code.ByLevel:       "one-sample t-test on the untransformed launches of one arm. Interleaving does not protect it from drift",
	code.ByRange:       "no t-test, because it hardly varies: the full range of the launches against the limit",
	code.ByValues:      "on exact values, which repeated looks do not change",
	code.ByCrashes:     "by counting the starts that crashed, without a t-test: a few clean starts do not rule out a crash",
	code.ByPairs:       "by counting, without a t-test: it must hold for every launch against every launch of the other arm",
	code.ByCount:       "by counting, without a t-test: it must hold for every launch",
	code.ByUnknown:     "by a test that this version does not know: {form:q}",

	code.Found: sided("found {left} {op} {right}: {holds}"),
	code.FoundEach: func(r verdict.Reason) string {
		where := map[string]string{"pair": "for every pair of launches", "launch": "in every launch"}[r.Args["each"].Text]
		return sided("found {left}{launch? in launch {launch} of {launches}}, wanted {negated?not }{op} {right} " + where + "{holds?: {holds}}")(r)
	},
	code.Untestable: sided("found {left} against {right}, which could not be tested"),

	code.LookScreens: "fail: screened",
	code.LookEarly:   "no test yet",
	code.LookUnclear: "not clear after two",
	code.LookNear:    "too near for {launches|launch|launches}",
	code.LookGoesOn:  "continue",
	code.LookPasses:  "pass: p ≤ {level}",
	code.LookFails:   "fail: p ≤ {level}",
	code.LookFutile:  "stop: futile",
	code.LookLast:    "last look",
	code.LookOpen:    "open",

	code.DecidedPass:    "decided at " + perArm + ": pass, {p:is} (required ≤ {level})" + behind,
	code.DecidedFail:    "decided at " + perArm + ": fail, {p:is} (required ≤ {level})" + behind,
	code.StoppedScreen:  "screened at " + perArm + ": too far beyond the threshold for more launches to be worth it. This is not a test of launch-to-launch variance",
	code.StoppedFutile:  "stopped at " + perArm + ": the chance of a verdict by the last look was {chance:2}, less than 5%",
	code.StoppedEnd:     "ended at " + perArm + ", the plan's maximum: {near!neither level was reached}{near?so few decide only what is more than {near:2} from the threshold, as starts may have two speeds} ({p_pass:is} for a pass, {p_fail:is} for a fail)",
	code.StoppedOpen:    "still open after " + perArm + "{causes?: {causes}}{causes!: continue with more launches}",
	code.NoLook:         "still open: {launches} against {base} launches recorded, first look not reached",
	code.StoppedUnknown: "it ended in a way that this version does not know: {stop:q}",

	code.RecordedOnly:   "recorded only: launches are made for rules that decide",
	code.DecidedWithout: "no more were made: the rule is decided without it",
	code.OtherDecided:   "no more were made: {subject} {verdict:did}",
	code.ForHypothesis:  "launches are made for criteria, not for a hypothesis",

	code.Levels:            "a look passes at p ≤ {pass} and fails at p ≤ {fail}{causes?: {causes}}{plan?. Looks were planned at {plan:and} launches per arm}",
	code.ShareAll:          "fail α split over {n} conditions",
	code.ShareOne:          "pass α split over {n} conditions, one of which must hold",
	code.ShareAlternatives: "pass α split over {n} alternatives",
	code.ShareTry:          "pass α of try {n}",
	code.Estimated:         "estimate {estimate}, decision bounds {low} to {high}",
	code.Ranged:            "launches of {arm} have {values}{against?, those of {against} {base}}",
	code.RangeBetween:      "so {relation?the {relation} of any two launches}{relation!every launch} is between {low} and {high}, and the limit is {limit}{relation?. A limit in between is inconclusive}",
	code.WouldPassToo:      "a threshold " + upTo + " {pass} would have passed at this look too, " + from + " {fail} on failed, in between continued",
	code.WouldPass:         "a threshold " + upTo + " {pass} would have passed at this look, " + from + " {fail} on failed; " + needed,
	code.WouldHavePassed:   "with a threshold " + upTo + " {pass} these launches would have passed, and short of {fail} they would not have failed; " + needed,
	code.HypothesisCame:    "{subject} {expect}: {outcome!not decided}{outcome}{post_hoc?, POST HOC: claimed after its launches were measured, so they prove nothing about it}",
}

const (
	threshold = "{least?at least {least}}{most?at most {most}}"
	behind    = "{behind?. Launches after that look were made for other comparisons ({behind} of this arm are recorded) and do not change it}"
	upTo      = "{less?down to}{less!up to}"
	from      = "{less?down from}{less!from}"
	needed    = "with the threshold as it is, an estimate of {needed} would have passed"
)

// sided is a template in which both sides of a comparison look different if they are.
func sided(template string) func(verdict.Reason) string {
	return func(r verdict.Reason) string {
		left, right := sides(r.Args["left"], r.Args["right"])
		r.Args = maps.Clone(r.Args)
		if r.Args != nil {
			r.Args["left"], r.Args["right"] = verdict.Value{Text: left}, verdict.Value{Text: right}
		}
		return fill(template, r)
	}
}
