package prompt

import (
	"context"
	"errors"
	"math"

	"github.com/mxflow/mxflow/engine/openai"
)

// errNoUsage is an engine that does not count the tokens of prompts.
var errNoUsage = errors.New("the engine does not say how many tokens a prompt has")

// newFitter finds out how the engine can be asked for lengths. What it learns
// depends on the engine and the spec alone, never on prompts that were built
// before, so that each prompt is the same however many there are.
func newFitter(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	for _, try := range []func(context.Context, Engine, Spec) (*fitter, error){byTokenizer, byPieces} {
		if f, err := try(ctx, engine, spec); err != nil || f != nil {
			return f, err
		}
	}
	return byLength(ctx, engine, spec)
}

// byTokenizer is a fitter that counts with the engine's tokenizer, nil where the
// engine has none or one that its answers contradict.
func byTokenizer(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	f := &fitter{spec: spec, method: Tokenizer}
	f.tokens = &counting{kit: spec.Learned.kit(Tokenizer, ""), ask: func(ctx context.Context, text string) (int, error) {
		n, _, err := engine.Tokenize(ctx, text)
		return n, err
	}}
	if _, err := f.tokens.whole(ctx, anchor); err != nil {
		if noTokenizer(err) {
			err = nil
		}
		return nil, err
	}
	err := f.tokens.learn(ctx)
	if err == nil {
		err = f.writeSystem(ctx)
	}
	if err != nil {
		return nil, err
	}
	f.added = f.tokens.overhead // until the engine's usage says more
	n, err := f.probe(ctx, engine, shortProbe)
	if errors.Is(err, errNoUsage) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	again, err := f.probe(ctx, engine, longProbe)
	if err != nil || again != n {
		return nil, err
	}
	f.added, f.verified = n, true
	return f, nil
}

// byPieces is a fitter that adds up what the engine's usage says of pieces, nil
// where there is no usage or where pieces do not add up.
func byPieces(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	f := &fitter{spec: spec, method: Pieces}
	f.tokens = &counting{kit: spec.Learned.kit(Pieces, spec.API), ask: func(ctx context.Context, text string) (int, error) {
		return usage(ctx, engine, spec, Prompt{Text: text})
	}}
	err := f.tokens.learn(ctx)
	if errors.Is(err, errNoUsage) || err == nil && len(f.tokens.ones) < fewestOnes {
		return nil, nil
	}
	if err == nil {
		err = f.writeSystem(ctx)
	}
	if err != nil {
		return nil, err
	}
	n, err := f.probe(ctx, engine, shortProbe)
	if err != nil {
		return nil, err
	}
	again, err := f.probe(ctx, engine, min(max(spec.longest(), longProbe), 8*longProbe))
	if err != nil || again != n {
		return nil, err
	}
	f.added, f.verified = n, true
	return f, nil
}

// byLength is a fitter that knows how many bytes a token has on average, by the
// engine's usage of two texts or as a guess.
func byLength(ctx context.Context, engine Engine, spec Spec) (*fitter, error) {
	// In bytes: no more of them than the tokens that prompts have, so that they fit
	// where prompts do.
	long := 2048
	if longest := spec.longest(); longest > 0 {
		long = min(long, max(longest, 64))
	}
	short := long / 4
	f := &fitter{spec: spec, method: Guess, bytes: guessedBytes}
	a, err := usage(ctx, engine, spec, Prompt{Text: newSource(spec.Seed, spec.Cell, "probe", 1).first(short)})
	if err != nil {
		return nil, err
	}
	b, err := usage(ctx, engine, spec, Prompt{Text: newSource(spec.Seed, spec.Cell, "probe", 0).first(long)})
	if err != nil {
		return nil, err
	}
	if a >= 0 && b > a {
		f.method, f.bytes = ByUsage, float64(long-short)/float64(b-a)
		f.added = max(0, int(math.Round(float64(b)-float64(long)/f.bytes)))
	}
	return f, f.writeSystem(ctx)
}

// writeSystem writes the system prompt of the cell. It begins with a nonce of
// its own, so that no other cell has its beginning in the cache.
func (f *fitter) writeSystem(ctx context.Context) (err error) {
	if f.spec.SystemTokens > 0 {
		f.system, f.systemTokens, err = f.text(ctx, f.source("system", 0), "", 0, f.spec.SystemTokens, true)
	}
	return err
}

// probe sends a text of about so many tokens, with the system prompt, and says
// how many tokens more the engine counts than the texts have.
func (f *fitter) probe(ctx context.Context, engine Engine, n int) (added int, err error) {
	if longest := f.spec.longest(); longest > 0 {
		n = min(n, max(longest, shortProbe))
	}
	p := Prompt{System: f.system}
	before, have := "", 0
	if f.spec.API != openai.Chat {
		before, have = f.system, f.systemTokens
	}
	own := 0
	if p.Text, own, err = f.text(ctx, f.source("probe", n), before, have, n, true); err != nil {
		return 0, err
	}
	seen, err := usage(ctx, engine, f.spec, p)
	if err != nil {
		return 0, err
	}
	if seen < 0 {
		return 0, errNoUsage
	}
	return seen - f.systemTokens - own, nil
}

// usage is the engine's count of the tokens of a prompt, -1 if it has none.
func usage(ctx context.Context, engine Engine, spec Spec, p Prompt) (int, error) {
	r := openai.Request{API: spec.API, MaxTokens: 1, Timeouts: spec.Timeouts}
	p.Fill(&r)
	s, err := engine.Stream(ctx, r)
	return s.PromptTokens, err
}
