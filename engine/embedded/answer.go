package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// answer is a request at the model.
type answer struct {
	generation
	seq       *sequence
	draw      sampler
	repeated  repetition
	spelling  textStream
	count     int // tokens generated and spelled
	cached    int // tokens of the prompt from the prefix cache
	held      int // tokens that the gauge of the KV cache counts for it
	corrupted bool
}

func (s *scheduler) newAnswer(g generation) *answer {
	seed := s.config.Seed + s.ordinal.Add(1)<<32
	if g.seed != nil {
		seed = *g.seed
	}
	draw := newSampler(g.temperature, g.topP, seed)
	draw.topK, draw.minP = g.topK, g.minP
	return &answer{
		generation: g, seq: s.model.newSequence(g.prompt, g.maxTokens), draw: draw,
		repeated: newRepetition(g.repetition, g.prompt, s.model.shape.vocabulary), spelling: textStream{stops: g.stops},
	}
}

// close keeps what may serve a later prompt, such as the next turn of a
// conversation, however the request ended.
func (s *scheduler) close(a *answer) {
	if s.prefix != nil {
		s.prefix.store(a.seq)
	}
	s.metrics.kvTokens.Add(-int64(a.held))
}

// drawn are the tokens of one step, at least one. All but the last were
// drafted, and so perhaps was the last.
type drawn struct {
	tokens  []token
	drafted int  // tokens that the step verified
	sound   bool // no logit was NaN
}

// next computes the next tokens of an answer while holding the turn.
//
// Drafted tokens go through the layers behind the last one in one pass, which
// gives the logits after each. From those tokens are chosen one after the
// other, as without drafts, for as long as the choice is what was drafted; the
// first other choice, or the one after the last draft, ends the step. So every
// token is drawn from the same logits with the same random number as without
// speculation, and the text is the same at any temperature. (It is also what
// rejection sampling does with a draft that is certain: the drafted token is
// taken with its probability, and else one of the others with theirs.)
func (s *scheduler) next(ctx context.Context, a *answer) (drawn, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return drawn{}, ctx.Err()
	}
	defer func() { <-s.turn }()
	draft := s.prepare(a)
	seq, end := a.seq, len(a.seq.tokens)
	seq.tokens = append(seq.tokens, draft...)
	logits, err := s.model.steps(ctx, seq, len(draft)+1)
	seq.tokens = seq.tokens[:end]
	if err != nil {
		seq.kv.truncate(end)
		return drawn{}, err
	}
	d := drawn{drafted: len(draft), sound: true}
	for i := range logits.rows {
		id, sound := s.choose(a, logits.row(i), a.count+i+1)
		d.sound = d.sound && sound
		d.tokens = append(d.tokens, id)
		if i < len(draft) && id != draft[i] {
			break
		}
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

// prepare looks for what need not be computed: before the first step a
// beginning that is known, before the others a draft.
func (s *scheduler) prepare(a *answer) (draft []token) {
	switch {
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

// choose draws the token that is the answer's ordinal-th.
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
