package ledger

import (
	"cmp"
	"slices"
)

// Numbers are the numbers by which people are told of a session's launches, by ID,
// from 1 in the order of the starts. A launch that is made again for one that does
// not count keeps its number, so that "launch 5 of 16" is the same in the progress
// and in all that is said of it later; Order counts every start.
func Numbers(session []*Launch) map[string]int {
	type place struct {
		variant string
		ordinal int
	}
	sorted := slices.Clone(session)
	slices.SortStableFunc(sorted, func(a, b *Launch) int { return cmp.Compare(a.Order, b.Order) })
	places, out := map[place]int{}, map[string]int{}
	for _, l := range sorted {
		at := place{l.VariantKey, l.Ordinal}
		if places[at] == 0 {
			places[at] = len(places) + 1
		}
		out[l.ID] = places[at]
	}
	return out
}
