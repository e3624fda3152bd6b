package gates

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// A place stands out if its parent is this far from those elsewhere, and by that many
// standard deviations of its launches on one place.
const (
	placeApart  = 0.03
	placeSpread = 4
)

// placesOf says how places bear on a test, and which of them stands out; nothing if all
// launches ran on one.
func placesOf(c *plans.Compare, sc scale, p pairs) (said []verdict.Reason) {
	if p.blocks() == nil {
		return nil
	}
	names := distinct(p.places)
	if !c.Metric.Comparing() {
		return verdict.Because(code.OnEach, verdict.List("places", names))
	}
	said = verdict.Because(code.WithinRounds, verdict.List("places", names))
	base, err := sc.values(p.base, p.baseIDs)
	if err != nil || !sc.logs {
		return said
	}
	groups := map[string][]float64{}
	for i, on := range p.places {
		groups[on] = append(groups[on], base[i])
	}
	var spread [][]float64
	mean := map[string]float64{}
	for _, on := range names {
		spread = append(spread, groups[on])
		for _, x := range groups[on] {
			mean[on] += x / float64(len(groups[on]))
		}
	}
	sd, df := stats.Pool(spread)
	for _, on := range names {
		others := 0.0
		for _, other := range names {
			if other != on {
				others += mean[other] / float64(len(names)-1)
			}
		}
		apart := sc.sign * (mean[on] - others)
		// Of two places either may be the one that stands out.
		if len(names) > 2 && math.Abs(apart) > math.Log1p(placeApart) && (df == 0 || math.Abs(apart) > placeSpread*sd) {
			said = append(said, verdict.New(code.PlaceApart, verdict.Num("share", math.Expm1(apart), shareUnit)).On(on))
		}
	}
	return said
}

// distinct returns the names of places, each once.
func distinct(places []string) (names []string) {
	for _, on := range places {
		if !slices.Contains(names, on) {
			names = append(names, on)
		}
	}
	return names
}
