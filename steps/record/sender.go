package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// send measures a fresh engine with every cell of every workload and completes the
// launch's record. What was measured before something broke is kept.
func (l *Sender) send(ctx context.Context, st *launch.Started, same map[string]prompt.Prompts, ws []*plans.Workload,
	progress func(done, total int),
) error {
	taken, failed := Take(ctx, l.subject(st, same, progress), ws)
	if err := keep(st, taken); err != nil {
		return err
	}
	if same == nil && failed == nil {
		return keepSent(st, taken.sent)
	}
	return failed
}

// command runs a command to its end, and adds the machine's telemetry to its output.
func (l *Sender) command(ctx context.Context, st *launch.Started, c *variant.Command) error {
	failed := st.Execute(ctx, c)
	taken := Measurement{Recording: measure.Recording{Windows: st.Record.Windows}}
	if st.Watch != nil {
		if failed == nil {
			st.Watch.Rest(ctx)
		}
		taken.stop(st.Watch)
	}
	taken.Metrics = measure.Evaluate(taken.Recording)
	if failed == nil {
		taken.addDisturbances()
		taken.Disturbed = disturbed(taken.Invalid)
	}
	return errors.Join(failed, keep(st, taken))
}

// timed notes how long the slowest request took by which prompts are made.
type timed struct {
	engine  prompt.Engine
	slowest *time.Duration
}

func (t *timed) Stream(ctx context.Context, r openai.Request) (measure.Sample, error) {
	defer t.since(time.Now())
	return t.engine.Stream(ctx, r)
}

func (t *timed) Tokenize(ctx context.Context, text string) (int, []int, error) {
	defer t.since(time.Now())
	return t.engine.Tokenize(ctx, text)
}

func (t *timed) since(began time.Time) { *t.slowest = max(*t.slowest, time.Since(began)) }

// warmingUp is how much longer the slowest warm-up of a cell, its first request, or one before
// them took than the slowest of those after it: by then an engine that loads, or compiles, late
// is ready.
func warmingUp(samples []measure.Sample, cell string, warm time.Duration) time.Duration {
	var rest time.Duration
	first := true
	for _, s := range samples { // in the order in which they were due
		if s.Workload != cell || s.Context || s.Err != "" || len(s.Events) == 0 {
			continue
		}
		took := s.Events[len(s.Events)-1].At
		if s.Warmup || first {
			warm = max(warm, took)
		} else {
			rest = max(rest, took)
		}
		first = false
	}
	if rest == 0 {
		return 0 // nothing to compare with
	}
	return max(warm-rest, 0)
}

// keep completes a launch's record with what was taken, and stores the data that its
// metrics can be derived from again.
func keep(st *launch.Started, taken Measurement) (err error) {
	r := st.Record
	if r.Metrics == nil {
		r.Metrics = map[string]measure.Summary{}
	}
	maps.Copy(r.Metrics, taken.Metrics)
	for _, c := range taken.Cells {
		st.WarmingUp = max(st.WarmingUp, warmingUp(taken.Samples, c.Cell, taken.preparing))
	}
	r.Cells, r.Disturbed = taken.Cells, taken.Disturbed
	r.Notes, r.Invalid, r.Incoherent = append(r.Notes, taken.Notes...), append(r.Invalid, taken.Invalid...),
		append(r.Incoherent, taken.Incoherent...)
	if len(taken.Samples) > 0 {
		if err = st.Lab.Store.WriteSamples(st.Run, r, taken.Samples); err != nil {
			return fmt.Errorf("cannot keep the raw samples: %w", err)
		}
	}
	if len(taken.Series) > 0 {
		if err = st.Lab.Store.WriteSeries(st.Run, r, taken.Series); err != nil {
			return fmt.Errorf("cannot keep the telemetry: %w", err)
		}
	}
	return nil
}

// subject is the running engine as the subject of a measurement.
func (l *Sender) subject(st *launch.Started, same map[string]prompt.Prompts, progress func(done, total int)) Subject {
	return Subject{
		Client: st.Client, Kind: st.Kind, Zero: st.Began, Fresh: true, Exact: same == nil, Draw: st.Record.Draw.Seed,
		Redact: func(all []measure.Sample) { Redact(all, st.Lab.Redact) }, Progress: progress,
		Limit: st.Limit, Machine: st.Machine(), Round: st.Record.Ordinal, Before: capacitiesBefore(st),
		Prompts: func(ctx context.Context, client prompt.Engine, w *plans.Workload, cell plans.Cell) (prompt.Prompts,
			error,
		) {
			return l.prompts(ctx, client, same, st.Record, w, cell)
		},
	}
}

// capacitiesBefore are those that the newest launch of the same variant found: a search near
// them takes fewest probes.
func capacitiesBefore(st *launch.Started) map[string]float64 {
	all := st.Lab.Store.Launches(store.LaunchFilter{VariantKey: st.Record.VariantKey, OK: true})
	for _, l := range slices.Backward(all) {
		if found := (measure.Recording{Cells: l.Cells}).Capacities(); len(found) > 0 {
			return found
		}
	}
	return nil
}

// Redact removes sensitive values that an engine repeats from the raw samples.
func Redact(all []measure.Sample, r *redact.Redactor) {
	if !r.Active() {
		return
	}
	for i := range all {
		s := &all[i]
		for _, text := range []*string{&s.Text, &s.Reasoning, &s.Tools, &s.Doubts, &s.Err} {
			*text = r.Text(*text)
		}
	}
}

// Sender sends the requests of workloads, and holds what the recordings of one apply
// share. The zero value is ready to use.
type Sender struct {
	mu sync.Mutex
	// learned is what is known of tokenizers, by variant: one arm's counts must not
	// determine the length of another's prompts.
	learned map[string]*prompt.Knowledge
	// datasets are the files of prompts that were read.
	datasets datasets
}

// prompts returns the prompts of a cell: new ones for every launch, of the same lengths,
// as an engine can remember earlier ones; or those that engines share.
func (l *Sender) prompts(ctx context.Context, client prompt.Engine, same map[string]prompt.Prompts, of *ledger.Launch,
	w *plans.Workload, cell plans.Cell,
) (prompt.Prompts, error) {
	if same != nil {
		p, ok := same[promptKey(w, cell)]
		if !ok {
			return p,
				fmt.Errorf("this comparison started without prompts for cell %s; measure it again with --rerun %s",
					cell.Address, of.Node)
		}
		return p, nil
	}
	body := ""
	if w.SameTexts {
		body = of.Body
	}
	spec, err := promptSpec(w, cell, of.Draw.Seed, body, &l.datasets)
	if err != nil {
		return prompt.Prompts{}, err
	}
	l.mu.Lock()
	if l.learned == nil {
		l.learned = map[string]*prompt.Knowledge{}
	}
	if l.learned[of.VariantKey] == nil {
		l.learned[of.VariantKey] = &prompt.Knowledge{}
	}
	spec.Learned = l.learned[of.VariantKey]
	l.mu.Unlock()
	return prompt.Build(ctx, client, spec)
}

// Work does what a benchmark launch is for: a command runs to its end; a server is sent
// every cell of every workload, with its own prompts or those that its record names.
func (l *Sender) Work(ctx context.Context, st *launch.Started, v *variant.Variant, ws []*plans.Workload,
	progress func(done, total int),
) error {
	if v.Command != nil {
		return l.command(ctx, st, v.Command)
	}
	var same map[string]prompt.Prompts
	if st.Record.Prompts != "" {
		var err error
		if same, err = fitted(st); err != nil {
			return err
		}
	}
	return l.send(ctx, st, same, ws, progress)
}
