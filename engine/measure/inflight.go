package measure

import (
	"cmp"
	"slices"
	"time"
)

// flown is when requests of a cell were in flight within its window, as stretches
// in order that do not touch: warm-ups and contexts too, since the engine works
// on them like on others. Of a request without an event nobody knows how long it
// was in flight.
func flown(w window, sent []Sample) []window {
	var all []window
	for _, s := range sent {
		if !s.recorded() || len(s.Events) == 0 {
			continue
		}
		one := window{max(s.Start, w.from), min(s.Start+s.Events[len(s.Events)-1].At, w.to)}
		if one.exists() {
			all = append(all, one)
		}
	}
	return union(all)
}

// union is the same time in order, overlapping stretches as one.
func union(all []window) (out []window) {
	slices.SortFunc(all, func(a, b window) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for _, w := range all {
		if n := len(out); n > 0 && w.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}

// during is a series without the readings outside of stretches, as union has
// them.
func (s Series) during(stretches []window) Series {
	kept := Series{Name: s.Name, Source: s.Source}
	for i, at := range s.At {
		j, _ := slices.BinarySearchFunc(stretches, at, func(w window, at time.Duration) int { return cmp.Compare(w.to, at) })
		if j < len(stretches) && stretches[j].holds(at) {
			kept.At, kept.Value = append(kept.At, at), append(kept.Value, s.Value[i])
		}
	}
	return kept
}
