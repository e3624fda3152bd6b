package load

import (
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Shortage is output that was asked for and did not come.
type Shortage struct {
	// Requests fell short, Of so many that were measured.
	Requests, Of int
	// Tokens are missing in all.
	Tokens int
}

// Shortfall finds measured answers with fewer tokens than asked for. With
// ignore_eos there should be none: an engine that stops early has done less
// work than the one it is compared with.
func Shortfall(samples []measure.Sample) Shortage {
	var found Shortage
	for s := range measure.Answered(samples) {
		found.Of++
		if missing := s.RequestedOutput - max(s.OutputTokens, 0); missing > 0 {
			found.Requests++
			found.Tokens += missing
		}
	}
	return found
}

// Deviation is prompts that were not of the length asked for.
type Deviation struct {
	// Requests deviated, Of so many that were measured, Far of them by more than the
	// seams of words in a vocabulary that no probe met.
	Requests, Of, Far int
	// Unknown is the number of requests of which the engine did not say.
	Unknown int
	// Least and Most are the shortest and the longest prompt, in tokens as the
	// engine counted them, without context; 0 when it counted none.
	Least, Most int
}

const (
	// lengthRoom tokens, and lengthShare of a prompt, may an engine count otherwise
	// than a prompt was fitted to.
	lengthRoom  = 2
	lengthShare = 0.01
)

// Deviating compares the engine's own counts of prompt tokens with the number
// asked for; where that is 0, as where lengths differ, with each request's own
// (RequestedPrompt). It is how prompts that were not built with the engine's
// tokenizer are checked after the fact. Of later turns of a conversation it can
// say nothing: their context is known from the same count.
func Deviating(samples []measure.Sample, asked int) Deviation {
	var found Deviation
	for s := range measure.Answered(samples) {
		want := asked
		if want == 0 {
			want = s.RequestedPrompt
		}
		if s.Turn > 0 || want == 0 {
			continue
		}
		found.Of++
		if s.PromptTokens < 0 {
			found.Unknown++
			continue
		}
		n := s.PromptTokens - s.ContextTokens
		if n != want {
			found.Requests++
		}
		if off := max(n-want, want-n); off > lengthRoom && float64(off) > lengthShare*float64(want) {
			found.Far++
		}
		if found.Least == 0 || n < found.Least {
			found.Least = n
		}
		found.Most = max(found.Most, n)
	}
	return found
}

// Lateness is how much later the measuring client did things than it meant to.
type Lateness struct {
	// Over so many of Of were later than the limit.
	Over, Of int
	// P99 is the 99th percentile by the estimator of all other percentiles, which
	// among fewer than about 70 values is the largest; Max the largest.
	P99, Max time.Duration
	// Late says that P99 is beyond the limit, and not by a single value: the
	// machine hiccups once in a while, and a client that cannot keep up is late
	// again and again. It is false for no values at all: then nothing is known, and
	// Of is 0.
	Late bool
}

// Lag is how late the client sent the measured requests of an open loop, failed
// ones included, after they were due: the schedule and the cap on concurrency
// would have let them go, and the client did not. A closed loop has no
// schedule to lag behind; there Delayed tells a client that cannot keep up.
func Lag(samples []measure.Sample, limit time.Duration) Lateness {
	var late []float64
	for _, s := range samples {
		if s.OpenLoop && s.Measured() {
			late = append(late, float64(s.Start-s.Due))
		}
	}
	return lateness(late, limit)
}

// Delayed is how much later the client was woken than it asked to be, between
// two times on the recording's clock, by the series measure.ClientDelay.
func Delayed(delay measure.Series, from, to, limit time.Duration) Lateness {
	var late []float64
	for i, at := range delay.At {
		if at >= from && at <= to {
			late = append(late, delay.Value[i]*float64(time.Millisecond))
		}
	}
	return lateness(late, limit)
}

func lateness(late []float64, limit time.Duration) Lateness {
	found := Lateness{Of: len(late)}
	if found.Of == 0 {
		return found
	}
	slices.Sort(late)
	for _, l := range late {
		if l > float64(limit) {
			found.Over++
		}
	}
	found.P99 = time.Duration(measure.Quantile(late, 0.99))
	found.Max = time.Duration(late[len(late)-1])
	found.Late = found.P99 > limit && found.Over > 1
	return found
}

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
	var gaps []weightedValue
	for s := range measure.Answered(samples) {
		p := pieceOf(s)
		if p.events < fewestEvents {
			continue
		}
		found.Of++
		switch {
		case 2*p.together <= p.events:
			gaps = append(gaps, weightedValue{float64(p.ended-p.began) / float64(p.events-1), 1})
		case p.began > limit:
			whole = append(whole, p)
		}
	}
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

// Contamination is prompt tokens that were not computed but found in a cache.
type Contamination struct {
	// Requests had cached tokens beyond those expected, Of so many measured.
	Requests, Of int
	// Unknown is the number of requests of which the engine did not say. Only
	// with Unknown at 0 do no Requests prove that nothing was cached.
	Unknown int
	// Tokens were cached in all, beyond those expected.
	Tokens int
	// Worst is the largest share of what a prompt should have had computed that
	// was cached, from 0 to 1. A chat template with a fixed beginning shows as a
	// small share in every request.
	Worst float64
}

// Contaminated finds measured requests of which more was cached than was put into
// the cache on purpose: a context that was sent alone before, and the earlier
// turns of a conversation. What all prompts start with may be cached as well:
// template tokens of a chat template, and a system prompt of so many tokens.
func Contaminated(samples []measure.Sample, template, system int) Contamination {
	var found Contamination
	put := onPurpose(samples)
	for s := range measure.Answered(samples) {
		found.Of++
		if s.CachedTokens < 0 {
			found.Unknown++
			continue
		}
		expected := template + min(system, s.ContextTokens)
		if put(s) {
			expected = template + s.ContextTokens
		}
		beyond := s.CachedTokens - expected
		if beyond <= 0 {
			continue
		}
		found.Requests++
		found.Tokens += beyond
		share := 1.0
		if fresh := s.PromptTokens - expected; fresh > beyond {
			share = float64(beyond) / float64(fresh)
		}
		found.Worst = max(found.Worst, share)
	}
	return found
}

// Recomputed finds the opposite: requests whose context was put into the cache
// before and was not found there, wholly or in part. Tokens counts those that
// were missing, Worst is the largest share of a context. The last block of a
// context is hardly ever cached, since caches hold whole blocks.
func Recomputed(samples []measure.Sample) Contamination {
	var found Contamination
	put := onPurpose(samples)
	for s := range measure.Answered(samples) {
		if s.ContextTokens <= 0 || !put(s) {
			continue
		}
		found.Of++
		if s.CachedTokens < 0 {
			found.Unknown++
			continue
		}
		if missing := s.ContextTokens - s.CachedTokens; missing > 0 {
			found.Requests++
			found.Tokens += missing
			found.Worst = max(found.Worst, float64(missing)/float64(s.ContextTokens))
		}
	}
	return found
}

// onPurpose tells whether the engine has computed a request's context before.
func onPurpose(samples []measure.Sample) func(measure.Sample) bool {
	type request struct {
		cell   string
		index  int
		warmup bool
	}
	sent := map[request]bool{}
	for _, s := range samples {
		if s.Context && s.Err == "" {
			sent[request{s.Workload, s.Index, s.Warmup}] = true
		}
	}
	return func(s measure.Sample) bool { return s.Turn > 0 || sent[request{s.Workload, s.Index, s.Warmup}] }
}
