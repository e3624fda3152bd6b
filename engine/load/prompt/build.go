package prompt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mxflow/mxflow/engine/openai"
)

// atOnce is how many prompts are made concurrently.
const atOnce = 4

// maker makes the prompt with an index of a series, "warmup" or "measured".
type maker func(ctx context.Context, series string, index int) (Prompt, error)

// Build makes a cell's prompts: unique, with the unique part at the very start, so a
// prefix cache finds nothing to reuse, and of the requested length as exactly as the
// engine allows (Method, Exact). The same spec gives the same prompts, and a prompt does
// not depend on how many there are. It sends the engine two short requests to compare its
// usage with what was counted, and some hundred very short ones if it has no tokenizer,
// so the engine is no longer fresh; cells that share Learned share most of them.
//
// It fails if the engine does, or if the length leaves no room for unique prompts.
func Build(ctx context.Context, engine Engine, spec Spec) (Prompts, error) {
	if err := spec.check(); err != nil {
		return Prompts{}, fmt.Errorf("cell %s: %w", spec.Cell, err)
	}
	p, make, err := newMaker(ctx, engine, spec)
	if err != nil {
		return Prompts{}, fmt.Errorf("cell %s: fitting prompts: %w", spec.Cell, err)
	}
	seen := map[string]string{}
	if p.Warmup, err = make.series(ctx, spec, "warmup", spec.Warmup, seen); err != nil {
		return Prompts{}, err
	}
	if p.Measured, err = make.series(ctx, spec, "measured", spec.Requests, seen); err != nil {
		return Prompts{}, err
	}
	return p, nil
}

// newMaker selects how a spec's prompts are made.
func newMaker(ctx context.Context, engine Engine, spec Spec) (Prompts, maker, error) {
	if spec.Random {
		m, err := newRandom(ctx, engine, spec)
		if err != nil {
			return Prompts{}, nil, err
		}
		return Prompts{Method: IDs, Template: m.added, Verified: m.verified}, m.prompt, nil
	}
	if spec.Data != nil {
		return Prompts{Method: Given}, spec.given, nil
	}
	f, err := newFitter(ctx, engine, spec)
	if err != nil {
		return Prompts{}, nil, err
	}
	p := Prompts{Method: f.method, Verified: f.verified}
	if spec.API == openai.Chat || f.verified {
		p.Template = f.added
	}
	return p, f.conversation, nil
}

// series makes n prompts, a few at a time, since most of the time goes into waiting for
// counts. seen are earlier ones.
func (m maker) series(ctx context.Context, spec Spec, name string, n int, seen map[string]string) ([]Prompt, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	prompts, failed := make([]Prompt, n), make([]error, n)
	var next atomic.Int64
	var builders sync.WaitGroup
	for range min(n, atOnce) {
		builders.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if prompts[i], failed[i] = m(ctx, name, i); failed[i] != nil {
					cancel()
				}
			}
		})
	}
	builders.Wait()
	// One failure cancels the others, so the first of another kind is the cause.
	cause := slices.IndexFunc(failed, func(err error) bool { return err != nil && !errors.Is(err, context.Canceled) })
	if cause < 0 {
		cause = slices.IndexFunc(failed, func(err error) bool { return err != nil })
	}
	if cause >= 0 {
		return nil, fmt.Errorf("cell %s: %s prompt %d: %w", spec.Cell, name, cause, failed[cause])
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cell %s: %s prompts: %w", spec.Cell, name, err)
	}
	for i, one := range prompts {
		key, here := one.digest(), fmt.Sprintf("%s prompt %d", name, i)
		if other := seen[key]; other != "" {
			return nil, fmt.Errorf("cell %s: %s", spec.Cell, spec.same(other, here))
		}
		seen[key] = here
	}
	return prompts, nil
}
