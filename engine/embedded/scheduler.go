package embedded

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
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
	ordinal atomic.Uint64  // numbers requests, for default seeds and faults
	leaked  [][]byte       // while the turn is held: what Faults.Leak loses
	tuned   float64        // stretches every step, see Tune; 0 without a tuner
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

// generation is a request to the model. Lengths are in tokens.
type generation struct {
	prompt      []token
	maxTokens   int
	minTokens   int // the end token is not allowed before this
	reasoning   int // so many first tokens are reasoning
	ignoreEOS   bool
	temperature float64
	topP        float64
	topK        int     // 0 or -1 for all tokens
	minP        float64 // share of the likeliest token's probability
	repetition  float64 // penalty, 0 or 1 for none
	seed        *uint64 // nil: derived from the engine's seed and the request's number
	stops       []string
	listing     listing
}

// piece is one step's outcome: one token, or several if drafted ones were right. Text may
// be empty: the end token has no spelling, and text that may become a stop string is held
// back.
type piece struct {
	text      string
	reasoning string // comes before text
	count     int    // tokens generated so far, those of this piece included
	cached    int    // tokens of the prompt that were not computed again
	finish    string // "", "stop" or "length"

	listed []position // of the tokens of this piece, if requested
	prompt []position // of the prompt except its first token, in the first piece
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
		trace := s.model.trace.Load()
		at := trace.now()
		p, err := s.spell(ctx, a, drawn, emit)
		if err != nil {
			return err
		}
		at = trace.did("detokenize", a.ordinal, at)
		if err := emit(p); err != nil {
			return err
		}
		trace.did("http", a.ordinal, at)
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

// answer is a request in progress.
type answer struct {
	generation
	seq       *sequence
	draw      sampler
	repeated  repetition
	spelling  textStream
	count     int // tokens generated and spelled
	cached    int // tokens of the prompt from the prefix cache
	held      int // tokens that the gauge of the KV cache counts for it
	prompts   []position
	astray    bool // Faults.WrongAfter is due
	corrupted bool
	ordinal   uint64
}

func (s *scheduler) newAnswer(g generation) *answer {
	ordinal := s.ordinal.Add(1)
	seed := s.config.Seed + ordinal<<32
	if g.seed != nil {
		seed = *g.seed
	}
	draw := newSampler(g.temperature, g.topP, seed)
	draw.topK, draw.minP = g.topK, g.minP
	return &answer{
		generation: g, ordinal: ordinal, seq: s.model.newSequence(g.prompt, g.maxTokens), draw: draw,
		repeated: newRepetition(g.repetition, g.prompt, s.model.shape.vocabulary), spelling: textStream{stops: g.stops},
		astray: s.config.Faults.WrongAfter > 0 && ordinal > uint64(s.config.Faults.WrongAfter),
	}
}

// close keeps what may serve a later prompt, such as the next turn of a conversation,
// however the request ended.
func (s *scheduler) close(a *answer) {
	if s.prefix != nil {
		s.prefix.store(a.seq)
	}
	s.metrics.kvTokens.Add(-int64(a.held))
}

// draw is the tokens of one step, at least one. All but the last were drafted, and
// perhaps the last too.
type draw struct {
	tokens  []token
	drafted int        // tokens that the step verified
	sound   bool       // no logit was NaN
	listed  []position // of the tokens, if requested
}

// next computes the next tokens of an answer while holding the turn.
//
// Drafted tokens go through the layers after the last one in one pass, which gives the
// logits after each. From those, tokens are chosen one after the other, as without
// drafts, while the choice equals the draft; the first different choice, or the one after
// the last draft, ends the step. So every token is drawn from the same logits with the
// same random number as without speculation, and the text is the same at any temperature.
// (That equals rejection sampling with a certain draft: the drafted token is taken with
// its probability, and otherwise one of the others with theirs.)
func (s *scheduler) next(ctx context.Context, a *answer) (draw, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return draw{}, ctx.Err()
	}
	defer func() { <-s.turn }()
	s.model.astray = a.astray
	if s.config.Faults.Leak > 0 && a.count == 0 {
		s.leaked = append(s.leaked, bytes.Repeat([]byte{1}, s.config.Faults.Leak<<10)) // written, so that it is in memory
	}
	start := time.Now()
	trace := s.model.trace.Load()
	began := trace.now()
	draft := s.prepare(a)
	seq, end := a.seq, len(a.seq.tokens)
	seq.tokens = append(seq.tokens, draft...)
	logits, err := s.steps(ctx, a, len(draft)+1)
	seq.tokens = seq.tokens[:end]
	if err != nil {
		seq.kv.truncate(end)
		return draw{}, err
	}
	took, least := time.Since(start), s.config.Pace
	if s.tuned > 0 {
		// Without a pace the quickest tactic takes what the work takes.
		least = time.Duration(float64(cmp.Or(least, took*105/100)) * s.tuned)
	}
	if left := least - took; left > 0 {
		select {
		case <-time.After(left):
		case <-ctx.Done():
			seq.kv.truncate(end)
			return draw{}, ctx.Err()
		}
	}
	d := draw{drafted: len(draft), sound: true}
	at := trace.now()
	for i := range logits.rows {
		row := logits.row(i)
		if a.listing.answer || a.listing.ids {
			row = slices.Clone(row) // what is listed are the model's own values, before any penalty
		}
		id, sound := s.choose(a, logits.row(i), a.count+i+1)
		if a.listing.answer || a.listing.ids {
			d.listed = append(d.listed, rank(row, id, a.listing.top))
		}
		d.sound = d.sound && sound
		d.tokens = append(d.tokens, id)
		if i < len(draft) && id != draft[i] {
			break
		}
	}
	trace.ran(0, kernelSample, at)
	if a.count == 0 {
		trace.stepped(true, len(a.prompt)-a.cached, began)
	} else {
		trace.stepped(false, len(d.tokens), began)
	}
	seq.tokens = append(seq.tokens, d.tokens...)
	seq.kv.truncate(len(seq.tokens) - 1) // the last has not been through the layers, nor what was wrong
	if s.prefix != nil && a.count == 0 {
		s.prefix.store(seq)
	}
	if s.config.KVCache {
		s.metrics.kvTokens.Add(int64(seq.kv.length - a.held))
		a.held = seq.kv.length
	}
	return d, nil
}

// steps are those of the model. Before the first one of an answer that lists its prompt
// they cover the whole prompt, which gives the logits after each of its tokens.
func (s *scheduler) steps(ctx context.Context, a *answer, n int) (logits batch, err error) {
	if a.count > 0 || !a.listing.prompt {
		return s.model.steps(ctx, a.seq, n)
	}
	whole := a.seq.tokens
	defer func() { a.seq.tokens = whole }()
	a.prompts = nil
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
	return batch{rows: 1, cols: logits.cols, data: logits.row(logits.rows - 1)}, nil
}

// prepare looks for what need not be computed: before the first step a known prefix,
// before the others a draft.
func (s *scheduler) prepare(a *answer) (draft []token) {
	switch {
	case a.count == 0 && a.listing.prompt: // what is not computed has no logits
	case a.count == 0 && s.prefix != nil:
		s.model.kernels.engage("prefix_cache", kernelPrefixLookup, fmt.Sprintf("blocks of %d tokens", blockTokens))
		a.cached = s.prefix.reuse(a.seq)
		s.metrics.prefixQueries.Add(int64(len(a.prompt)))
		s.metrics.prefixHits.Add(int64(a.cached))
		if a.cached > 0 {
			s.model.kernels.engage("prefix_cache", kernelPrefixReuse, fmt.Sprintf("%d of %d prompt tokens", a.cached, len(a.prompt)))
		}
	case a.count > 0 && s.config.Speculation > 0:
		s.model.kernels.engage("speculation", kernelPromptLookup, fmt.Sprintf("up to %d tokens a step", s.config.Speculation))
		// A step may give one token more than was drafted.
		draft = promptLookup(a.seq.tokens, min(s.config.Speculation, a.maxTokens-a.count-1))
		if len(draft) > 0 {
			s.model.kernels.engage("speculation", kernelVerify, "all drafted tokens in one pass")
		}
	}
	return draft
}

// choose draws the answer's ordinal-th token.
func (s *scheduler) choose(a *answer, logits []float32, ordinal int) (token, bool) {
	forbidden := noToken
	if ordinal <= a.minTokens {
		forbidden = eosToken
	}
	a.repeated.penalise(logits)
	id, sound := a.draw.choose(logits, forbidden)
	if s.config.Faults.Garbage {
		id = randomToken(a.draw.random, len(logits))
	}
	a.repeated.add(id)
	return id, sound
}

// randomToken draws a token that has a spelling.
func randomToken(random *rand.Rand, vocabulary int) token {
	id := token(random.IntN(vocabulary - int(firstPiece-eosToken)))
	if id >= eosToken {
		id += firstPiece - eosToken
	}
	return id
}

// spell turns the tokens of a step into the piece to send, up to the one that ends the
// answer. If a fault is due at a token, those before it are emitted first, as they would
// have been one by one.
func (s *scheduler) spell(ctx context.Context, a *answer, d draw, emit func(piece) error) (piece, error) {
	if !d.sound && !a.corrupted {
		a.corrupted = true
		s.metrics.corrupted.Add(1)
		fmt.Fprintf(s.log, "[embedded] WARNING NaN in logits, the request is corrupted\n")
	}
	p := piece{cached: a.cached, prompt: a.prompts}
	a.prompts = nil
	for i, id := range d.tokens {
		if fault := s.countToken(); fault != nil {
			if i > 0 {
				if err := emit(p); err != nil {
					return p, err
				}
			}
			return p, fault(ctx)
		}
		a.add(&p, id, s.model.tk)
		if d.listed != nil {
			p.listed = append(p.listed, d.listed[i])
		}
		if p.finish != "" {
			s.metrics.speculated(d.drafted, min(i+1, len(d.tokens)-1))
			return p, nil
		}
	}
	s.metrics.speculated(d.drafted, len(d.tokens)-1)
	return p, nil
}

// add spells one token into a piece and marks whether it ends the answer.
func (a *answer) add(p *piece, id token, tk *tokenizer) {
	a.count++
	p.count = a.count
	text, stopped := a.spelling.push(tk.piece(id))
	if stopped || (id == eosToken && !a.ignoreEOS) {
		p.finish = "stop"
	} else if a.count >= a.maxTokens {
		p.finish = "length"
	}
	if p.finish != "" && !stopped {
		text += a.spelling.flush()
	}
	if a.count <= a.reasoning {
		p.reasoning += text
	} else {
		p.text += text
	}
}

// countToken counts a generated token and returns the fault due at it, nil for none.
func (s *scheduler) countToken() func(context.Context) error {
	total := int(s.metrics.generationTokens.Add(1))
	faults := s.config.Faults
	switch {
	case faults.CrashAfter > 0 && total >= faults.CrashAfter:
		return func(context.Context) error {
			fmt.Fprintf(s.log, "[embedded] ERROR EngineCore encountered a fatal error. (fault crash_after:%d)\n", faults.CrashAfter)
			s.exit(1)
			return errEngineDead
		}
	case faults.StallAfter > 0 && total > faults.StallAfter:
		return func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
	}
	return nil
}

// maxDraft limits the tokens drafted per step.
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
				return continuation(tokens, at+gram, n)
			}
		}
	}
	return nil
}

func continuation(tokens []token, from, n int) []token {
	draft := make([]token, 0, n)
	for i := range n {
		if at := from + i; at < len(tokens) {
			draft = append(draft, tokens[at])
		} else {
			draft = append(draft, draft[at-len(tokens)])
		}
	}
	return draft
}
