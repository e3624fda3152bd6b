package embedded

import (
	"context"
	"fmt"
)

// spell turns the tokens of a step into the piece that goes out, up to the one
// that ends the answer. Where a fault is due at a token, those before it are
// emitted first, as they would have been one by one.
func (s *scheduler) spell(ctx context.Context, a *answer, d drawn, emit func(piece) error) (piece, error) {
	if !d.sound && !a.corrupted {
		a.corrupted = true
		s.metrics.corrupted.Add(1)
		fmt.Fprintf(s.log, "[embedded] WARNING NaN in logits, the request is corrupted\n")
	}
	p := piece{cached: a.cached}
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
		if p.finish != "" {
			s.metrics.speculated(d.drafted, min(i+1, len(d.tokens)-1))
			return p, nil
		}
	}
	s.metrics.speculated(d.drafted, len(d.tokens)-1)
	return p, nil
}

// add spells one token into a piece and says whether it ends the answer.
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

// countToken counts a generated token and returns the fault that is due at it,
// nil for none.
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
