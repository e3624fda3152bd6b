package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/mxflow/mxflow/engine/openai"
)

// Build makes a cell's prompts: unique, with the unique part at the very start, so a
// prefix cache finds nothing to reuse, and of the requested length as exactly as the
// engine allows (Method, Verified). The same spec gives the same prompts, and a prompt
// does not depend on how many there are. It sends the engine two requests to compare its
// usage with what was counted, and some hundred very short ones if it has no tokenizer,
// so the engine is no longer fresh; cells that share Learned share most of them.
//
// It fails if the engine does, or if the length leaves no room for unique prompts.
func Build(ctx context.Context, engine Engine, spec Spec) (p Prompts, err error) {
	if err := spec.check(); err != nil {
		return Prompts{}, fmt.Errorf("cell %s: %w", spec.Cell, err)
	}
	p.Method = Given
	make := spec.fromDataset
	switch {
	case spec.Data != nil:
	case spec.Trace != nil && spec.Trace.Texts == spec.Trace.Requests:
		make = (&fitter{spec: spec}).recorded
	default:
		f, err := newFitter(ctx, engine, spec)
		if err != nil {
			return Prompts{}, fmt.Errorf("cell %s: fitting prompts: %w", spec.Cell, err)
		}
		p.Method, p.Verified, make = f.method, f.verified, f.conversation
		if spec.Trace != nil {
			make = f.recorded
		}
		if spec.API == openai.Chat || f.verified {
			p.Template = f.added
		}
	}
	seen := map[[sha256.Size]byte]string{}
	for _, series := range []struct {
		name string
		n    int
		into *[]Prompt
	}{{"warmup", spec.Warmup, &p.Warmup}, {"measured", spec.Requests, &p.Measured}} {
		for i := range series.n {
			one, err := make(ctx, series.name, i)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return Prompts{}, fmt.Errorf("cell %s: %s prompt %d: %w", spec.Cell, series.name, i, err)
			}
			if spec.Trace != nil { // which may have a prompt twice
				*series.into = append(*series.into, one)
				continue
			}
			text, err := json.Marshal(one)
			if err != nil {
				return Prompts{}, err
			}
			key, here := sha256.Sum256(text), fmt.Sprintf("%s prompt %d", series.name, i)
			switch other := seen[key]; {
			case other != "" && spec.Data != nil:
				return Prompts{}, fmt.Errorf("cell %s: %s and %s of %s are the same, so the second would be answered "+
					"from a cache: remove one of the rows", spec.Cell, other, here, spec.Data.Name)
			case other != "":
				return Prompts{}, fmt.Errorf("cell %s: prompts of %d tokens are too short to be unique: "+
					"use longer or fewer prompts", spec.Cell, one.Tokens)
			}
			seen[key] = here
			*series.into = append(*series.into, one)
		}
	}
	return p, nil
}
