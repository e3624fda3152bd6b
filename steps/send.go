package steps

import (
	"context"
	"fmt"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
)

const (
	// contaminated begins the note of a launch whose prompts were cached.
	contaminated = "prompts were partly answered from a cache"
	// templateShare of a prompt may be cached: the fixed beginning of a chat
	// template is the same in every request.
	templateShare = 0.05
)

// send sends every cell of every workload to a fresh engine, one request at a
// time, and completes the launch's record with metrics and raw samples. What
// was measured before something broke is kept.
func (st *started) send(ctx context.Context, ws []*plans.Workload, progress func(done, total int)) error {
	total := 0
	for _, w := range ws {
		total += len(w.Cells()) * (w.Warmup + w.Requests)
	}
	var all []measure.Sample
	fresh := true
	var failed error
	for _, w := range ws {
		for _, cell := range w.Cells() {
			prompts, err := st.lab.prompts(ctx, st.client, st.set, w, cell)
			if err != nil {
				return err
			}
			seed := int64(w.Seed)
			before := len(all)
			samples, err := load.Sequential(ctx, st.client, load.Plan{
				Cell: cell.Address, Prompts: prompts, Requests: w.Requests, Warmup: w.Warmup, OutputTokens: cell.Output,
				API: openai.API(w.API), Temperature: w.Temperature, Seed: &seed,
				// Some servers refuse a request with a field that they do not know.
				IgnoreEOS:      w.IgnoreEOS && st.kind.Ask.IgnoreEOS,
				RequestTimeout: w.RequestTimeout, FirstTimeout: w.FirstTimeout, StallTimeout: w.StallTimeout,
				Fresh:    fresh,
				Progress: func(p load.Progress) { progress(before+p.Done, total) },
			})
			fresh = false
			all = append(all, samples...)
			if err != nil {
				failed = err
				break
			}
			st.measured(cell, w, prompts, samples)
		}
		if failed != nil {
			break
		}
	}
	if len(all) > 0 {
		st.redactSamples(all)
		sum, err := st.lab.Store.WriteSamples(all)
		if err != nil {
			return fmt.Errorf("raw samples cannot be kept: %w", err)
		}
		st.record.Samples = sum
	}
	return failed
}

// measured adds one cell's metrics and findings to the record.
func (st *started) measured(cell plans.Cell, w *plans.Workload, prompts load.Prompts, samples []measure.Sample) {
	r := st.record
	if r.Metrics == nil {
		r.Metrics = map[string]measure.Summary{}
	}
	for name, summary := range measure.Summarize(samples, cell.Address) {
		r.Metrics[cell.Address+"."+name] = summary
	}
	note := func(format string, args ...any) {
		r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	}
	switch c := load.Contaminated(samples); {
	case c.Worst > templateShare:
		note("%s: %d of %d requests of %s, %d tokens", contaminated, c.Requests, c.Of, cell.Address, c.Tokens)
	case c.Requests > 0:
		note("%d of %d requests of %s had a few cached tokens, as from a fixed chat template", c.Requests, c.Of, cell.Address)
	case c.Unknown > 0 && st.kind.Ask.CachedTokens != "":
		note("whether prompts of %s were answered from a cache is not known of %d of %d requests: started with %s the engine says it", cell.Address, c.Unknown, c.Of, st.kind.Ask.CachedTokens)
	}
	if s := load.Shortfall(samples); s.Requests > 0 && w.IgnoreEOS {
		note("%d of %d answers of %s were shorter than asked for, by %d tokens in all", s.Requests, s.Of, cell.Address, s.Tokens)
	}
	if d := load.Deviating(samples, cell.Prompt); d.Requests > 0 || d.Unknown > 0 {
		long := fmt.Sprintf("%d to %d", d.Least, d.Most)
		if d.Least == d.Most {
			long = fmt.Sprint(d.Most)
		}
		note("prompts of %s were %s tokens long instead of %d (counted by: %s)", cell.Address, long, cell.Prompt, prompts.Method)
	}
	sources := map[measure.TokenSource]bool{}
	for _, s := range samples {
		if s.Warmup {
			continue
		}
		if !sources[s.TokenSource] {
			sources[s.TokenSource] = true
			if s.TokenSource == measure.SourceEvents {
				note("tokens of %s were counted as stream events, because the engine does not count them", cell.Address)
			}
		}
		if ok, why := load.Coherent(s.Text + s.Reasoning); !ok {
			r.Incoherent = append(r.Incoherent, fmt.Sprintf("%s request %d: %s (%q)", cell.Address, s.Index, why, cut(s.Text)))
		}
	}
}

// prompts builds the prompts of a cell once for all launches of this apply, so
// that every arm is sent the very same ones. A comparison of engines has a set
// of its own, since its reference may count tokens in another way.
func (l *Lab) prompts(ctx context.Context, client *openai.Client, set string, w *plans.Workload, cell plans.Cell) (load.Prompts, error) {
	key := promptKey(set, w, cell)
	l.mu.Lock()
	p, ok := l.built[key]
	l.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := load.BuildPrompts(ctx, client, load.PromptSpec{
		Cell: cell.Address, Seed: int64(w.Seed), API: openai.API(w.API), Tokens: cell.Prompt, Warmup: w.Warmup, Requests: w.Requests,
		Timeouts: openai.Timeouts{Total: w.FirstTimeout, First: w.FirstTimeout, Stall: w.FirstTimeout},
	})
	if err != nil {
		return p, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built == nil {
		l.built = map[string]load.Prompts{}
	}
	l.built[key] = p
	return p, nil
}
