package apply

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Estimate is how much work an apply has.
type Estimate struct {
	// Launches is their maximum, Least their minimum.
	Launches, Least int
	// Low and High are the seconds that the launches take in 9 of 10 cases. High is 0 if
	// unknown, and Low then the minimum; 0 if nothing is known.
	Low, High float64
	// Likely is in between: with half of the launches that verdicts may spare; 0 if High is.
	Likely float64
}

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
	// rounds are the remaining rounds of its session, of which slots run side by side; 0
	// for a launch that runs alone.
	rounds, slots int
}

// share is the part of its duration that prolongs a session: rounds side by side take as
// long as one.
func (l piece) share() float64 {
	if l.rounds < 1 || l.slots < 1 {
		return 1
	}
	waves := (l.rounds + l.slots - 1) / l.slots
	return float64(waves) / float64(l.rounds)
}

func piecesOf(p *plans.Plan, states []*runtime.State) (all []piece) {
	slots := 1
	if p.Executor != nil {
		slots = p.Executor.Slots
	}
	for _, n := range states {
		pace := SentLoadOf(p, n.Node).Seconds
		rounds := map[string]int{} // of its variants
		for _, l := range n.Launches {
			if l.Purpose == ledger.ForBenchmark {
				rounds[l.VariantKey]++
			}
		}
		for _, l := range n.Launches {
			at := piece{Launch: l, node: n.Node.ID, pace: pace + l.Paced}
			if l.Purpose == ledger.ForBenchmark && !l.Alone {
				at.rounds, at.slots = rounds[l.VariantKey], slots
			}
			all = append(all, at)
		}
	}
	return all
}

func (k *LaunchHistory) of(pieces []piece) (e Estimate) {
	bounded := true
	for _, l := range pieces {
		low, mid, high := k.span(l)
		e.Launches++
		if l.Sure {
			e.Least++
			e.Low += low * l.share()
		} else {
			mid /= 2
		}
		e.Likely += mid * l.share()
		e.High += high * l.share()
		bounded = bounded && high > 0
	}
	if !bounded {
		e.Likely, e.High = 0, 0
	}
	return e
}

// asFast is how much slower or faster a variant that was never launched may be than the only
// one of its engine that was, under the same load.
const asFast = 2

// span is the duration of a launch in 9 of 10 cases, and the likely one in between; mid and
// high are 0 if unknown. A launch with the same load and purpose says most. One of another
// variant of that engine bounds it, best one of its name from before an edit; and one with
// another load shows how long a start takes.
func (k *LaunchHistory) span(l piece) (low, mid, high float64) {
	same := k.newestWhere(func(t launchTime) bool {
		return t.variant == l.VariantKey && t.purpose == l.Purpose && t.work == l.Work
	})
	if len(same) > 0 {
		low, mid, high = within(same, func(t launchTime) float64 { return t.seconds })
		if l.Paced == 0 || high > l.pace {
			return max(low, l.pace), max(mid, l.pace), max(high, l.pace)
		}
		// They were paced differently: the pace is added to what they took.
		return low + l.pace, mid + l.pace, high + l.pace
	}
	engine := engineKey(l.Engine, l.Model)
	starts := k.newestWhere(func(t launchTime) bool { return t.variant == l.VariantKey && t.start > 0 })
	if len(starts) == 0 {
		starts = k.newestWhere(func(t launchTime) bool { return t.engine == engine && t.start > 0 })
	}
	low = l.pace
	if len(starts) > 0 {
		start, _, _ := within(starts, func(t launchTime) float64 { return t.start })
		low += start
	}
	others := k.newestWhere(func(t launchTime) bool { return t.engine == engine && t.purpose == l.Purpose && t.work == l.Work })
	if len(others) == 0 && l.Purpose == ledger.ForAgreement { // which asks less than it asks about
		others = k.newestWhere(func(t launchTime) bool { return t.engine == engine && t.purpose == ledger.ForBenchmark })
	}
	if slices.ContainsFunc(others, func(t launchTime) bool { return t.name == l.Variant }) { // before it was edited
		others = slices.DeleteFunc(others, func(t launchTime) bool { return t.name != l.Variant })
	}
	of := map[string][]launchTime{} // by variant: the slowest bounds others, and a single one says less
	for _, t := range others {
		of[t.variant] = append(of[t.variant], t)
	}
	fastest := math.Inf(1)
	for _, own := range sorted.All(of) {
		least, usual, most := within(own, func(t launchTime) float64 { return t.seconds })
		if len(of) == 1 {
			most *= asFast
		}
		fastest = min(fastest, least/asFast)
		mid += usual / float64(len(of))
		high = max(high, most, low)
	}
	if len(of) > 0 {
		low = max(low, fastest)
		mid, high = max(mid, low), max(high, low)
	}
	return low, mid, high
}

// Launches of a variant differ: how much is assumed, with as many degrees of freedom,
// since one launch does not show it.
const (
	guessedSD = 0.15
	guessedDF = 3
)

// within are the bounds for the next of these in 9 of 10 cases, by Student's t on logs, and
// the geometric mean.
func within(of []launchTime, value func(launchTime) float64) (low, mid, high float64) {
	mean, sum, n := 0.0, 0.0, float64(len(of))
	for _, t := range of {
		mean += math.Log(value(t)) / n
	}
	for _, t := range of {
		sum += math.Pow(math.Log(value(t))-mean, 2)
	}
	df := n - 1 + guessedDF
	sd := math.Sqrt((sum + guessedDF*guessedSD*guessedSD) / df)
	by := stats.Quantile(0.05, df) * sd * math.Sqrt(1+1/n)
	return math.Exp(mean - by), math.Exp(mean), math.Exp(mean + by)
}
