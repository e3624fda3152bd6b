package main

import (
	"fmt"
	"math"
	"sort"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
)

// changeSaid is what would have changed the verdict: other thresholds on the same
// launches, or another estimate with the same spread.
func changeSaid(s scale) string {
	t := s.test
	if len(t.Looks) == 0 || t.Low == nil || t.High == nil {
		return ""
	}
	l := t.Looks[len(t.Looks)-1]
	if !(l.SE > 0) || !(l.DF > 0) {
		return ""
	}
	// The claim that would just pass and the one that would just fail.
	pass, fail, upTo, from := *t.Low, *t.High, "up to", "from"
	if !t.More {
		pass, fail, upTo, from = *t.High, *t.Low, "down to", "down from"
	}
	if s.text(pass) == s.text(fail) {
		return "" // nothing varied
	}
	needed := s.own(t.Theta + stats.Quantile(t.Pass, l.DF)*l.SE)
	switch t.Stop {
	case verdict.StopPass:
		return fmt.Sprintf("A threshold %s %s would have passed at this look too; %s %s on it would have failed, and between the two it would have gone on.",
			upTo, s.text(pass), from, s.text(fail))
	case verdict.StopFail:
		return fmt.Sprintf("With a threshold %s %s these launches would have passed, and short of %s they would not have failed; with the threshold as it is, an estimate of %s would have passed.",
			upTo, s.text(pass), s.text(fail), s.text(needed))
	}
	return fmt.Sprintf("With a threshold %s %s it would have passed at this look, and %s %s on it would have failed; with the threshold as it is, an estimate of %s would have passed.",
		upTo, s.text(pass), from, s.text(fail), s.text(needed))
}

// likely is the chance of a verdict that a number of launches is named for.
const likely = 0.8

// moreSaid says how many launches would probably settle what is open, as if the
// estimate and the standard deviation of now were the true ones.
func moreSaid(s scale) string {
	t := s.test
	if len(t.Looks) == 0 || t.Stop != verdict.StopOpen && t.Stop != verdict.StopFutile && t.Stop != verdict.StopEnd {
		return ""
	}
	l := t.Looks[len(t.Looks)-1]
	if !(l.SE > 0) || !(l.DF > 0) || !(t.Pass > 0) || !(t.Fail > 0) {
		return ""
	}
	most := 0
	if len(t.Plan) > 0 {
		most = t.Plan[len(t.Plan)-1]
	}
	n := settledBy(t, l)
	at := "launches an arm"
	if t.Against == "" {
		at = "launches"
	}
	switch {
	case n == 0:
		return fmt.Sprintf("Even %d %s, the most that a plan may make, would probably not settle it: the effect is too near to the threshold for how launches differ. Another threshold, or less noise, would.", mostLaunches, at)
	case n <= most:
		return fmt.Sprintf("About %d %s would probably settle it (%.0f %% chance, if the estimate and the spread stay), which is %d more.", n, at, 100*likely, n-l.N)
	}
	return fmt.Sprintf("About %d %s would probably settle it (%.0f %% chance, if the estimate and the spread stay); the plan makes at most %d. Going on needs a larger max in its decision block, declared before the first launch.", n, at, 100*likely, most)
}

// settledBy is the least number of launches an arm that resolves the distance of a
// look's estimate from the threshold; 0 where the most that a plan may make do not.
func settledBy(t *verdict.Test, l verdict.Look) int {
	single := t.Against == ""
	arms := 2.0
	if single {
		arms = 1
	}
	sd := l.SE * math.Sqrt(float64(l.N)/arms)
	gap, at := l.Estimate-t.Theta, t.Pass
	if gap < 0 {
		gap, at = -gap, t.Fail
	}
	resolves := func(n int) bool { return gap >= sd*stats.Resolvable(n, at, likely, single) }
	if l.N >= mostLaunches || !resolves(mostLaunches) {
		return 0
	}
	return l.N + 1 + sort.Search(mostLaunches-l.N-1, func(i int) bool { return resolves(l.N + 1 + i) })
}
