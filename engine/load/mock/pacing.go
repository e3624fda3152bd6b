package mock

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Pacing is how one answer is timed. A request carries it in its field "mock";
// members that it leaves out are the server's defaults.
type Pacing struct {
	// ID is the name of the answer in Truth. Without it, it is the text of the
	// prompt where that has at most 64 bytes, otherwise the answer's own id.
	ID string `json:"id,omitempty"`
	// TTFT is the time from the arrival of the request to the first event with
	// text, and ITL the time from one event to the next, both in µs. They are
	// deadlines counted from the arrival: a late event makes no other one late.
	TTFT int64 `json:"ttft_us"`
	ITL  int64 `json:"itl_us"`
	// Tokens is the length of the answer; 0 takes the request's max_tokens.
	Tokens int `json:"tokens,omitempty"`
	// PerEvent is how many tokens an event carries, as with speculative decoding.
	PerEvent int `json:"tokens_per_event,omitempty"`
	// Jitter delays each event by up to so many µs, evenly distributed and fixed
	// by the ID.
	Jitter int64 `json:"jitter_us,omitempty"`
	// Align puts deadlines off to the next multiple of so many µs on the server's
	// clock: an engine that computes a batch step by step sends the tokens of all
	// requests of a step at once.
	Align int64 `json:"align_us,omitempty"`
}

const (
	// defaultTokens is the length of answers to requests without max_tokens: as
	// of the API.
	defaultTokens = 16
	maxTokens     = 1 << 20
	maxPerEvent   = 64
	// maxWait bounds each time, in µs: an hour.
	maxWait = 3600 * 1000 * 1000
)

func (p Pacing) check() error {
	for name, us := range map[string]int64{"ttft_us": p.TTFT, "itl_us": p.ITL, "jitter_us": p.Jitter, "align_us": p.Align} {
		if us < 0 || us > maxWait {
			return fmt.Errorf("mock.%s is %d: use 0 to %d", name, us, int64(maxWait))
		}
	}
	switch {
	case p.Tokens < 1 || p.Tokens > maxTokens:
		return fmt.Errorf("an answer of %d tokens: use 1 to %d (max_tokens, or mock.tokens)", p.Tokens, maxTokens)
	case p.PerEvent < 1 || p.PerEvent > maxPerEvent:
		return fmt.Errorf("mock.tokens_per_event is %d: use 1 to %d", p.PerEvent, maxPerEvent)
	}
	return nil
}

// events is how many events with text the answer has.
func (p Pacing) events() int { return (p.Tokens + p.PerEvent - 1) / p.PerEvent }

// schedule says when events are due. It has no clock.
type schedule struct {
	first, gap, jitter, align int64 // ns
	r                         *rand.Rand
}

func (p Pacing) schedule(arrival int64) schedule {
	us := int64(time.Microsecond)
	s := schedule{first: arrival + p.TTFT*us, gap: p.ITL * us, jitter: p.Jitter * us, align: p.Align * us}
	if s.jitter > 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.ID))
		s.r = rand.New(rand.NewPCG(h.Sum64(), 0))
	}
	return s
}

// due is the deadline of event i, from 0. It is asked for each event once.
func (s *schedule) due(i int) int64 {
	at := s.first + int64(i)*s.gap
	if s.jitter > 0 {
		at += s.r.Int64N(s.jitter)
	}
	if s.align > 0 {
		at += (s.align - at%s.align) % s.align
	}
	return at
}
