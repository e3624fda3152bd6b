package load

import (
	"fmt"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
)

// warmAtOnce is how many warm-ups, and contexts to be cached, of an open loop
// are in flight: enough for an engine to meet several at once. By the schedule
// they would take as long as what is measured.
const warmAtOnce = 4

// job is one conversation of a cell.
type job struct {
	prompt *prompt.Prompt
	index  int
	warmup bool
	// context sends its context alone in place of the conversation, and alone says
	// that nothing else is in flight meanwhile.
	context, alone bool
}

func jobs(prompts []prompt.Prompt, warmup bool) []job {
	list := make([]job, len(prompts))
	for i := range prompts {
		list[i] = job{prompt: &prompts[i], index: i, warmup: warmup}
	}
	return list
}

// arrivals are when the measured conversations of an open loop are scheduled,
// of those within Duration.
func (p Plan) arrivals() ([]time.Duration, error) {
	var at []time.Duration
	if p.Pace.Arrival != Trace {
		var err error
		if at, err = p.Pace.arrivals(p.Requests); err != nil {
			return nil, fmt.Errorf("cell %s: %w", p.Cell, err)
		}
	} else {
		var last time.Duration
		for i, one := range p.Prompts.Measured[:p.Requests] {
			if one.At < last || one.At > maxArrival {
				return nil, fmt.Errorf("cell %s, prompt %d: its trace sends it at %v, after one at %v: times must not fall, and end within %v", p.Cell, i, one.At, last, maxArrival)
			}
			last = one.At
			at = append(at, last)
		}
	}
	if p.Pace.Duration == 0 {
		return at, nil
	}
	within, _ := slices.BinarySearch(at, p.Pace.Duration)
	if within == 0 {
		return nil, fmt.Errorf("cell %s: the first request is scheduled at %v, and the duration is %v: nothing would be sent", p.Cell, at[0], p.Pace.Duration)
	}
	return at[:within], nil
}

// all sends the whole plan, phase by phase; each waits for all its answers.
//
//	closed loop: [first] → warm-ups → measured
//	open loop:   [first] → warm-ups → contexts → measured, by schedule
//
// first is the first conversation of a fresh engine, or its context, of
// whichever phase.
func (r *runner) all(arrivals []time.Duration) {
	p := r.plan
	atOnce := max(p.Pace.Concurrency, 1)
	if p.Pace.Open() {
		atOnce = warmAtOnce
		if most := p.Pace.MaxConcurrency; most > 0 {
			atOnce = min(atOnce, most)
		}
	}
	warm, measured := jobs(p.Prompts.Warmup[:p.Warmup], true), jobs(p.Prompts.Measured[:p.Requests], false)
	if r.stillFresh() && len(warm) > 0 {
		r.closed(warm[:1], 1)
		warm = warm[1:]
	}
	r.closed(warm, atOnce)
	if !p.Pace.Open() {
		r.begin()
		if r.stillFresh() {
			measured[0].alone = true
			r.closed(measured[:1], 1)
			measured = measured[1:]
		}
		r.closed(measured, atOnce)
		return
	}
	measured = measured[:len(arrivals)]
	r.contexts(measured, atOnce)
	r.begin()
	begin := time.Now()
	at := make([]time.Time, len(arrivals))
	if r.stillFresh() {
		// The second comes as long after the answer as it would have come after
		// the first.
		measured[0].alone = true
		r.send(measured[:1], 1, []time.Time{begin})
		begin = time.Now().Add(-arrivals[0])
	}
	for i := range at {
		at[i] = begin.Add(arrivals[i])
	}
	if measured[0].alone {
		measured, at = measured[1:], at[1:]
	}
	r.send(measured, p.Pace.MaxConcurrency, at)
}

// begin tells whoever wants to know that measuring begins.
func (r *runner) begin() {
	if r.plan.Begin != nil && !r.ended() {
		r.plan.Begin()
	}
}

// closed keeps so many conversations in flight, in rounds where contexts are
// cached before.
func (r *runner) closed(list []job, atOnce int) {
	if !r.plan.CacheContext {
		r.send(list, atOnce, nil)
		return
	}
	for round := range slices.Chunk(list, atOnce) {
		if r.ended() {
			return
		}
		r.contexts(round, atOnce)
		r.send(round, atOnce, nil)
	}
}

// contexts puts the contexts of conversations into the engine's cache.
func (r *runner) contexts(list []job, atOnce int) {
	if !r.plan.CacheContext {
		return
	}
	var with []job
	for _, j := range list {
		if _, ok := j.prompt.ContextAlone(); ok {
			j.context = true
			with = append(with, j)
		}
	}
	if r.stillFresh() && len(with) > 0 {
		r.send(with[:1], 1, nil)
		with = with[1:]
	}
	r.send(with, atOnce, nil)
}
