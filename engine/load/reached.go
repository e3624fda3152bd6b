package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Concurrency is how many requests an engine worked on at once, of those that a
// closed loop kept in flight.
type Concurrency struct {
	// Asked is the concurrency that the loop was to keep, 0 in an open loop, and Most the
	// actual maximum.
	Asked, Most int
	// Reached is how many were being answered when tokens were generated (upper quartile
	// over tokens), while as many as requested were in flight; -1 if unknown. Tokens is
	// how many tokens that is based on.
	Reached float64
	Tokens  int
	// By is the source: "engine", by its own gauge of running requests, or "client",
	// which counted arriving answers.
	By string
	// Possible is what an engine without a limit certainly reaches with such requests:
	// long prompts with short answers end faster than new ones can join.
	Possible float64
	// Why is why Reached is unknown or may be below the engine's limit; empty if it is
	// known.
	Why ReachCode
}

// ReachCode is why the concurrency is unknown.
type ReachCode string

const (
	// OpenLoop: an open loop has no fixed concurrency.
	OpenLoop ReachCode = "open_loop"
	// Unanswered: no request was answered.
	Unanswered ReachCode = "unanswered"
	// NeverSent: fewer than requested were ever in flight: Most.
	NeverSent ReachCode = "never_sent"
	// OneToken: answers of one token do not show how many are generated at once.
	OneToken ReachCode = "one_token"
	// TooShort: answers are too short compared with their prompts to tell a limit from
	// the time for prompts: Possible is certain.
	TooShort ReachCode = "too_short"
)

const (
	// chunk is how many prompt tokens engines compute in one step, the smallest
	// of their defaults.
	chunk = 2048
	// stale is how old a reading of the gauge may be.
	stale = time.Second
)

// Enough reports whether the engine reached a share of what was requested. If not known,
// it must not be taken for a yes.
func (c Concurrency) Enough(share float64) (enough, known bool) {
	least := share * float64(c.Asked)
	switch {
	case c.Reached >= least:
		return true, true
	case c.Reached < 0:
		return false, false
	}
	return false, c.Possible >= least || c.Most < c.Asked
}

// Reached determines how many requests an engine really worked on at once in a cell.
// running is the series engine.running, without readings if the engine has none.
//
// It examines each generated token except an answer's first, during the time in which the
// client had the requested number in flight, and takes the upper quartile over tokens of
// what was running then: an engine with a limit never shows more than it, while one
// without shows less whenever an answer has ended and the next prompt is computed. By
// tokens rather than by time, because concurrency is there to make tokens: while prompts
// are computed, engines hold back what they generate, and may show anything. The client's
// own count, of answers between their first and last token, needs no gauge and cannot be
// too high, since a received token was generated; so the higher of both is right. It may
// be too low: what an engine computes without sending is not seen.
//
// Too low a concurrency is only evidence of a limit if there would have been more without
// one. An engine that computes one chunk of a prompt in each step, beside a token of
// every answer, takes a new answer in every k steps for prompts of k chunks, and loses
// each one after as many steps as it has tokens: it holds tokens/k answers. Half of that
// is Possible, so the time for filling up does not count.
func Reached(run measure.CellRun, running measure.Series, samples []measure.Sample) Concurrency {
	c := Concurrency{Asked: run.Concurrency, Reached: -1}
	var cell []measure.Sample
	for _, s := range samples {
		if s.Workload != run.Cell || !s.Measured() || len(s.Events) == 0 {
			continue
		}
		if s.OpenLoop {
			return Concurrency{Reached: -1, Why: OpenLoop}
		}
		cell = append(cell, s)
	}
	if len(cell) == 0 {
		c.Why = Unanswered
		return c
	}
	points := pointsOf(cell)
	for _, p := range points {
		c.Most = max(c.Most, p.flying)
	}
	if c.Most < c.Asked {
		c.Reached, c.By = float64(c.Most), "client"
		c.Why = NeverSent
		return c
	}
	var byClient, byEngine []weightedValue
	reading := 0
	for _, p := range points {
		if p.tokens == 0 || p.flying < c.Asked || p.at < run.From || p.at > run.To {
			continue
		}
		c.Tokens += p.tokens
		byClient = append(byClient, weightedValue{float64(p.answering), p.tokens})
		for reading < len(running.At) && running.At[reading] <= p.at {
			reading++
		}
		if reading > 0 && p.at-running.At[reading-1] <= stale {
			byEngine = append(byEngine, weightedValue{running.Value[reading-1], p.tokens})
		}
	}
	c.Possible = possible(cell)
	if c.Tokens == 0 {
		c.Why = OneToken
		return c
	}
	c.Reached, c.By = upper(byClient), "client"
	if engine := upper(byEngine); engine >= c.Reached {
		c.Reached, c.By = engine, "engine"
	}
	c.Reached = min(c.Reached, float64(c.Asked))
	if c.Possible < float64(c.Asked) {
		c.Why = TooShort
	}
	return c
}

// possible is how many such requests an engine without a limit holds.
func possible(cell []measure.Sample) float64 {
	each := make([]weightedValue, len(cell))
	for i, s := range cell {
		prompt := max(s.PromptTokens-max(s.CachedTokens, 0), 1)
		chunks := (prompt + chunk - 1) / chunk
		// Events, not tokens: a step of speculative decoding makes several.
		each[i] = weightedValue{1 + float64(textEvents(s))/float64(2*chunks), 1}
	}
	return median(each)
}

// weightedValue is a value that counts as often as its weight.
type weightedValue struct {
	value  float64
	weight int
}

// median is the lower median, upper the upper quartile; -1 without values.
func median(list []weightedValue) float64 { return share(list, 2, 4) }
func upper(list []weightedValue) float64  { return share(list, 3, 4) }

// share is the smallest value that so many parts of the weight do not exceed.
func share(list []weightedValue, part, of int) float64 {
	slices.SortFunc(list, func(a, b weightedValue) int { return cmp.Compare(a.value, b.value) })
	total, below := 0, 0
	for _, w := range list {
		total += w.weight
	}
	for _, w := range list {
		if below += w.weight; of*below >= part*total {
			return w.value
		}
	}
	return -1
}

// point is one moment of a cell: tokens that arrived, and what was in flight and being
// answered then, including their own request.
type point struct {
	at                time.Duration
	what              int
	tokens            int
	flying, answering int
}

// What may happen at a point, in the order in which it counts at equal times.
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

// textEvents is how many events of an answer carried the model's output.
func textEvents(s measure.Sample) int {
	n := 0
	for _, e := range s.Events {
		if e.HasText() {
			n++
		}
	}
	return n
}
