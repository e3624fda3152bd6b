package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/ready"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps"
)

// runBench measures and prints.
func (a *app) runBench(ctx context.Context, b bench) error {
	key, err := b.key()
	if err != nil {
		return err
	}
	if err := b.comparable(); err != nil {
		return err
	}
	files, err := b.openFiles()
	defer files.close()
	if err != nil {
		return err
	}
	soft, _, release := signals(ctx, a.stderr)
	defer release()
	inst, err := endpoint.Launcher{}.Launch(soft, b.spec(key), engine.Launch{ID: "bench"})
	if err != nil {
		return err
	}
	defer inst.Stop(context.Background())
	subject, err := b.subject(soft, inst)
	if err != nil {
		return err
	}
	out := &benchResult{Tool: "mxflow " + version, URL: subject.Client.BaseURL, Engine: subject.Kind.Name, Started: time.Now().UTC().Truncate(time.Second), Seed: b.seed, Correction: b.correction, SLO: b.slo}
	out.Dataset = b.sent()
	if out.Model = b.model; out.Model == "" {
		models, err := subject.Client.Models(soft)
		if err != nil {
			a.exit = verdict.ExitBroken
			var status *openai.StatusError
			if !errors.As(err, &status) {
				return fmt.Errorf("the server does not answer: %w; is it running, and is %s its address?", err, b.url)
			}
			return fmt.Errorf("the server does not say which models it has: %w; name one with --model", err)
		}
		out.Model = models[0].ID
	}
	var calibrator steps.Calibrator
	subject.Calibrate = calibrator.Calibrate
	progress := a.benchProgress(b)
	var rawErr error
	for run := range b.runs {
		subject.Progress = func(done, total int) { progress(run, done, total) }
		w, err := b.workload(run)
		if err != nil {
			return err
		}
		taken, err := steps.Record(soft, subject, []*plans.Workload{w})
		if rawErr == nil && (err == nil || len(taken.Samples) > 0) {
			rawErr = b.keepRaw(run, taken) // what was measured is printed all the same
		}
		if err != nil {
			progress(run, -1, 0)
			if errors.Is(err, context.Canceled) {
				a.exit = verdict.ExitInterrupted
				fmt.Fprintln(a.stderr, "interrupted; nothing is printed of a run that is not whole")
				if run == 0 {
					return rawErr
				}
				break
			}
			a.exit = verdict.ExitBroken
			return errors.Join(rawErr, fmt.Errorf("run %d of %d: %w", run+1, b.runs, hinted(err, w, subject.Kind)))
		}
		out.add(w, taken)
		subject.Fresh = false
	}
	progress(b.runs-1, -1, 0)
	if len(out.Invalid) > 0 && a.exit == 0 {
		a.exit = verdict.ExitFail
	}
	return errors.Join(a.printBench(b, out, files), rawErr, a.compareWith(&b, out))
}

// hinted says an error with the labels of cells, and what a person can do about
// one that the choice of the engine's kind explains.
func hinted(err error, w *plans.Workload, kind kinds.Kind) error {
	text := tell.Line(named(w, []verdict.Reason{verdict.OfError(err)})[0])
	var status *openai.StatusError
	if kind.Name == "openai" && errors.As(err, &status) && (status.Status == http.StatusBadRequest || status.Status == http.StatusUnprocessableEntity) && strings.Contains(status.Body, "ignore_eos") {
		text += "; the server does not know ignore_eos, which forces answers to --tg tokens: say which kind it is with --engine KIND, or let answers end by themselves with --stop-at-eos"
	}
	return errors.New(text)
}

// subject is the server as it is measured.
func (b bench) subject(ctx context.Context, inst engine.Instance) (steps.Subject, error) {
	access := inst.Access()
	kind := ready.Recognise(ctx, steps.ClientOf(inst, kinds.Kind{}, b.model).HTTP, access)
	if b.kind != "" {
		kind, _ = kinds.Lookup(b.kind)
	}
	s := steps.Subject{Client: steps.ClientOf(inst, kind, b.model), Kind: kind, Fresh: true}
	if len(b.gpus) == 0 {
		return s, nil
	}
	all, err := gpu.List(ctx)
	if err != nil {
		return s, b.wrong("gpus", "%v", err)
	}
	chosen, err := gpu.Choose(all, nil, b.gpus)
	if err != nil {
		return s, b.wrong("gpus", "%v", err)
	}
	for _, g := range chosen {
		s.Machine.GPUs = append(s.Machine.GPUs, g.UUID)
	}
	s.Machine.Host = true
	return s, nil
}

// benchProgress shows how far a run has come, on a terminal by one line that is
// written over, elsewhere not at all.
func (a *app) benchProgress(b bench) func(run, done, total int) {
	f, ok := a.stderr.(*os.File)
	if b.quiet || !ok || !terminal(a.stderr) {
		return func(int, int, int) {}
	}
	var last time.Time
	return func(run, done, total int) {
		switch {
		case done < 0:
			io.WriteString(f, "\r\x1b[K")
		case time.Since(last) > 100*time.Millisecond || done == total:
			last = time.Now()
			fmt.Fprintf(f, "\r\x1b[Krun %d of %d: %d of %d requests", run+1, b.runs, done, total)
		}
	}
}
