package main

import (
	"fmt"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// assumedSeconds is what a launch is assumed to take where none was recorded.
const assumedSeconds = 5

// estimated is how much an apply has to do.
type estimated struct {
	// launches is how many there are at most, least how many are made in any case.
	launches, least int
	// perLaunch, seconds and leastSeconds are estimates; recorded is false where
	// they rest on no launch at all.
	perLaunch, seconds, leastSeconds float64
	recorded                         bool
}

// estimate takes recorded launch times, see launchSeconds.
func estimate(p *plans.Plan, st *store.Store, preview []runtime.Planned) estimated {
	e := estimated{recorded: true}
	type kind struct {
		variant, purpose string
		least            float64
	}
	known := map[kind]float64{}
	for _, n := range preview {
		least := sentBy(p, n.Node).Seconds
		for _, l := range n.Launches {
			e.launches++
			key := kind{l.VariantKey, l.Purpose, least}
			mean, ok := known[key]
			if !ok && st != nil {
				mean = launchSeconds(st, l, least)
				known[key] = mean
			}
			if mean == 0 {
				mean, e.recorded = assumedSeconds+least, false
			}
			e.seconds += max(mean, least)
			if l.Sure {
				e.least++
				e.leastSeconds += max(mean, least)
			}
		}
	}
	if e.launches > 0 {
		e.perLaunch = e.seconds / float64(e.launches)
	}
	return e
}

// launchSeconds is what launches like this one took: of the same variant or else
// of the same kind of engine, and for the same purpose. Where there were none,
// those for another purpose say how long a start takes, and what is sent on top
// takes its least, or with the start what is assumed of any launch; 0 where
// nothing was ever launched.
func launchSeconds(st *store.Store, l runtime.PlannedLaunch, least float64) float64 {
	for _, key := range []string{l.VariantKey, l.Engine} {
		if mean, n := st.MeanLaunchSeconds(key, l.Purpose); n > 0 {
			return mean
		}
	}
	for _, key := range []string{l.VariantKey, l.Engine} {
		if mean, n := st.MeanLaunchSeconds(key, ""); n > 0 {
			if l.Purpose == ledger.ForBenchmark {
				mean = max(mean, assumedSeconds) // requests that no rate paces take time too
			}
			return mean + least
		}
	}
	return 0
}

// count is how many launches, "8 to 16 launches" where rules decide over some.
func (e estimated) count() string {
	if e.least < e.launches {
		return fmt.Sprintf("%d to %s", e.least, count(e.launches, "launch"))
	}
	return count(e.launches, "launch")
}

func (e estimated) time() string {
	if least, most := rough(e.leastSeconds), rough(e.seconds); least != most {
		return least + " to " + most
	}
	return rough(e.seconds)
}
