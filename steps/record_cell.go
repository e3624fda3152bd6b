package steps

import (
	"context"
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
)

// cell sends one cell.
func (r *recording) cell(ctx context.Context, w *plans.Workload, cell plans.Cell) error {
	client := r.clientFor(w)
	prompts, err := r.prompts(ctx, client, w, cell)
	if err != nil {
		return err
	}
	r.made(cell, prompts)
	latency, _, err := client.Latency(ctx, openai.LatencyMode(w.LatencyCorrection), openai.LatencyProbes)
	if err != nil {
		return fmt.Errorf("%w; the engine does not answer what this mode asks: choose another (none, api or generation)", err)
	}
	p := loadPlan(w, cell, prompts)
	// Some servers refuse a request with a field that they do not know.
	p.IgnoreEOS = p.IgnoreEOS && r.Kind.Ask.IgnoreEOS
	p.Zero, p.Fresh = r.Zero, r.Fresh
	before := r.done
	r.total += p.Total() - cell.Warmup - cell.Requests
	p.Progress = func(done int) {
		r.done = before + done
		if r.Progress != nil {
			r.Progress(r.done, r.total)
		}
	}
	r.Fresh = false
	p.Begin = func() { r.watch.Mark(ctx) }
	result, err := load.Run(ctx, client, p)
	r.watch.Mark(ctx)
	if r.Redact != nil {
		r.Redact(result.Samples) // before anything is said of them
	}
	t := r.taken
	t.Samples = append(t.Samples, result.Samples...)
	if len(result.Delay.At) > 0 {
		result.Delay.Source = cell.Address
		t.Series = append(t.Series, result.Delay)
	}
	if err != nil {
		return err
	}
	run := cellRun(w, cell, result)
	run.ExactOutput, run.Latency = p.IgnoreEOS, latency
	run.ByEvents = slices.ContainsFunc(result.Samples, func(s measure.Sample) bool {
		return s.Measured() && s.TokenSource == measure.SourceEvents
	})
	t.Cells = append(t.Cells, run)
	r.sent = append(r.sent, sentCell{w: w, cell: cell, run: run, prompts: prompts, samples: result.Samples, delay: result.Delay})
	return nil
}

// made notes how a cell's prompts were made.
func (r *recording) made(cell plans.Cell, p prompt.Prompts) {
	if r.taken.Prompts == nil {
		r.taken.Prompts = map[string]PromptsMade{}
	}
	r.taken.Prompts[cell.Address] = PromptsMade{Method: p.Method, Verified: p.Verified}
}

// clientFor is the client for a workload. Where prompts are to be found in the
// engine's cache, it does not ask the engine to keep them out of it.
func (r *recording) clientFor(w *plans.Workload) *openai.Client {
	if len(r.Client.Extra) == 0 || !cachesOnPurpose(w) {
		return r.Client
	}
	c := openai.New(r.Client.BaseURL, r.Client.Model)
	c.HTTP, c.Header, c.Rename, c.Tokenizer = r.Client.HTTP, r.Client.Header, r.Client.Rename, r.Client.Tokenizer
	return c
}

// cachesOnPurpose reports whether a workload is about what the engine has cached.
func cachesOnPurpose(w *plans.Workload) bool {
	return w.DepthCached || w.Turns > 1 || w.SystemTokens > 0 || w.Data != nil && w.Data.Shares
}

func (r *recording) prompts(ctx context.Context, client *openai.Client, w *plans.Workload, cell plans.Cell) (prompt.Prompts, error) {
	if r.Prompts != nil {
		return r.Prompts(ctx, client, w, cell)
	}
	spec, err := promptSpec(w, cell, &r.datasets)
	if err != nil {
		return prompt.Prompts{}, err
	}
	spec.Learned = r.learned
	return prompt.Build(ctx, client, spec)
}

// cellRun is what was sent, for Evaluate.
func cellRun(w *plans.Workload, cell plans.Cell, result load.Result) measure.CellRun {
	c := measure.CellRun{
		Cell: cell.Address, From: result.From, To: result.To,
		Prompt: cell.Prompt, Output: cell.Output, Depth: cell.Depth, Concurrency: cell.Concurrency, Rate: cell.Rate,
		Correction: w.LatencyCorrection, UniqueContext: !cachesOnPurpose(w),
	}
	for metric, limit := range w.SLO {
		if c.SLO == nil {
			c.SLO = map[string]float64{}
		}
		c.SLO[metric] = ms(limit)
	}
	return c
}

// loadPlan is how one cell of a workload is sent.
func loadPlan(w *plans.Workload, cell plans.Cell, prompts prompt.Prompts) load.Plan {
	seed := int64(w.Seed)
	p := load.Plan{
		Cell: cell.Address, Prompts: prompts, Requests: cell.Requests, Warmup: cell.Warmup, OutputTokens: cell.Output,
		API: openai.API(w.API), Temperature: w.Temperature, TopP: w.TopP, TopK: w.TopK, MinP: w.MinP, RepetitionPenalty: w.RepetitionPenalty,
		Seed: &seed, IgnoreEOS: w.IgnoreEOS, CacheContext: w.DepthCached && cell.Depth > 0, Retries: w.Retries, MaxErrors: w.MaxErrors,
		Pace: load.Pace{
			Arrival: load.Arrival(w.Arrival), Rate: cell.Rate, RateTo: w.RateTo, Burstiness: w.Burstiness,
			MaxConcurrency: w.MaxConcurrency, Duration: w.Duration, Seed: seed,
		},
		RequestTimeout: w.RequestTimeout, FirstTimeout: w.FirstTimeout, StallTimeout: w.StallTimeout,
	}
	if w.Arrival == "" {
		p.Pace.Concurrency = cell.Concurrency
	}
	return p
}
