// Package load knows when and in which order prompts are sent to an engine, and
// what must be true of their answers' counts and times for the measurement to
// count. It does not know what prompts are made of (engine/load/prompt), how a
// request is sent (engine/openai), what its times mean (engine/measure), whether
// answers read as text (engine/load/coherence), or what follows from a finding:
// it reports, and gates judge.
package load

import (
	"context"
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// Streamer sends one request and watches the answer; *openai.Client is one.
type Streamer interface {
	Stream(ctx context.Context, r openai.Request) (measure.Sample, error)
}

// Plan is one cell of a workload as it is sent during one launch.
type Plan struct {
	// Cell is the cell's address and marks its samples: "chat", "chat.o32".
	Cell string
	// Prompts are what is sent. Every arm of a comparison gets the same.
	Prompts prompt.Prompts
	// Warmup conversations go first, then Requests that are measured; most have
	// one turn and are one request each. Warm-ups of an open loop go at a closed
	// one's pace, a few at a time.
	Requests, Warmup int
	// Pace says when they are sent; the zero value sends one at a time.
	Pace Pace
	// CacheContext sends each prompt's context alone, for one token, before the
	// prompt, so that the engine finds it in its prefix cache. No context is
	// computed while a prompt is measured: a closed loop goes in rounds, first the
	// contexts of as many as it keeps in flight, then their prompts; an open loop
	// begins when all its contexts are cached.
	CacheContext bool
	// Zero is the zero of the recording's monotonic clock, in which samples say
	// when they were sent; the zero Time takes the beginning of the run.
	Zero time.Time
	// Retries is how often a request that the engine puts off (429 or 503 with
	// Retry-After) is sent again, MaxErrors how many requests may fail before the
	// run ends with the error of the last, warm-ups included. A turn that failed
	// ends its conversation.
	Retries, MaxErrors int
	// OutputTokens is how many tokens each answer may have, and with IgnoreEOS
	// shall have.
	OutputTokens int
	API          openai.API
	Temperature  float64
	// TopP, TopK, MinP and RepetitionPenalty are sent where they are not zero.
	TopP, MinP, RepetitionPenalty float64
	TopK                          int
	// Seed of the sampling; nil sends none.
	Seed      *int64
	IgnoreEOS bool
	// RequestTimeout limits a request, StallTimeout the wait between its events.
	// FirstTimeout replaces both for the first request of a fresh engine, where
	// it is longer: kernels may be compiled then. Zero is no limit.
	RequestTimeout, FirstTimeout, StallTimeout time.Duration
	// Fresh says that the engine has answered no request of a workload since its
	// start. It has answered one for a single token, but the shapes of this one
	// may have to be compiled still.
	Fresh bool
	// Begin, when set, is called once, after the warm-ups and before the first
	// request that is measured; what it does takes none of the measured time.
	Begin func()
	// Progress, when set, is called after every request that was answered, one
	// call at a time.
	Progress func(Progress)
}

// Progress is how far a plan has come.
type Progress struct {
	Cell string
	// Done of Total requests are answered, warm-ups and contexts included. A
	// Duration may end a run before.
	Done, Total int
	// Sample is the latest answer.
	Sample measure.Sample
}

func (p Plan) check() error {
	switch {
	case p.Cell == "":
		return fmt.Errorf("a plan needs a cell")
	case p.Requests < 1 || p.Warmup < 0:
		return fmt.Errorf("cell %s: %d requests and %d warm-ups: at least 1 and 0 are needed", p.Cell, p.Requests, p.Warmup)
	case p.OutputTokens < 0 || p.Retries < 0 || p.MaxErrors < 0:
		return fmt.Errorf("cell %s: an output of %d tokens, %d retries, %d errors: none may be negative", p.Cell, p.OutputTokens, p.Retries, p.MaxErrors)
	case len(p.Prompts.Measured) < p.Requests || len(p.Prompts.Warmup) < p.Warmup:
		return fmt.Errorf("cell %s: %d prompts and %d for warm-up: %d and %d are needed, since a prompt sent twice may be answered from a cache",
			p.Cell, len(p.Prompts.Measured), len(p.Prompts.Warmup), p.Requests, p.Warmup)
	}
	if err := p.Pace.check(); err != nil {
		return fmt.Errorf("cell %s: %w", p.Cell, err)
	}
	if err := p.checkPrompts("warm-up prompt", p.Prompts.Warmup[:p.Warmup]); err != nil {
		return err
	}
	return p.checkPrompts("prompt", p.Prompts.Measured[:p.Requests])
}

func (p Plan) checkPrompts(name string, prompts []prompt.Prompt) error {
	for i := range prompts {
		if err := prompts[i].Check(p.API); err != nil {
			return fmt.Errorf("cell %s, %s %d: %w", p.Cell, name, i, err)
		}
		for turn := &prompts[i]; turn != nil; turn = turn.Next {
			if p.output(turn) < 1 {
				return fmt.Errorf("cell %s, %s %d: an output of %d tokens: at least 1 is needed", p.Cell, name, i, p.output(turn))
			}
		}
	}
	return nil
}

// Total is how many requests the plan sends: every turn of every conversation,
// warm-ups, and contexts that are cached first.
func (p Plan) Total() int {
	n := 0
	for _, prompts := range [][]prompt.Prompt{p.Prompts.Warmup[:min(p.Warmup, len(p.Prompts.Warmup))], p.Prompts.Measured[:min(p.Requests, len(p.Prompts.Measured))]} {
		for i := range prompts {
			n += prompts[i].Turns()
			if _, has := prompts[i].ContextAlone(); has && p.CacheContext {
				n++
			}
		}
	}
	return n
}

// output is the length of the answer to a prompt.
func (p Plan) output(prompt *prompt.Prompt) int {
	if prompt.Output > 0 {
		return prompt.Output
	}
	return p.OutputTokens
}

// request is the plan's request for a prompt, without its words.
func (p Plan) request(prompt *prompt.Prompt, first bool) openai.Request {
	limits := openai.Timeouts{Total: p.RequestTimeout, Stall: p.StallTimeout}
	if first {
		limits = openai.Timeouts{
			Total: longer(p.RequestTimeout, p.FirstTimeout),
			First: p.FirstTimeout,
			Stall: longer(p.StallTimeout, p.FirstTimeout),
		}
	}
	return openai.Request{
		API: p.API, MaxTokens: p.output(prompt), Temperature: p.Temperature,
		TopP: p.TopP, TopK: p.TopK, MinP: p.MinP, RepetitionPenalty: p.RepetitionPenalty,
		Seed: p.Seed, IgnoreEOS: p.IgnoreEOS, Timeouts: limits, ContinuousUsage: true,
	}
}

// longer is the laxer of two limits, where zero is none.
func longer(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}
