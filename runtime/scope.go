package runtime

import (
	"context"
	"time"
)

// patience is how long a question about a repository may take.
const patience = 2 * time.Minute

// Ask answers a question about the world once for each node, so that its keys and
// its launches speak of the same state, whatever other nodes do meanwhile: an
// answer, or the problem with it. Where the scope remembers nothing it is asked again.
func Ask[T any](s *Scope, question string, find func(context.Context) (T, error)) (answer T, problem string) {
	type found struct {
		answer  T
		problem string
	}
	remembers := s != nil && s.Known != nil
	if remembers {
		if known, ok := s.Known.Load(question); ok {
			return known.(found).answer, known.(found).problem
		}
	}
	ctx, cancel := context.WithTimeout(ContextOf(s), patience)
	defer cancel()
	answer, err := find(ctx)
	var f found
	if err != nil {
		f.problem = err.Error()
	} else {
		f.answer = answer
	}
	if remembers && ContextOf(s).Err() == nil {
		s.Known.Store(question, f)
	}
	return f.answer, f.problem
}

// ContextOf ends when the run ends; where there is none, with a person's second
// Ctrl-C.
func ContextOf(s *Scope) context.Context {
	switch {
	case s == nil:
		return context.Background()
	case s.Context != nil:
		return s.Context
	case s.Hard != nil:
		return s.Hard
	}
	return context.Background()
}
