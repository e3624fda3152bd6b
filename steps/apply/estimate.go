package apply

import (
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Estimate is how much work an apply has.
type Estimate struct {
	// Launches is their maximum, Least their minimum.
	Launches, Least int
	// Low and High are the seconds that the fewest and the most launches take, if they differ
	// from those on record by less than spread. High is 0 if unknown, and Low then the
	// minimum; 0 if nothing is known.
	Low, High float64
	// Likely is in between: with half of the launches that verdicts may spare; 0 if High is.
	Likely float64
}

// spread is how much longer or shorter than recorded ones launches take at most.
const spread = 1.5

// EstimateOf estimates from the duration of earlier launches.
func EstimateOf(p *plans.Plan, known *LaunchHistory, states []*runtime.State) Estimate {
	return known.of(piecesOf(p, states))
}

// piece is one launch to be made, with the part of its sending time that is fixed by the
// pace of its workloads or levels.
type piece struct {
	runtime.Launch
	node string
	pace float64
	// beside is how many launches of its variant run at once.
	beside int
}

func piecesOf(p *plans.Plan, states []*runtime.State) (all []piece) {
	for _, n := range states {
		pace := SentLoadOf(p, n.Node).Seconds
		rounds := map[string]int{} // of its variants
		for _, l := range n.Launches {
			if l.Purpose == ledger.ForBenchmark {
				rounds[l.VariantKey]++
			}
		}
		for _, l := range n.Launches {
			at := piece{Launch: l, node: n.Node.ID, pace: pace + l.Paced, beside: 1}
			if p.Executor != nil && l.Purpose == ledger.ForBenchmark && !l.Alone {
				at.beside = max(1, min(p.Executor.Slots, rounds[l.VariantKey]))
			}
			all = append(all, at)
		}
	}
	return all
}

func (k *LaunchHistory) of(pieces []piece) (e Estimate) {
	bounded := true
	for _, l := range pieces {
		seconds, known := k.median(l)
		e.Launches++
		e.High += spread * seconds
		if bounded = bounded && known; l.Sure {
			e.Least++
			e.Low += max(seconds/spread, l.pace/float64(l.beside))
		} else {
			seconds /= 2
		}
		e.Likely += seconds
	}
	if !bounded {
		e.Likely, e.High = 0, 0
	}
	return e
}

// median is how long the newest launches like this one took, by which it prolongs an apply. If
// none was made with its load by its engine, only the time of a start is known.
func (k *LaunchHistory) median(l piece) (seconds float64, known bool) {
	alike := k.newestWhere(func(t launchTime) bool {
		return t.variant == l.VariantKey && t.purpose == l.Purpose && t.work == l.Work
	})
	engine := engineKey(l.Engine, l.Model)
	if len(alike) == 0 {
		alike = k.newestWhere(func(t launchTime) bool {
			return t.engine == engine && t.purpose == l.Purpose && t.work == l.Work
		})
	}
	if len(alike) == 0 && l.Purpose == ledger.ForAgreement { // which asks less than it asks about
		alike = k.newestWhere(func(t launchTime) bool {
			return t.engine == engine && t.purpose == ledger.ForBenchmark
		})
	}
	took := func(t launchTime) float64 { return t.seconds }
	if known = len(alike) > 0; !known {
		alike = k.newestWhere(func(t launchTime) bool { return t.engine == engine && t.start > 0 })
		took = func(t launchTime) float64 { return t.start }
	}
	var all []float64
	for _, t := range alike {
		all = append(all, took(t))
	}
	if slices.Sort(all); len(all) > 0 {
		seconds = measure.Quantile(all, 0.5)
	}
	if !known || l.Paced > 0 && seconds <= l.pace { // they were paced differently
		seconds += l.pace
	}
	return max(seconds, l.pace) / float64(l.beside), known
}
