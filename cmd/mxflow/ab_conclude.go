package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// conclude says in one sentence how it came out, and what can be done.
func (r *abResult) conclude(q *ab, end *ledger.End) {
	n := min(len(r.A.Launches), len(r.B.Launches))
	label := q.label()
	switch {
	case end.Reason.Code == code.Interrupted:
		r.Said = fmt.Sprintf("Interrupted: %s of A and %d of B are on record.", count(len(r.A.Launches), "launch"), len(r.B.Launches))
		r.Advice = []string{"The same command goes on where it stopped."}
		return
	case r.Verdict == verdict.Pass:
		r.Said = "B " + q.claim.says(label) + "."
	case r.Verdict == verdict.Fail && r.Stopped == verdict.StopScreen:
		r.Said = fmt.Sprintf("B %s: so far off that one launch of each shows it.", q.claim.not(label))
	case r.Verdict == verdict.Fail && n > 0 && len(r.LogTail) == 0 && r.levelsPassed():
		r.Said = "B " + q.claim.not(label) + "." + r.worse(q.claim)
	case r.Unfit != "":
		r.Said = r.Unfit + " did not pass what comes before measuring, so nothing was compared."
	case r.Verdict == verdict.Fail:
		r.Said = "Nothing was compared."
	case r.Verdict == verdict.Inconclusive && n > 0:
		r.Said = fmt.Sprintf("%s of each do not say whether B %s.", tell.Launches(n), q.claim.says(label))
		if n == 1 {
			r.Said = fmt.Sprintf("One launch of each does not say whether B %s.", q.claim.says(label))
		}
		r.openAdvice(q, n)
	case r.Verdict == verdict.Inconclusive:
		r.Said = "Nothing was measured, so nothing is decided."
	case r.Verdict == verdict.Invalid:
		r.Said = "The comparison does not count."
	case brokeIn(r.B.all):
		r.Said = "The server of B broke, so nothing is decided."
	case brokeIn(r.A.all):
		r.Said = "The server of A broke, so nothing is decided."
	default:
		r.Said = "A server or mxflow broke, so nothing is decided."
	}
	if r.Verdict == verdict.Pass && !q.claim.Given {
		r.Said += r.whichWay(q.claim)
	}
	if !q.proves() && !r.told() && r.Verdict.Decided() {
		r.Advice = append(r.Advice, "Nothing proves that the change took effect. Name a line of B's log that shows it: --must-see-b '*…*'.")
	}
}

// told reports whether the servers themselves say that the change took effect.
func (r *abResult) told() bool {
	return slices.ContainsFunc(r.Differs, func(d abDiff) bool {
		return d.observed && d.Intended != ""
	})
}

// brokeIn reports whether a launch broke.
func brokeIn(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return !l.OK })
}

func (r *abResult) levelsPassed() bool {
	for _, l := range r.levels {
		if l.Verdict != verdict.Pass {
			return false
		}
	}
	return true
}

// whichWay says beside "not slower" whether it is faster at all, as far as the
// bounds show it.
func (r *abResult) whichWay(c abClaim) string {
	if r.Low == nil || r.High == nil {
		return ""
	}
	low, high := c.change(*r.Low), c.change(*r.High)
	if low > high {
		low, high = high, low
	}
	better, worse := "faster", "slower"
	switch {
	case low > 0:
		return fmt.Sprintf(" It is %s, by %s at least.", better, percent(low))
	case high < 0:
		return fmt.Sprintf(" It is %s, by %s at most.", worse, percent(low))
	}
	return fmt.Sprintf(" Whether it is %s stays open.", better)
}

// settles is how far B has to be from a claim for launches of each to tell it in
// four of five cases, in standard deviations between launches.
func settles(launches int, d stats.Design) float64 {
	return stats.Resolvable(launches, d.Pass, 0.8, false)
}

// openAdvice says what would settle what stayed open.
func (r *abResult) openAdvice(q *ab, n int) {
	if q.quick {
		r.Advice = append(r.Advice, "The same command without --quick goes on from these launches.")
		return
	}
	a, okA := logSpread(r.A.Launches)
	b, okB := logSpread(r.B.Launches)
	if !okA || !okB || r.Change == nil {
		return
	}
	sd := math.Sqrt((a*a + b*b) / 2)
	gain := q.claim.change(*r.Change)
	gap := math.Abs(math.Log1p(gain) - math.Log1p(q.claim.Gain))
	if q.claim.lower() {
		gap = math.Abs(math.Log1p(-gain) - math.Log1p(-q.claim.Gain))
	}
	usual := plans.UsualDecision()
	design, err := stats.Offer(usual.FalsePass, usual.FalseFail, usual.Min, max(usual.Max, q.most()), false)
	if err != nil {
		return
	}
	for _, at := range design.Looks {
		if at > n && settles(at, design)*sd <= gap && r.Stopped != verdict.StopFutile {
			r.Advice = append(r.Advice, fmt.Sprintf("%d launches of each would probably settle it: launches vary by %s, and B is %s from the claim. The same command with --launches %d goes on from these.", at, percent(sd), percent(gap), at))
			return
		}
	}
	last := design.Last()
	r.Advice = append(r.Advice, r.busy()...)
	r.Advice = append(r.Advice, fmt.Sprintf("Launches vary by %s, so that %d of each tell B from the claim where it is %s off; it is %s off. Make starts more alike (clocks, other load, warm-up), or claim what these launches show.", percent(sd), last, percent(settles(last, design)*sd), percent(gap)))
}

// logSpread is the standard deviation of the logs of launches.
func logSpread(launches []abLaunch) (sd float64, ok bool) {
	sd, df := stats.Pool([][]float64{values(launches)})
	return sd, df > 0
}

// percent is a share without its sign: "19.3 %", and more digits of a small one.
func percent(share float64) string {
	return strings.TrimPrefix(tell.Percent(math.Abs(share), 1), "+")
}
