package explain

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// rule is a decided rule with what its tests do not record.
type rule struct {
	verdict.Rule
	Of string `json:"of,omitempty"` // an alternative's name
	// Ended is why no more launches are made for what is open; no fact if more are.
	Ended verdict.Reason `json:"ended,omitzero"`
}

// rulesOf are rules that were decided together.
func rulesOf(rules []verdict.Rule, of string) (out []rule) {
	for i, r := range rules {
		out = append(out, rule{r, of, noMore(rules, i)})
	}
	return out
}

// noMore is why no more launches are made for what the rule at i left open; no fact if
// more are.
func noMore(rules []verdict.Rule, i int) verdict.Reason {
	if !rules[i].Decides {
		return verdict.Say("no_more.recorded_only", "recorded only: launches are made for rules that decide")
	}
	if rules[i].Verdict == verdict.Pass || rules[i].Verdict == verdict.Fail {
		return verdict.Say("no_more.decided_without", "no more were made: the rule is decided without it")
	}
	for _, other := range rules {
		if other.Decides && other.Verdict != verdict.Pass && other.Verdict != verdict.Inconclusive {
			return verdict.Say("no_more.other_decided", "no more were made: {subject} {verdict:did}").On(other.Name).Is(other.Verdict)
		}
	}
	return verdict.Reason{}
}

// exact is what was found by a comparison of the values themselves, or of per-launch counts.
func exact(c verdict.Comparison) verdict.Reason {
	left, right, op := c.Left, c.Right, c.Op
	if c.Turned && c.Test.Each != "" {
		left, right, op = right, left, plans.Mirrored(op)
	}
	args := []verdict.Arg{{Name: "left", Value: left}, verdict.Text("op", op), {Name: "right", Value: right}}
	if c.Test.Each == "" {
		return verdict.Say("found", "found {left~right} {op} {right~left}: {holds}",
			append(args, verdict.Text("holds", strconv.FormatBool(c.Holds)))...)
	}
	each := "launch"
	if c.Test.Each == "pair" && !verdict.Holds(c.Test.Beside, code.Crashed.Kind) {
		each = "pair"
	}
	args = append(args, verdict.Text("each", each))
	if c.Launch > 0 {
		args = append(args, verdict.Int("launch", c.Launch), verdict.Int("launches", c.Launches))
	}
	if c.Test.Negated {
		args = append(args, verdict.Text("negated", "not"))
	}
	if c.Verdict == verdict.Pass || c.Verdict == verdict.Fail {
		args = append(args, verdict.Text("holds", strconv.FormatBool(c.Verdict == verdict.Pass)))
	}
	return verdict.Say("found.each",
		"found {left~right}{launch? in launch {launch} of {launches}}, wanted {negated?not }{op} {right~left} "+
			"{each=pair?for every pair of launches}{each=launch?in every launch}{holds?: {holds}}",
		args...)
}

// how names the test.
func how(t *verdict.Test) string {
	const drift = ". Interleaving does not protect it from drift"
	within := len(t.Places) > 0
	switch {
	case t.Form == verdict.Exact && t.Each == "":
		return "on exact values, which repeated looks do not change"
	case t.Form == verdict.Exact && verdict.Holds(t.Beside, code.Crashed.Kind):
		return "by counting the starts that crashed, without a t-test: a few clean starts do not rule out a crash"
	case t.Form == verdict.Exact && t.Each == "pair":
		return "by counting, without a t-test: it must hold for every launch against every launch of the other arm"
	case t.Form == verdict.Exact:
		return "by counting, without a t-test: it must hold for every launch"
	case t.Form == verdict.Ratio && within:
		return "one-sample t-test on the differences between the arms' logarithms within each round"
	case t.Form == verdict.Ratio:
		return "Welch's t-test on the logarithms of both arms' launches"
	case t.Form == verdict.Difference && within:
		return "one-sample t-test on the differences between the arms within each round"
	case t.Form == verdict.Difference:
		return "Welch's t-test on the untransformed launches of both arms"
	case (t.Form == verdict.LogLevel || t.Form == verdict.Level) && within:
		return "one-sample t-test at each place, using the spread of launches around their place's mean" + drift
	case t.Form == verdict.LogLevel:
		return "one-sample t-test on the logarithms of one arm's launches" + drift
	case t.Form == verdict.Level:
		return "one-sample t-test on the untransformed launches of one arm" + drift
	case t.Form == verdict.Range:
		return "no t-test, because it hardly varies: the full range of the launches against the limit"
	}
	return fmt.Sprintf("by a test that this version does not know: %q", t.Form)
}

// came is the consequence of the look at i; a test ends with its last one.
func came(t *verdict.Test, i int, ended verdict.Reason) string {
	last := i == len(t.Looks)-1
	switch {
	case last && t.Stop == verdict.StopScreen:
		return "fail: screened"
	case t.Looks[i].DF == 0 && t.Looks[i].N == 2 && t.First == 2:
		return "not clear after two"
	case t.Looks[i].DF == 0:
		return "no test yet"
	case t.Near(t.Looks[i]):
		return "too near for " + verdict.Launches(t.Looks[i].N)
	case !last, t.Stop == verdict.StopOpen && ended.IsZero():
		return "continue"
	}
	switch t.Stop {
	case verdict.StopPass:
		return "pass: p ≤ " + verdict.PLevel(t.Pass)
	case verdict.StopFail:
		return "fail: p ≤ " + verdict.PLevel(t.Fail)
	case verdict.StopFutile:
		return "stop: futile"
	case verdict.StopEnd:
		return "last look"
	}
	return "open"
}

// below is what follows the looks of a test: levels, what bears on the numbers, what
// decided, the bounds, and what would have changed it. ended is why no more launches are
// made for an open one.
func below(t *verdict.Test, ended verdict.Reason) (lines []string) {
	if len(t.Unpaired) > 0 {
		lines = append(lines, verdict.Sentence(verdict.New(code.NotPaired, verdict.List("launches", t.Unpaired))))
	}
	if t.Form == verdict.Range {
		return append(lines, ranges(t)...)
	}
	if t.Pass != 0 || t.Fail != 0 {
		lines = append(lines, levels(t))
	}
	more := verdict.Reason{}
	for _, r := range t.Beside {
		if r.Kind == code.Settles.Kind || r.Kind == code.SettlesNever.Kind {
			more = r
		} else {
			lines = append(lines, verdict.Sentence(r))
		}
	}
	lines = append(lines, stopped(t, ended))
	if t.Bounded() {
		lines = append(lines, bounds(t))
	}
	if !t.Note.IsZero() {
		lines = append(lines, verdict.Sentence(t.Note))
	}
	if text := change(t); text != "" {
		lines = append(lines, text)
	}
	if !more.IsZero() {
		lines = append(lines, verdict.Sentence(more))
	}
	return lines
}

// levels are those of looks, and how the error rates were shared.
func levels(t *verdict.Test) string {
	text := fmt.Sprintf("A look passes at p ≤ %s and fails at p ≤ %s", verdict.PLevel(t.Pass), verdict.PLevel(t.Fail))
	for i, s := range t.Share {
		text += map[bool]string{true: ": ", false: "; "}[i == 0] + s.Reason().String()
	}
	if len(t.Plan) > 0 {
		var looks []string
		for _, n := range t.Plan {
			looks = append(looks, strconv.Itoa(n))
		}
		text += fmt.Sprintf(". Looks were planned at %s launches per arm", verdict.And(looks))
	}
	return text + "."
}

// stopped is why the test ended; for an open one, what follows.
func stopped(t *verdict.Test, ended verdict.Reason) string {
	if len(t.Looks) == 0 {
		return fmt.Sprintf("Still open: %d against %s recorded, first look not reached.", len(t.Values), verdict.Launches(len(t.Base)))
	}
	l := t.Looks[len(t.Looks)-1]
	at, behind := verdict.Launches(l.N), ""
	if t.Against != "" {
		at += " per arm"
	}
	if n := len(t.Values); n > l.N {
		behind = fmt.Sprintf(" Launches after that look were made for other comparisons (%d of this arm are recorded) and do not change it.", n)
	}
	switch t.Stop {
	case verdict.StopPass:
		return fmt.Sprintf("Decided at %s: pass, %s (required ≤ %s).%s", at, verdict.PIs(l.PPass), verdict.PLevel(t.Pass), behind)
	case verdict.StopFail:
		return fmt.Sprintf("Decided at %s: fail, %s (required ≤ %s).%s", at, verdict.PIs(l.PFail), verdict.PLevel(t.Fail), behind)
	case verdict.StopScreen:
		return "Screened at " + at + ": too far beyond the threshold for more launches to be worth it. This is not a test of launch-to-launch variance."
	case verdict.StopFutile:
		return fmt.Sprintf("Stopped at %s: the chance of a verdict by the last look was %s, less than 5%%.", at, verdict.Digits(l.Chance, "share", -2))
	case verdict.StopEnd:
		why := "neither level was reached"
		if t.Near(l) {
			near := verdict.Digits(l.Margin, t.Unit, -2)
			if t.Form == verdict.Ratio || t.Form == verdict.LogLevel {
				near = verdict.Digits(math.Expm1(l.Margin), "share", -2)
			}
			why = "so few decide only what is more than " + near + " from the threshold, as starts may have two speeds"
		}
		return fmt.Sprintf("Ended at %s, the plan's maximum: %s (%s for a pass, %s for a fail).", at, why, verdict.PIs(l.PPass), verdict.PIs(l.PFail))
	case verdict.StopOpen:
		if !ended.IsZero() {
			return "Still open after " + at + ": " + ended.String() + "."
		}
		return "Still open after " + at + ": continue with more launches."
	}
	return fmt.Sprintf("It ended in a way that this version does not know: %q.", t.Stop)
}

// bounds are the estimate and its bounds in the rule's own number.
func bounds(t *verdict.Test) string {
	own := func(x float64) string { return verdict.Number(x, t.OwnUnit()) }
	return fmt.Sprintf("Estimate %s, decision bounds %s to %s.", own(*t.Estimate), own(*t.Low), own(*t.High))
}

// ranges explain a comparison of ranges.
func ranges(t *verdict.Test) []string {
	span := func(values []float64) string {
		return verdict.Span("", slices.Min(values), slices.Max(values), t.Unit).Value.String()
	}
	own := func(x float64) string { return verdict.Number(x, t.OwnUnit()) }
	has, any, open := fmt.Sprintf("Launches of %s have %s", t.Arm, span(t.Values)), "every launch", ""
	if t.Against != "" {
		has += fmt.Sprintf(", those of %s %s", t.Against, span(t.Base))
		relation := "difference"
		if t.Relative() {
			relation = "change"
		}
		any, open = "the "+relation+" of any two launches", ". A limit in between is inconclusive"
	}
	return []string{has + ".", fmt.Sprintf("So %s is between %s and %s, and the limit is %s%s.", any, own(*t.Low), own(*t.High), own(t.Threshold), open)}
}

// change is what would have changed the verdict: other thresholds on the same launches,
// or another estimate with the same spread; empty if nothing is known of it.
func change(t *verdict.Test) string {
	if t.Low == nil || t.High == nil {
		return ""
	}
	size := max(math.Abs(*t.Low), math.Abs(*t.High))
	if t.OwnUnit() == "ratio" {
		size = max(size, 1) // of a change of nothing
	}
	if math.Abs(*t.Low-*t.High) <= 1e-6*size {
		return "" // nothing varied by more than rounding
	}
	own := func(x float64) string { return verdict.Number(x, t.OwnUnit()) }
	// The threshold that would just pass and the one that would just fail.
	pass, fail, upTo, from := own(*t.Low), own(*t.High), "up to", "from"
	if !t.More {
		pass, fail, upTo, from = fail, pass, "down to", "down from"
	}
	if t.Stop == verdict.StopPass {
		return fmt.Sprintf("A threshold %s %s would have passed at this look too, %s %s on failed, in between continued.", upTo, pass, from, fail)
	}
	if t.Needed == nil {
		return ""
	}
	needed := fmt.Sprintf("with the threshold as it is, an estimate of %s would have passed.", own(*t.Needed))
	if t.Stop == verdict.StopFail {
		return fmt.Sprintf("With a threshold %s %s these launches would have passed, and short of %s they would not have failed; %s", upTo, pass, fail, needed)
	}
	return fmt.Sprintf("A threshold %s %s would have passed at this look, %s %s on failed; %s", upTo, pass, from, fail, needed)
}

// hypothesis explains the outcome of a hypothesis: first the outcome, then each test of
// it.
func hypothesis(h *ledger.Hypothesis) (lines []string) {
	text := fmt.Sprintf("%s %s: not decided", h.Metric, h.Expect)
	if h.Outcome != "" {
		text = fmt.Sprintf("%s %s: %s", h.Metric, h.Expect, h.Outcome)
	}
	if h.PostHoc {
		text += ", POST HOC: claimed after its launches were measured, so they prove nothing about it"
	}
	lines = append(lines, text)
	if h.Test != nil {
		for _, c := range h.Test.Comparisons {
			if t := c.Test; t != nil && len(t.Looks) > 0 {
				if lines = append(lines, stopped(t, verdict.Say("no_more.hypothesis",
					"launches are made for criteria, not for a hypothesis"))); t.Bounded() {
					lines = append(lines, bounds(t))
				}
			}
		}
	}
	return lines
}
