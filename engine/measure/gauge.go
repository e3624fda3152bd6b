package measure

import (
	"maps"
	"slices"
	"time"
)

// Gauge is what all engines behind one address said together at each time at
// which they were read. As in every metric (see engines), the ranks of one engine
// work on the same requests, so that the one that says most counts, and engines
// with requests of their own are added up. It has no readings where there is no
// series of that name.
func Gauge(all []Series, name string) Series {
	said := map[time.Duration]map[string]float64{} // by time and engine
	for _, s := range all {
		if s.Name != name {
			continue
		}
		engine := without(s.Source, ranks)
		for i, at := range s.At {
			if said[at] == nil {
				said[at] = map[string]float64{}
			}
			if most, known := said[at][engine]; !known || s.Value[i] > most {
				said[at][engine] = s.Value[i]
			}
		}
	}
	sum := Series{Name: name}
	for _, at := range slices.Sorted(maps.Keys(said)) {
		total := 0.0
		for _, engine := range slices.Sorted(maps.Keys(said[at])) { // a fixed order, for the last bit
			total += said[at][engine]
		}
		sum.At, sum.Value = append(sum.At, at), append(sum.Value, total)
	}
	return sum
}
