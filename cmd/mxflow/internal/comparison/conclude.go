package comparison

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/ab"
)

// conclude is the outcome in one sentence, and what to do.
func conclude(r *ab.Result, q *ab.Question, end *ledger.End) {
	var changes, accept []string
	for _, d := range r.Differs {
		switch {
		case d.Intended != "" || d.Name == "":
		case d.Observed:
			changes = append(changes, d.Name)
		default:
			accept = append(accept, d.Name)
		}
	}
	if names := slices.Concat(changes, accept); len(names) > 0 {
		line := q.CommandLine
		for _, f := range [][]string{append([]string{"--changes"}, changes...), append([]string{"--accept"}, accept...)} {
			if len(f) > 1 {
				line += " " + f[0] + " " + shell.Quote(strings.Join(f[1:], ","))
			}
		}
		r.Advice = append(r.Advice, fmt.Sprintf("If %s may differ, declare it: %s", strings.Join(names, ", "), line))
	}
	n := min(len(r.A.Launches), len(r.B.Launches))
	label := q.Label()
	switch {
	case end.Reason.Kind == code.Interrupted.Kind:
		r.Said = fmt.Sprintf("Interrupted: %s of A and %d of B are on record.", verdict.Count(len(r.A.Launches), "launch"), len(r.B.Launches))
		r.Advice = []string{"Run the same command again to resume."}
		return
	case r.Verdict == verdict.Pass:
		r.Said = "B " + q.Claim.Says(label) + "."
	case r.Verdict == verdict.Fail && r.Stopped == verdict.StopScreen:
		r.Said = fmt.Sprintf("B %s, clearly enough for one launch of each.", q.Claim.Not(label))
	case r.Verdict == verdict.Fail && n > 0 && len(r.LogTail) == 0 && r.LevelsPassed():
		r.Said = "B " + q.Claim.Not(label) + "." + worseWords(r, q.Claim)
	case r.Verdict == verdict.Fail && verdict.Holds(r.Reasons, code.CrashedAgain.Kind):
		r.Said = "B crashed again in a fresh launch, under a load that A survived."
	case r.Unfit != "":
		r.Said = r.Unfit + " did not pass qualification, so nothing was compared."
	case r.Verdict == verdict.Fail:
		r.Said = "Nothing was compared."
	case r.Verdict == verdict.Inconclusive && verdict.Holds(r.Reasons, code.MachineDisturbed.Kind):
		r.Said = "This machine disturbed the measurement, so nothing is decided. Run the same command again when nothing else is running; it resumes where this ended."
	case r.Verdict == verdict.Inconclusive && n > 0:
		r.Said = fmt.Sprintf("%s of each do not show whether B %s.", verdict.Launches(n), q.Claim.Says(label))
		if n == 1 {
			r.Said = fmt.Sprintf("One launch of each does not show whether B %s.", q.Claim.Says(label))
		}
		openAdvice(r, q)
	case r.Verdict == verdict.Inconclusive:
		r.Said = "Nothing was measured, so nothing is decided."
	case r.Verdict == verdict.Invalid:
		r.Said = "The comparison does not count."
	case ab.AnyFailed(r.B.All):
		r.Said = "The server of B broke, so nothing is decided."
	case ab.AnyFailed(r.A.All):
		r.Said = "The server of A broke, so nothing is decided."
	default:
		r.Said = "A server or mxflow broke, so nothing is decided."
	}
	if r.Verdict == verdict.Pass && !q.Claim.Given {
		r.Said += whichWay(r, q.Claim)
		r.Advice = append(r.Advice, claimMore(r, q)...)
	}
	if !q.Proves() && !r.EffectShown() && r.Verdict.Decided() {
		r.Advice = append(r.Advice, "Nothing proves that the change took effect. Name a line that B logs while it answers: --must-see-b '*…*'.")
	}
}

// worseWords adds to a fail that B is worse than A, if the bounds show it: "less than 10%
// faster" may be either.
func worseWords(r *ab.Result, c ab.Claim) string {
	if r.Low == nil || r.High == nil || !c.Given {
		return ""
	}
	switch {
	case c.Lower() && *r.Low > 0:
		return fmt.Sprintf(" It takes at least %s more.", percent(*r.Low))
	case !c.Lower() && *r.High < 0:
		return fmt.Sprintf(" It is at least %s slower.", percent(*r.High))
	}
	return ""
}

// whichWay adds to "not slower" whether it is faster at all, as far as the bounds show
// it.
func whichWay(r *ab.Result, c ab.Claim) string {
	if r.Low == nil || r.High == nil {
		return ""
	}
	low, high := gained(r, c)
	better, worse := "faster", "slower"
	switch {
	case low > 0:
		return fmt.Sprintf(" It is at least %[2]s %[1]s.", better, percent(low))
	case high < 0:
		return fmt.Sprintf(" It is at most %[2]s %[1]s.", worse, percent(low))
	}
	return fmt.Sprintf(" It is open whether it is %s.", better)
}

// claimMore is how to claim that B is better, if it looks so: a claim about launches
// already seen is not tested by them.
func claimMore(r *ab.Result, q *ab.Question) []string {
	if r.Low == nil || r.High == nil {
		return nil
	}
	if low, _ := gained(r, q.Claim); low <= 0 {
		return nil
	}
	sign := "+"
	if q.Claim.Lower() {
		sign = "-"
	}
	return []string{fmt.Sprintf("To claim that B is better, state by how much and measure fresh launches: %s --claim='%sN%%' --rerun", q.CommandLine, sign)}
}

// gained is how much better B is, at least and at most, by the bounds.
func gained(r *ab.Result, c ab.Claim) (low, high float64) {
	low, high = c.Change(*r.Low), c.Change(*r.High)
	return min(low, high), max(low, high)
}

// openAdvice is what would settle an open comparison.
func openAdvice(r *ab.Result, q *ab.Question) {
	if q.Quick {
		r.Advice = append(r.Advice, "The same command without --quick continues from these launches.")
		return
	}
	if r.Test == nil {
		return
	}
	i := slices.IndexFunc(r.Test.Beside, func(b verdict.Reason) bool { return b.Kind == code.Settles.Kind || b.Kind == code.SettlesNever.Kind })
	if i < 0 {
		return // nothing was tested
	}
	size := func(name string) (x float64) {
		if v := r.Test.Beside[i].Values[name].Number; v != nil {
			x = *v
		}
		return x
	}
	launches, found := int(size("launches")), fmt.Sprintf("launches of one command vary by %s, and B is %s from the threshold", percent(size("spread")), percent(size("gap")))
	if r.Test.Beside[i].Kind == code.Settles.Kind {
		r.Advice = append(r.Advice, fmt.Sprintf("%d launches of each would probably settle it: %s. The same command with --launches %d continues from these.", launches, found, launches))
		return
	}
	r.Advice = append(r.Advice, fmt.Sprintf("Not even %d launches of each would probably settle it: %s. Reduce the variance (clocks, other load, warm-up).", launches, found))
}

// percent is an unsigned percentage: "19.3%", with more digits for a small one.
func percent(share float64) string {
	return strings.TrimPrefix(verdict.Percent(math.Abs(share), 1), "+")
}
