package tell

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var arguePhrases = phrases{
	code.ClaimGain:        "{metric} of {arm} is {worse?worse}{worse!better} than that of {against} by " + threshold,
	code.ClaimChange:      "{metric} of {arm} changes against {against} by " + threshold,
	code.ClaimDelta:       "{metric} of {arm} minus that of {against} is " + threshold,
	code.ClaimLevel:       "{metric} of {arm} is " + threshold,
	code.ClaimRangeChange: "{metric} of every launch of {arm}, against every launch of {against}, keeps to a change of {limit}",
	code.ClaimRangeDelta:  "{metric} of every launch of {arm} minus that of every launch of {against} keeps to {limit}",
	code.ClaimRange:       "{metric} of every launch of {arm} keeps to {limit}",

	code.ByLogs:        "Welch's t-test on the logs of the launches of both arms",
	code.ByDifferences: "Welch's t-test on the launches of both arms as they are",
	code.ByRounds:      "one-sample t-test on the differences of both arms{logs?' logs} within each round",
	code.ByPlaces:      "one-sample t-test on each place, with the spread that launches have about the means of their places. Interleaving does not protect it from drift",
	code.ByLogLevel:    "one-sample t-test on the logs of the launches of one arm. Interleaving does not protect it from drift",
	code.ByLevel:       "one-sample t-test on the launches of one arm as they are. Interleaving does not protect it from drift",
	code.ByRange:       "no t-test, since it hardly varies: the whole range of the launches against the limit",
	code.ByValues:      "on the values themselves, which are the same however often they are looked at",
	code.ByCrashes:     "by counting the starts that crashed: no t-test, and what few starts did not show may still happen",
	code.ByPairs:       "by counting: no t-test, and every launch has to keep to it against every one of the other arm",
	code.ByCount:       "by counting: no t-test, and every launch has to keep to it",
	code.ByUnknown:     "by a test that this version does not know: {form:q}",

	code.Found: sided("found {left} {op} {right}: {holds}"),
	code.FoundEach: func(r verdict.Reason) string {
		where := map[string]string{"pair": "of any two launches", "launch": "in every launch"}[r.Args["each"].Text]
		return sided("found {left}{launch? in launch {launch} of {launches}}, wanted {negated?not }{op} {right} " + where + "{holds?: {holds}}")(r)
	},
	code.Untestable: sided("found {left} against {right}, which could not be tested"),

	code.LookScreens: "fail: screened",
	code.LookEarly:   "no test yet",
	code.LookUnclear: "not clear at two",
	code.LookGoesOn:  "go on",
	code.LookPasses:  "pass: p ≤ {level}",
	code.LookFails:   "fail: p ≤ {level}",
	code.LookFutile:  "stop: futile",
	code.LookLast:    "the end",
	code.LookOpen:    "open",

	code.DecidedPass:    "decided at " + perArm + ": {p:is} for a pass, not above {level}" + behind,
	code.DecidedFail:    "decided at " + perArm + ": {p:is} for a fail, not above {level}" + behind,
	code.StoppedScreen:  "screened at " + perArm + ": it is so far beyond the threshold that more launches are not worth it. This is no test of how launches differ",
	code.StoppedFutile:  "stopped at " + perArm + ": as things stand, a verdict by the last look has {chance:2} chance left, less than 5%",
	code.StoppedEnd:     "ended at " + perArm + ", the most that the plan makes: neither level was reached ({p_pass:is} for a pass, {p_fail:is} for a fail)",
	code.StoppedOpen:    "still open after " + perArm + "{causes?: {causes}}{causes!: continue with more launches}",
	code.NoLook:         "still open: {launches} against {base} launches are recorded, and the first look has not come",
	code.StoppedUnknown: "it ended in a way that this version does not know: {stop:q}",

	code.RecordedOnly:   "launches are made for what decides, and it is recorded only",
	code.DecidedWithout: "no more were made, since the rule is decided without it",
	code.OtherDecided:   "no more were made, since {subject} {verdict:did}",
	code.ForHypothesis:  "launches are made for the criteria, and none for a hypothesis",

	code.Replicates:        "each launch gives one number, since launches are the replicates",
	code.Flatters:          "an estimate that stopped at a pass flatters a little, so quote the interval",
	code.Levels:            "a look passes at p ≤ {pass} and fails at p ≤ {fail}{causes?: {causes}}{plan?. Looks were planned at {plan:and} launches per arm}",
	code.ShareAll:          "fail α split over {n} conditions",
	code.ShareOne:          "pass α split over {n} conditions, one of which must hold",
	code.ShareAlternatives: "pass α split over {n} alternatives",
	code.ShareTry:          "pass α of try {n}",
	code.ShareCells:        "α split over the {n} cells of which the best was picked",
	code.Estimated:         "estimate {estimate}, interval {low} to {high}",
	code.Ranged:            "launches of {arm} have {values}{against?, those of {against} {base}}",
	code.RangeBetween:      "so {relation?the {relation} of any two launches}{relation!every launch} is between {low} and {high}, and the limit is {limit}{relation?. A limit in between is inconclusive}",
	code.WouldPassToo:      "a threshold " + upTo + " {pass} would have passed at this look too, " + from + " {fail} on failed, in between continued",
	code.WouldPass:         "a threshold " + upTo + " {pass} would have passed at this look, " + from + " {fail} on failed; " + needed,
	code.WouldHavePassed:   "with a threshold " + upTo + " {pass} these launches would have passed, and short of {fail} they would not have failed; " + needed,
	code.HypothesisCame:    "{subject} {expect}: {outcome!not decided}{outcome}{post_hoc?, POST HOC: it was claimed after its launches were measured, so they prove nothing of it}",
}

const (
	threshold = "{least?at least {least}}{most?at most {most}}"
	behind    = "{behind?. Launches behind that look were made for other comparisons ({behind} of this arm are recorded) and do not change it}"
	upTo      = "{less?down to}{less!up to}"
	from      = "{less?down from}{less!from}"
	needed    = "with the threshold as it is, an estimate of {needed} would have passed"
)

// sided is a template in which both sides of a comparison look different if they are.
func sided(template string) func(verdict.Reason) string {
	return func(r verdict.Reason) string {
		left, right := Sides(r.Args["left"], r.Args["right"])
		r.Args = maps.Clone(r.Args)
		if r.Args != nil {
			r.Args["left"], r.Args["right"] = verdict.Value{Text: left}, verdict.Value{Text: right}
		}
		return fill(template, r)
	}
}
