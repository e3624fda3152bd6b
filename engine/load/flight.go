package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// point is one moment of a cell: tokens that arrived, and what was in flight and
// being answered then, the request that it is of included.
type point struct {
	at                time.Duration
	what              int
	tokens            int
	flying, answering int
}

// What may happen at a point, in the order in which it counts at one time.
const (
	sentOne = iota
	firstToken
	moreTokens
	lastToken
	endedOne
)

// pointsOf are the moments of samples with events, in order.
func pointsOf(samples []measure.Sample) []point {
	var points []point
	for _, s := range samples {
		points = append(points, point{at: s.Start, what: sentOne}, point{at: s.Start + s.Events[len(s.Events)-1].At, what: endedOne})
		count, first, last := 0, -1, -1
		for i, e := range s.Events {
			if !e.HasText() {
				continue
			}
			tokens := 1
			if e.Tokens > count {
				tokens = e.Tokens - count
				count = e.Tokens
			}
			if first < 0 {
				first = i
			} else {
				points = append(points, point{at: s.Start + e.At, what: moreTokens, tokens: tokens})
			}
			last = i
		}
		if first >= 0 {
			points = append(points, point{at: s.Start + s.Events[first].At, what: firstToken}, point{at: s.Start + s.Events[last].At, what: lastToken})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what)) })
	flying, answering := 0, 0
	for i := range points {
		switch points[i].what {
		case sentOne:
			flying++
		case firstToken:
			answering++
		}
		points[i].flying, points[i].answering = flying, answering
		switch points[i].what {
		case lastToken:
			answering--
		case endedOne:
			flying--
		}
	}
	return points
}

// textEvents is how many events of an answer carried what the model wrote.
func textEvents(s measure.Sample) int {
	n := 0
	for _, e := range s.Events {
		if e.HasText() {
			n++
		}
	}
	return n
}
