package gates

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// tied lists the arms of a test whose launches are all equal.
func tied(t *verdict.Test) (arms []string) {
	equal := func(values []float64) bool { return len(values) > 1 && slices.Min(values) == slices.Max(values) }
	if equal(t.Base) {
		arms = append(arms, t.Against)
	}
	if equal(t.Values) {
		arms = append(arms, t.Arm)
	}
	return arms
}

// spreadOf says where the spread of tied arms comes from, as their launches show none.
func spreadOf(t *verdict.Test, sc scale, arms []string) verdict.Reason {
	list := verdict.List("arms", arms)
	if t.Resolution/math.Sqrt(12) < t.Floor {
		return verdict.New(code.TiedFloored, list)
	}
	tick := t.Resolution
	if sc.logs {
		tick *= slices.Min(slices.Concat(t.Values, t.Base))
	}
	return verdict.New(code.TiedRounded, list, verdict.Num("tick", tick, t.Unit))
}

// withinLaunch says between which of a launch's ordered values a percentile lies: how
// well one launch knows it, not how launches differ. No fact for other statistics.
func withinLaunch(t *verdict.Test, r *reading) verdict.Reason {
	const confidence = 0.95
	p, ok := measure.Percentile(t.Stat)
	if !ok || t.Stat == "median" {
		return verdict.Reason{}
	}
	n := r.NRequests / len(r.own.values)
	stat, requests := verdict.Text("stat", t.Stat), verdict.Int("requests", n)
	if low, high, ok := stats.QuantileRanks(n, p, confidence); ok {
		return verdict.New(code.Ranks, stat, requests, verdict.Int("low", low), verdict.Int("high", high))
	}
	return verdict.New(code.RanksLacking, stat, requests, verdict.Int("takes", stats.LeastForRanks(p, confidence)))
}

// foresee adds to a test that has not passed the estimate that would have, and to an
// undecided one how many launches likely decide it, taking the estimate and standard
// deviation of the last look as the true ones.
func foresee(t *verdict.Test, sc scale, d stats.Design) {
	if len(t.Looks) == 0 || t.Stop == verdict.StopPass {
		return
	}
	l := t.Looks[len(t.Looks)-1]
	if l.DF == 0 {
		return // nothing was tested
	}
	e := stats.Error{Rate: d.FalsePass, Level: t.Pass}
	t.Needed = sc.finite(t.Theta + stats.Reach(t.Pass, l.SE, l.DF, e.Margin(l.N, t.Gap)))
	if t.Stop == verdict.StopFail || t.Stop == verdict.StopScreen {
		return
	}
	single, arms := t.Against == "", 2.0
	if single {
		arms = 1
	}
	gap := l.Estimate - t.Theta
	if gap < 0 {
		gap, e = -gap, stats.Error{Rate: d.FalseFail, Level: t.Fail}
	}
	sd := l.SE * math.Sqrt(float64(l.N)/arms)
	n := e.Settling(l.N, gap, t.Gap, sd, single)
	a := argument{test: t, n: n}
	chance, apart, spread := verdict.Num("chance", stats.Likely, shareUnit), verdict.Num("gap", gap, t.Unit), verdict.Num("spread", sd, t.Unit)
	if sc.logs {
		apart, spread = verdict.Num("gap", math.Expm1(gap), shareUnit), verdict.Num("spread", math.Expm1(sd), shareUnit)
	}
	most := t.Plan[len(t.Plan)-1]
	switch {
	case n == 0:
		a.n = stats.MostLaunches
		t.Beside = append(t.Beside, a.say(code.SettlesNever, apart, spread))
	case n <= most:
		t.Beside = append(t.Beside, a.say(code.Settles, chance, apart, spread, verdict.Int("more", n-l.N)))
	default:
		t.Beside = append(t.Beside, a.say(code.Settles, chance, apart, spread, verdict.Int("most", most)))
	}
}
