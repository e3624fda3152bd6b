package record

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// Subject is a running engine to measure, and what of this machine belongs to it.
type Subject struct {
	Client *openai.Client
	Kind   kinds.Kind
	// Zero is the start of the recording's clock; the zero Time means now.
	Zero time.Time
	// Machine is what belongs to the engine: GPUs by UUID, its processes, its container.
	// Clock and page are filled in.
	Machine machine.SamplerConfig
	// Fresh is set if no workload request has been answered yet.
	Fresh bool
	// Prompts makes what a cell sends; nil builds it again.
	Prompts func(ctx context.Context, client prompt.Engine, w *plans.Workload, cell plans.Cell) (prompt.Prompts, error)
	// Redact removes sensitive values from samples before they are examined; nil removes
	// none.
	Redact func([]measure.Sample)
	// Draw distinguishes the prompts of this launch from all others.
	Draw string
	// Round distinguishes the arrivals of a search's probes from those of other rounds, and
	// Before has the rate, by cell, at which a search begins.
	Round  int
	Before map[string]float64
	// Exact is set if prompts were made with this engine's own tokenizer, so another
	// count than requested is a sign of different work.
	Exact bool
	// Limit is what limits its speed; nil if unknown.
	Limit *limit.Basis
	// Progress is called after each answer, unless nil.
	Progress func(done, total int)
}

type Measurement struct {
	measure.Recording
	// Metrics are the recording's, by address without statistic.
	Metrics map[string]measure.Summary
	// Invalid are reasons for the numbers not to count, Notes on them, Incoherent answers
	// that do not read as text.
	Invalid, Notes, Incoherent []verdict.Reason
	// Disturbed is set if all causes in Invalid are the machine's or the client's.
	Disturbed bool
	sent      []sentCell
	// preparing is how long the slowest request took by which prompts were made.
	preparing time.Duration
}

// Take sends every cell of every workload to an engine, watches the machine meanwhile,
// and derives the metrics. If something broke, what was taken before is returned with the
// error.
func Take(ctx context.Context, s Subject, ws []*plans.Workload) (t Measurement, err error) {
	if s.Zero.IsZero() {
		s.Zero = time.Now()
	}
	r := &recording{Subject: s, taken: &t, learned: &prompt.Knowledge{}}
	for _, w := range ws {
		for _, cell := range w.Cells() {
			if w.Capacity == nil {
				r.total += cell.Warmup + cell.Requests
			}
		}
	}
	began := time.Now()
	watched := s.Machine
	watched.Zero = s.Zero
	if s.Kind.Metrics.Path != "" && len(s.Kind.Metrics.Names) > 0 {
		watched.Metrics = &machine.MetricsPage{
			URL: s.Client.BaseURL + s.Kind.Metrics.Path, Header: s.Client.Header, Client: s.Client.HTTP,
			Names: s.Kind.Metrics.Names, Needs: s.Kind.Metrics.Needs,
		}
	}
	if r.watch, err = machine.StartSampler(ctx, watched); err != nil {
		return t, err
	}
	err = r.watch.Lead(ctx, began)
	for _, w := range ws {
		for _, cell := range w.Cells() {
			switch {
			case err != nil:
			case w.Capacity != nil:
				err = r.search(ctx, w, cell)
			default:
				err = r.cell(ctx, w, cell, nil)
			}
		}
	}
	if err == nil {
		r.watch.Rest(ctx)
	}
	t.stop(r.watch)
	r.bound()
	t.Metrics = measure.Evaluate(t.Recording)
	// Cells finished before an interruption count, as far as they are valid.
	if err == nil || errors.Is(err, context.Canceled) {
		r.judge()
	}
	t.sent = r.sent
	return t, err
}

// stop ends the watch and collects its data.
func (t *Measurement) stop(watch *machine.Sampler) {
	series, notes := watch.Stop()
	t.Series = append(t.Series, series...)
	for _, text := range notes {
		t.Notes = append(t.Notes, verdict.Say("machine.watched", "{text}", verdict.Text("text", text)))
	}
}

// addDisturbances adds the disturbances of the machine: a disturbed launch does not count.
func (t *Measurement) addDisturbances() {
	for _, d := range measure.Disturbances(t.Recording) {
		gpu, share := verdict.Text("gpu", d.GPU), verdict.Num("share", d.Share, "share")
		why := verdict.New(code.ReadingsDamaged).On(d.Series)
		switch d.Code {
		case measure.Slowed:
			by := slices.Clone(d.Slowed)
			for i, name := range by {
				by[i] = cmp.Or(slowdowns[name], "unknown reason "+name)
			}
			why = verdict.New(code.GPUSlowed, gpu, share, verdict.List("by", by)).On(d.Cell)
		case measure.Shared:
			why = verdict.New(code.GPUNeighbours, gpu, share, verdict.Int("most", d.Most)).On(d.Cell)
		case measure.Wandered:
			why = verdict.New(code.ClockWandered, gpu, verdict.Num("low", d.Low, "MHz"),
				verdict.Num("high", d.High, "MHz")).On(d.Cell)
		}
		t.Invalid = append(t.Invalid, why)
	}
}

type recording struct {
	Subject
	taken   *Measurement
	watch   *machine.Sampler
	learned *prompt.Knowledge
	// datasets are the files of prompts that were read.
	datasets datasets
	// done of total requests are answered.
	done, total int
	sent        []sentCell
}

type sentCell struct {
	w    *plans.Workload
	cell plans.Cell
	run  measure.CellRun
	// prompts are what was sent; unknown when it is judged again.
	prompts prompt.Prompts
	samples []measure.Sample
	delay   measure.Series
}

// cell sends a cell, or one of its probes if it is of a search.
func (r *recording) cell(ctx context.Context, w *plans.Workload, cell plans.Cell, of *measure.Probe) error {
	client := r.Client
	if len(client.Extra) > 0 && cachesOnPurpose(w) {
		client = client.Bare() // which does not ask the engine to bypass its cache
	}
	made := r.Prompts
	if made == nil {
		made = func(ctx context.Context, client prompt.Engine, w *plans.Workload, cell plans.Cell) (prompt.Prompts,
			error,
		) {
			spec, err := promptSpec(w, cell, r.Draw, "", &r.datasets)
			if err != nil {
				return prompt.Prompts{}, err
			}
			spec.Learned = r.learned
			return prompt.Build(ctx, client, spec)
		}
	}
	prompts, err := made(ctx, &timed{client, &r.taken.preparing}, w, cell)
	if err != nil {
		return err
	}
	p := LoadPlan(w, cell)
	p.Prompts = prompts
	// Some servers refuse a request with an unknown field.
	p.Request.IgnoreEOS = p.Request.IgnoreEOS && r.Kind.Ask.IgnoreEOS
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
	for i := range result.Samples {
		if s := &result.Samples[i]; s.Late <= w.MaxLag {
			s.Late = 0 // a workload that declares max_lag accepts that
		}
	}
	if r.Redact != nil {
		r.Redact(result.Samples) // before anything is reported about them
	}
	mark(result.Samples, prompts)
	t := r.taken
	t.Samples = append(t.Samples, result.Samples...)
	if len(result.Delay.At) > 0 {
		result.Delay.Source = cell.Address
		t.Series = append(t.Series, result.Delay)
	}
	if err != nil {
		return err
	}
	run := measure.CellRun{
		Cell: cell.Address, From: result.From, To: result.To, Dimensions: cell.Dimensions,
		UniqueContext: !cachesOnPurpose(w), Unread: w.Coherence == "off",
		ExactOutput: p.Request.IgnoreEOS, SLO: limits(w),
		Prompts: measure.PromptLengths{
			Method: string(prompts.Method), Verified: prompts.Verified, Own: r.Exact,
			Template: prompts.Template,
		},
		Requests: cell.Requests, Warmup: cell.Warmup, Trace: w.Recorded(),
		Sampling: measure.Sampling{
			API: w.API, Temperature: w.Temperature, TopP: w.TopP, TopK: w.TopK, MinP: w.MinP,
			RepetitionPenalty: w.RepetitionPenalty, Seed: w.Seed,
		},
	}
	for s := range measure.Answered(result.Samples) { // one that was cut off ends before the count comes
		run.ByEvents = run.ByEvents || s.TokenSource == measure.SourceEvents
	}
	sent := sentCell{w: w, cell: cell, run: run, prompts: prompts, samples: result.Samples, delay: result.Delay}
	if of != nil {
		sent.run.Probe = of
		byPlan, awake := sent.late(r.Kind.Lag(w.MaxLag))
		of.Late = byPlan.Late || awake.Late
		sent.run.Probe = sent.run.Counted(result.Samples)
	}
	t.Cells, r.sent = append(t.Cells, sent.run), append(r.sent, sent)
	return nil
}

// cachesOnPurpose reports whether a workload is about what the engine has cached.
func cachesOnPurpose(w *plans.Workload) bool {
	return w.DepthCached || w.Turns > 1 || w.SystemTokens > 0 || w.Trace != nil
}

// LoadPlan is how one cell of a workload is sent, whatever its prompts.
func LoadPlan(w *plans.Workload, cell plans.Cell) load.Plan {
	seed := int64(w.Seed)
	p := load.Plan{
		Cell: cell.Address,
		Request: openai.Request{
			API: openai.API(w.API), MaxTokens: cell.Output, IgnoreEOS: w.IgnoreEOS, Seed: &seed,
			Temperature: w.Temperature, TopP: w.TopP, TopK: w.TopK, MinP: w.MinP,
			RepetitionPenalty: w.RepetitionPenalty,
			Timeouts:          openai.Timeouts{Total: w.RequestTimeout, Stall: w.StallTimeout},
		},
		FirstTimeout: w.FirstTimeout, CacheContext: w.DepthCached && cell.Depth > 0,
		Retries: w.Retries, MaxErrors: w.MaxErrors,
		Pace: load.Pace{
			Arrival: load.Arrival(w.Arrival), Rate: cell.Rate,
			MaxConcurrency: w.MaxConcurrency, Duration: w.Duration, Seed: seed,
		},
	}
	if w.Trace != nil {
		p.Pace.Duration = 0 // which selected the part of it
	}
	if w.Arrival == "" {
		p.Pace.Concurrency = cell.Concurrency
	}
	if c := w.Capacity; c != nil {
		p.Pace.Seed, p.Pace.Ramp, p.Pace.Drain = cell.Seed, true, c.Drain
		p.MaxErrors = math.MaxInt // they are violations
	}
	return p
}
