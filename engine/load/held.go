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
// have been kept, so little can the times be off. Nor do those that were made in
// less time than that, by the pace of the answers that came in pieces: a client
// that is read to a few milliseconds late finds all of them at once.
func HeldBack(samples []measure.Sample, limit time.Duration) Held {
	var found Held
	var whole []piece
	var gaps []weighted
	measured(samples, func(s measure.Sample) {
		p := pieceOf(s)
		if p.events < fewestEvents {
			return
		}
		found.Of++
		switch {
		case 2*p.together <= p.events:
			gaps = append(gaps, weighted{float64(p.ended-p.began) / float64(p.events-1), 1})
		case p.began > limit:
			whole = append(whole, p)
		}
	})
	gap := median(gaps)
	for _, p := range whole {
		if gap < 0 || gap*float64(p.events-1) > float64(limit) {
			found.Requests++
			found.Longest = max(found.Longest, p.began)
		}
	}
	return found
}

// piece is how the text events of an answer came.
type piece struct {
	// events with text, of which so many came together with the first.
	events, together int
	began, ended     time.Duration
}

func pieceOf(s measure.Sample) (p piece) {
	whole := true
	for _, e := range s.Events {
		if !e.HasText() {
			continue
		}
		if p.events == 0 {
			p.began = e.At
		} else if e.At-p.ended > together {
			whole = false
		}
		if whole {
			p.together++
		}
		p.events, p.ended = p.events+1, e.At
	}
	return p
}
