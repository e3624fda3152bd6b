package load

import (
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

const (
	// fewestEvents is how many text events an answer must have before it says
	// anything that they came together.
	fewestEvents = 8
	// together is the most time between two events that came together: no engine
	// makes 10,000 steps a second for one request, and a client that reads what has
	// piled up is faster.
	together = 100 * time.Microsecond
)

// Held is answers that were kept back on their way.
type Held struct {
	// Requests were, Of so many whose answers have enough events to tell.
	Requests, Of int
	// Longest is the longest that a client waited for such an answer's first event.
	Longest time.Duration
}

// HeldBack finds measured answers that came in one piece: the first text event
// and, with it, most of the others. No engine computes so, as the first token
// comes out of the prompt and each of the others out of a step of its own, many
// tokens though a step of speculative decoding may have. What came so was kept
// back by a server process that had no time to send, or by a proxy that buffers;
// then the time to the first token, the time between tokens and the speed of
// decoding are about that, and only the whole time is the engine's.
//
// Answers whose first event came within limit do not count: as long as they can
// have been kept, so little can the times be off.
func HeldBack(samples []measure.Sample, limit time.Duration) Held {
	var found Held
	measured(samples, func(s measure.Sample) {
		all, first, last := 0, 0, time.Duration(0)
		var began time.Duration
		whole := true
		for _, e := range s.Events {
			if !e.HasText() {
				continue
			}
			if all == 0 {
				began = e.At
			} else if e.At-last > together {
				whole = false
			}
			if whole {
				first++
			}
			all, last = all+1, e.At
		}
		if all < fewestEvents {
			return
		}
		found.Of++
		if 2*first > all && began > limit {
			found.Requests++
			found.Longest = max(found.Longest, began)
		}
	})
	return found
}
