package tell

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var arguePhrases = phrases{
	code.Found: sided("found {left} {op} {right}: {holds}"),
	code.FoundEach: func(r verdict.Reason) string {
		where := map[string]string{"pair": "for every pair of launches", "launch": "in every launch"}[r.Args["each"].Text]
		return sided("found {left}{launch? in launch {launch} of {launches}}, wanted {negated?not }{op} {right} " + where + "{holds?: {holds}}")(r)
	},
	code.Untestable: sided("found {left} against {right}, which could not be tested"),

	code.RecordedOnly:   "recorded only: launches are made for rules that decide",
	code.DecidedWithout: "no more were made: the rule is decided without it",
	code.OtherDecided:   "no more were made: {subject} {verdict:did}",
	code.ForHypothesis:  "launches are made for criteria, not for a hypothesis",

	code.ShareAll:          "fail α split over {n} conditions",
	code.ShareOne:          "pass α split over {n} conditions, one of which must hold",
	code.ShareAlternatives: "pass α split over {n} alternatives",
	code.ShareTry:          "pass α of try {n}",
}

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
