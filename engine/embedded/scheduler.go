package embedded

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	metrics *metrics
	prefix  *prefixCache   // nil when switched off
	places  chan struct{}  // one for each running request
	turn    chan struct{}  // held during a step
	exit    func(code int) // os.Exit, except in tests
	ordinal atomic.Uint64  // numbers requests, for default seeds and faults
	leaked  [][]byte       // while the turn is held: what the fault leak loses
	tuned   float64        // stretches every step, see Tune; 0 without a tuner
}

func newScheduler(m *Model, exit func(int)) *scheduler {
	s := &scheduler{
		model: m, config: m.config, exit: exit,
		places: make(chan struct{}, m.config.MaxNumSeqs), turn: make(chan struct{}, 1),
		// The first position is there without speculation, too, so all names are.
		metrics: &metrics{acceptedAt: make([]atomic.Int64, max(1, m.config.Speculation))},
	}
	if m.config.KVCache {
		s.metrics.kvCapacity = m.config.kvTokens()
	}
	if m.config.PrefixCache {
		s.prefix = &prefixCache{capacity: m.config.kvTokens()}
	}
	return s
}

// generation is a request to the model. Lengths are in tokens.
type generation struct {
	prompt    []token
	maxTokens int
	listing   listing
	sampling
}

// piece is one step's outcome: one token, or several if drafted ones were right. Text may
// be empty: the end token has no spelling, and incomplete UTF-8 is held back.
type piece struct {
	text   string
	finish string // "", "stop" or "length"
	usage  *usage // up to here, with the tokens of this piece

	listed []position // of the tokens of this piece, if requested
	prompt []position // of the prompt except its first token, in the first piece
}

type answer struct {
	generation
	seq       *sequence
	draw      sampler
	seen      []bool // tokens of prompt and answer; nil without a penalty
	pending   []byte // spelled and not sent: the start of a UTF-8 sequence
	count     int    // tokens generated and spelled
	cached    int    // tokens of the prompt from the prefix cache
	held      int    // tokens that the gauge of the KV cache counts for it
	prompts   []position
	astray    bool // a fault routes it to wrong experts
	corrupted bool
}

// generate runs one request, calling emit after each step, until it finishes
// or ctx ends.
func (s *scheduler) generate(ctx context.Context, g generation, emit func(piece) error) (*usage, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	s.metrics.promptTokens.Add(int64(len(g.prompt)))
	ordinal := s.ordinal.Add(1)
	seed := s.config.Seed + ordinal<<32
	if g.Seed != nil {
		seed = uint64(*g.Seed)
	}
	a := &answer{
		generation: g, seq: s.model.newSequence(g.prompt, g.maxTokens), draw: newSampler(g.sampling, seed),
	}
	if g.RepetitionPenalty != 0 && g.RepetitionPenalty != 1 {
		a.seen = make([]bool, s.model.shape.vocabulary)
		for _, t := range g.prompt {
			a.seen[t] = true
		}
	}
	after := uint64(s.config.Faults["wrong_after"])
	a.astray = s.config.Faults["wrong_expert"] > 0 || after > 0 && ordinal > after
	defer func() {
		if s.prefix != nil {
			s.prefix.store(a.seq) // for a later prompt, such as the next turn of a conversation
		}
		s.metrics.kvTokens.Add(-int64(a.held))
		s.metrics.running.Add(-1)
		<-s.places
	}()
	for {
		p, fault, err := s.step(ctx, a)
		if err == nil && p.usage != nil {
			err = emit(p)
		}
		switch {
		case err != nil:
			return nil, err
		case fault != nil:
			return nil, fault()
		case p.finish != "":
			return p.usage, nil
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
	s.metrics.placed.Add(1)
	s.metrics.queueTime.Add(int64(time.Since(arrived)))
	return nil
}

// step computes the next tokens of an answer while holding the turn. A fault that is due at
// a token ends it, after the tokens before that one.
//
// Drafted tokens go through the layers after the last one in one pass, which gives the
// logits after each. From those, tokens are chosen one after the other, as without
// drafts, while the choice equals the draft; the first different choice, or the one after
// the last draft, ends the step. So every token is drawn from the same logits with the
// same random number as without speculation, and the text is the same at any temperature.
// (That equals rejection sampling with a certain draft: the drafted token is taken with
// its probability, and otherwise one of the others with theirs.)
func (s *scheduler) step(ctx context.Context, a *answer) (p piece, fault func() error, err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return p, nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	s.model.astray = a.astray
	if s.config.Faults["leak"] > 0 && a.count == 0 {
		s.leaked = append(s.leaked, bytes.Repeat([]byte{1}, s.config.Faults["leak"]<<10)) // written, so it is in memory
	}
	start, trace := time.Now(), s.model.trace.Load()
	began := trace.now()
	draft := s.prepare(a)
	seq, end := a.seq, len(a.seq.tokens)
	seq.tokens = append(seq.tokens, draft...)
	logits, err := s.compute(ctx, a, len(draft)+1)
	seq.tokens = seq.tokens[:end]
	if err != nil {
		return p, nil, err
	}
	took, least := time.Since(start), s.config.Pace
	if s.tuned > 0 {
		// Without a pace the quickest tactic takes what the work takes.
		least = time.Duration(float64(cmp.Or(least, took*105/100)) * s.tuned)
	}
	if least > took {
		select {
		case <-time.After(least - took):
		case <-ctx.Done():
			return p, nil, ctx.Err()
		}
	}
	sampled := trace.now()
	accepted := 0
	for i := 0; i < logits.rows && i == accepted && p.finish == ""; i++ {
		if fault = s.due(ctx, int(s.metrics.generationTokens.Add(1))); fault != nil {
			break
		}
		id := s.choose(a, &p, logits.row(i))
		seq.tokens = append(seq.tokens, id)
		if i < len(draft) && id == draft[i] {
			accepted++
		}
	}
	p.prompt, a.prompts = a.prompts, nil
	s.metrics.speculated(len(draft), accepted)
	trace.ran(0, kernelSample, sampled)
	// As vLLM names its steps: requests and tokens of prompts, then of answers.
	name := fmt.Sprintf("execute_context_0(0)_generation_1(%d)", len(seq.tokens)-end)
	if end == len(a.prompt) {
		name = fmt.Sprintf("execute_context_1(%d)_generation_0(0)", len(a.prompt)-a.cached)
	}
	trace.stepped(name, began)
	seq.kv.truncate(len(seq.tokens) - 1) // the last has not been through the layers, nor what was wrong
	if s.prefix != nil && end == len(a.prompt) {
		s.prefix.store(seq)
	}
	if s.config.KVCache {
		s.metrics.kvTokens.Add(int64(seq.kv.length - a.held))
		a.held = seq.kv.length
	}
	return p, fault, nil
}

// compute are the model's steps. Before the first one of an answer that lists its prompt
// they cover the whole prompt, which gives the logits after each of its tokens.
func (s *scheduler) compute(ctx context.Context, a *answer, n int) (logits matrix, err error) {
	if a.count > 0 || !a.listing.prompt {
		return s.model.steps(ctx, a.seq, n)
	}
	whole := a.seq.tokens
	defer func() { a.seq.tokens = whole }()
	for from := 0; from < len(whole); from += chunkTokens {
		end := min(from+chunkTokens, len(whole))
		a.seq.tokens = whole[:end]
		if logits, err = s.model.steps(ctx, a.seq, end-from); err != nil {
			return logits, err
		}
		for i := from + 1; i <= end && i < len(whole); i++ {
			a.prompts = append(a.prompts, rank(logits.row(i-1-from), whole[i], a.listing.promptTop))
		}
	}
	return matrix{rows: 1, cols: logits.cols, data: logits.row(logits.rows - 1)}, nil
}

// prepare looks for what need not be computed: before the first step a known prefix,
// before the others a draft.
func (s *scheduler) prepare(a *answer) (draft []token) {
	switch log := &s.model.log; {
	case a.count == 0 && a.listing.prompt: // what is not computed has no logits
	case a.count == 0 && s.prefix != nil:
		log.engage(s.model.kernels.prefix)
		a.cached = s.prefix.reuse(a.seq)
		s.metrics.prefixQueries.Add(int64(len(a.prompt)))
		s.metrics.prefixHits.Add(int64(a.cached))
		if a.cached > 0 {
			log.engage(kernel{
				"prefix_cache", kernelPrefixReuse,
				fmt.Sprintf("%d of %d prompt tokens", a.cached, len(a.prompt)),
			})
		}
	case a.count > 0 && s.config.Speculation > 0:
		log.engage(s.model.kernels.speculation)
		// A step may give one token more than was drafted.
		draft = promptLookup(a.seq.tokens, min(s.config.Speculation, a.maxTokens-a.count-1))
		if len(draft) > 0 {
			log.engage(kernel{"speculation", kernelVerify, "all drafted tokens in one pass"})
		}
	}
	return draft
}

// choose draws the answer's next token and adds it to a piece.
func (s *scheduler) choose(a *answer, p *piece, logits []float32) token {
	a.count++
	forbidden := noToken
	if a.count <= a.MinTokens {
		forbidden = eosToken
	}
	listed := a.listing.answer || a.listing.ids
	own := logits
	if listed {
		own = slices.Clone(logits) // before any penalty
	}
	penalise(logits, a.seen, float32(a.RepetitionPenalty))
	id, sound := a.draw.choose(logits, forbidden)
	if s.config.Faults["garbage"] > 0 { // a random one that has a spelling
		if id = token(a.draw.random.IntN(len(logits) - int(firstPiece-eosToken))); id >= eosToken {
			id += firstPiece - eosToken
		}
	}
	if !sound && !a.corrupted {
		a.corrupted = true
		s.metrics.corrupted.Add(1)
		s.model.log.Print("WARNING NaN in logits, the request is corrupted")
	}
	if listed {
		p.listed = append(p.listed, rank(own, id, a.listing.top))
	}
	if a.seen != nil {
		a.seen[id] = true
	}
	p.usage = newUsage(len(a.prompt), a.count, a.cached)
	if id == eosToken && !a.IgnoreEOS {
		p.finish = "stop"
	} else if a.count >= a.maxTokens {
		p.finish = "length"
	}
	a.pending = append(a.pending, s.model.tk.piece(id)...)
	safe := len(a.pending)
	if p.finish == "" {
		safe = completeUTF8(a.pending)
	}
	p.text += strings.ToValidUTF8(string(a.pending[:safe]), "\uFFFD")
	a.pending = a.pending[safe:]
	return id
}

// due is the fault at a token, counted over all requests; nil for none.
func (s *scheduler) due(ctx context.Context, token int) func() error {
	switch f := s.config.Faults; {
	case f["crash_after"] > 0 && token >= f["crash_after"]:
		return func() error {
			s.model.log.Printf("ERROR EngineCore encountered a fatal error. (fault crash_after:%d)", f["crash_after"])
			s.exit(1)
			return errors.New("the engine died")
		}
	case f["stall_after"] > 0 && token > f["stall_after"]:
		return func() error { <-ctx.Done(); return ctx.Err() }
	}
	return nil
}

const maxDraft = 16

// The lengths of the n-grams that prompt lookup searches for, in tokens, longest first.
// Down to one token, as published: so there is a draft in nearly every step, which gains
// a lot if the text repeats the prompt and costs a lot if it does not.
const (
	longestGram  = 3
	shortestGram = 1
)

// promptLookup drafts up to n tokens that may follow: what followed the last occurrence
// of the last few tokens, in prompt or output (Saxena, "Prompt Lookup Decoding", 2023).
// If that reaches the end of the tokens it continues with its own draft, so short loops
// are drafted in full.
func promptLookup(tokens []token, n int) []token {
	for gram := longestGram; gram >= shortestGram; gram-- {
		if len(tokens) <= gram {
			continue
		}
		suffix := tokens[len(tokens)-gram:]
		for at := len(tokens) - gram - 1; at >= 0; at-- {
			if slices.Equal(tokens[at:at+gram], suffix) {
				draft := slices.Clone(tokens)
				for i := range n {
					draft = append(draft, draft[at+gram+i])
				}
				return draft[len(tokens):]
			}
		}
	}
	return nil
}
