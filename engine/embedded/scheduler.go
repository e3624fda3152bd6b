package embedded

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// scheduler lets a limited number of requests take turns at the model, one
// step each. Further requests wait for a place.
//
//	waiting ──place──▶ running ──turn──▶ step ──▶ emit ──▶ running … ──▶ done
type scheduler struct {
	model   *Model
	config  Config
	metrics metrics
	prefix  *prefixCache  // nil when switched off
	places  chan struct{} // one for each running request
	turn    chan struct{} // held during a step
	log     io.Writer
	exit    func(code int) // os.Exit, except in tests
	ordinal atomic.Uint64  // numbers requests, for default seeds
}

func newScheduler(m *Model, log io.Writer, exit func(int)) *scheduler {
	s := &scheduler{
		model: m, config: m.config, log: log, exit: exit,
		places: make(chan struct{}, m.config.MaxNumSeqs), turn: make(chan struct{}, 1),
		// The first position is there without speculation, too, so that all names are.
		metrics: metrics{acceptedAt: make([]atomic.Int64, max(1, m.config.Speculation))},
	}
	if m.config.KVCache {
		s.metrics.kvCapacity = m.config.MaxNumSeqs * m.config.MaxModelLen
	}
	if m.config.PrefixCache {
		s.prefix = newPrefixCache(m.shape, m.config.PrefixCacheTokens)
	}
	return s
}

// generation is what a request asks the model for. Lengths are in tokens.
type generation struct {
	prompt      []token
	maxTokens   int
	minTokens   int // the end token is not allowed before
	reasoning   int // so many tokens come first as reasoning
	ignoreEOS   bool
	temperature float64
	topP        float64
	topK        int     // 0 or -1 for all tokens
	minP        float64 // share of the likeliest token's probability
	repetition  float64 // penalty, 0 or 1 for none
	seed        *uint64 // nil: derived from the engine's seed and the request's number
	stops       []string
}

// piece is one step's outcome: one token, or several where drafted ones were
// right. Text may be empty: the end token has no spelling, and text that may
// become a stop string is held back.
type piece struct {
	text      string
	reasoning string // comes before text
	count     int    // tokens generated so far, those of this piece included
	cached    int    // tokens of the prompt that were not computed again
	finish    string // "", "stop" or "length"
}

var errEngineDead = errors.New("the engine died")

// generate runs one request, calling emit after each step, until it finishes
// or ctx ends.
func (s *scheduler) generate(ctx context.Context, g generation, emit func(piece) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.metrics.promptTokens.Add(int64(len(g.prompt)))
	a := s.newAnswer(g)
	defer s.close(a)
	for {
		drawn, err := s.next(ctx, a)
		if err != nil {
			return err
		}
		p, err := s.spell(ctx, a, drawn, emit)
		if err != nil {
			return err
		}
		if err := emit(p); err != nil {
			return err
		}
		if p.finish != "" {
			return nil
		}
	}
}

// enter waits for a place among the running requests.
func (s *scheduler) enter(ctx context.Context) error {
	arrived := time.Now()
	s.metrics.waiting.Add(1)
	defer s.metrics.waiting.Add(-1)
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.metrics.running.Add(1)
	s.metrics.queued(time.Since(arrived))
	return nil
}

func (s *scheduler) leave() {
	s.metrics.running.Add(-1)
	<-s.places
}
