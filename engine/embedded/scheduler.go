package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
)

// scheduler lets a limited number of requests take turns at the model, one
// step each. Further requests wait for a place.
//
//	waiting ──place──▶ running ──turn──▶ step ──▶ emit ──▶ running … ──▶ done
type scheduler struct {
	model   *Model
	config  Config
	metrics metrics
	places  chan struct{} // one for each running request
	turn    chan struct{} // held during a step
	log     io.Writer
	exit    func(code int) // os.Exit, except in tests
	ordinal atomic.Uint64  // numbers requests, for default seeds
}

func newScheduler(m *Model, log io.Writer, exit func(int)) *scheduler {
	return &scheduler{
		model: m, config: m.config, log: log, exit: exit,
		places: make(chan struct{}, m.config.MaxNumSeqs), turn: make(chan struct{}, 1),
	}
}

// generation is what a request asks the model for. Lengths are in tokens.
type generation struct {
	prompt      []token
	maxTokens   int
	minTokens   int // the end token is not allowed before
	ignoreEOS   bool
	temperature float64
	topP        float64
	seed        *uint64 // nil: derived from the engine's seed and the request's number
	stops       []string
}

// piece is one step's outcome. Text may be empty: the end token has no
// spelling, and text that may become a stop string is held back.
type piece struct {
	id     token
	text   string
	count  int    // tokens generated so far, this one included
	finish string // "", "stop" or "length"
}

var errEngineDead = errors.New("the engine died")

// generate runs one request, calling emit after each token, until it finishes
// or ctx ends.
func (s *scheduler) generate(ctx context.Context, g generation, emit func(piece) error) error {
	s.metrics.waiting.Add(1)
	select {
	case s.places <- struct{}{}:
		s.metrics.waiting.Add(-1)
	case <-ctx.Done():
		s.metrics.waiting.Add(-1)
		return ctx.Err()
	}
	s.metrics.running.Add(1)
	defer func() {
		s.metrics.running.Add(-1)
		<-s.places
	}()
	s.metrics.promptTokens.Add(int64(len(g.prompt)))
	seed := s.config.Seed + s.ordinal.Add(1)<<32
	if g.seed != nil {
		seed = *g.seed
	}
	draw := newSampler(g.temperature, g.topP, seed)
	seq, text := s.model.newSequence(g.prompt, g.maxTokens), textStream{stops: g.stops}
	corrupted := false
	for count := 1; ; count++ {
		forbidden := noToken
		if count <= g.minTokens {
			forbidden = eosToken
		}
		id, sound, err := s.next(ctx, seq, draw, forbidden)
		if err != nil {
			return err
		}
		if !sound && !corrupted {
			corrupted = true
			s.metrics.corrupted.Add(1)
			fmt.Fprintf(s.log, "[embedded] WARNING NaN in logits, the request is corrupted\n")
		}
		seq.tokens = append(seq.tokens, id)
		p := piece{id: id, count: count}
		stopped := false
		if p.text, stopped = text.push(s.model.tk.piece(id)); stopped || (id == eosToken && !g.ignoreEOS) {
			p.finish = "stop"
		} else if count >= g.maxTokens {
			p.finish = "length"
		}
		if p.finish != "" && !stopped {
			p.text += text.flush()
		}
		if err := s.countToken(ctx); err != nil {
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

// next computes one token of a sequence while holding the turn.
func (s *scheduler) next(ctx context.Context, seq *sequence, draw sampler, forbidden token) (token, bool, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, false, ctx.Err()
	}
	defer func() { <-s.turn }()
	logits, err := s.model.step(ctx, seq)
	if err != nil {
		return 0, false, err
	}
	id, sound := draw.choose(logits, forbidden)
	if s.config.Faults.Garbage {
		id = randomToken(draw.random, len(logits))
	}
	return id, sound, nil
}

// randomToken draws a token that has a spelling.
func randomToken(random *rand.Rand, vocabulary int) token {
	id := token(random.IntN(vocabulary - int(firstPiece-eosToken)))
	if id >= eosToken {
		id += firstPiece - eosToken
	}
	return id
}

// countToken counts a generated token and lets the faults that are due by
// count happen.
func (s *scheduler) countToken(ctx context.Context) error {
	total := int(s.metrics.generationTokens.Add(1))
	faults := s.config.Faults
	if faults.CrashAfter > 0 && total >= faults.CrashAfter {
		fmt.Fprintf(s.log, "[embedded] ERROR EngineCore encountered a fatal error. (fault crash_after:%d)\n", faults.CrashAfter)
		s.exit(1)
		return errEngineDead
	}
	if faults.StallAfter > 0 && total > faults.StallAfter {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}
