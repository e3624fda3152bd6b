package work

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
	"github.com/mxflow/mxflow/steps/work/program"
)

var execKind = Kind{
	Schema: plans.Schema{
		Doc: "Runs a command in the plan's folder; exit status 0 passes. Any other status fails, and a command " +
			"that cannot be started is an error.",
		Example: plans.Example(examples, `step "exec" "backup" {`),
		Attrs:   plans.Attrs(execConfig{}),
		Parts:   variant.ProgramParts("Its name in gates: `step.<step>.<name>`."),
		Check:   program.CheckCommand,
		Finds:   program.Finds,
	},
	Make: func(l *Site, b *plans.Block) runtime.Step { return &execStep{site: l, block: b} },
}

type execStep struct {
	site  *Site
	block *plans.Block
}

type execConfig struct {
	Command []string          `hcl:"command" doc:"The program and its arguments; no shell is involved. Use [\"sh\", \"-c\", \"…\"] for one."`
	Dir     string            `hcl:"dir,optional" default:"." doc:"Working directory, relative to the plan's folder."`
	Env     map[string]string `hcl:"env,optional" doc:"Set on top of the inherited environment."`
	Timeout plans.Dur         `hcl:"timeout,optional" default:"30m" doc:"Time limit. Then the command is stopped and the step fails."`
}

// Derive implements runtime.Step. A command is identified by itself: what it reads is
// unknown, so an unchanged command that passed is not run again unless --rerun asks for it.
func (e *execStep) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	parts := []any{"exec", e.block.Attrs}
	if len(e.block.Parts) > 0 {
		parts = append(parts, e.block.Parts)
	}
	out := &runtime.Derived{Key: e.site.sealed(parts...)}
	out.Outcome, out.Why = s.Recorded(out.Key, verdict.Reason{})
	return out, nil
}

func (e *execStep) Do(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	var c execConfig
	if err := e.block.Decode(&c); err != nil {
		return nil, err
	}
	launch, err := e.site.stepLaunch(s)
	if err != nil {
		return nil, err
	}
	reads, err := variant.DecodeOutput(e.block.Parts)
	if err != nil {
		return nil, err
	}
	files := launch.LogPath + ".files"
	if len(reads.Metrics) > 0 {
		launch.OutPath = launch.LogPath + ".out"
		defer os.Remove(launch.OutPath)
		// A folder for this run alone: an earlier one's files are not its numbers.
		if err := errors.Join(os.RemoveAll(files), os.MkdirAll(files, 0o755)); err != nil {
			return nil, err
		}
		defer os.RemoveAll(files)
		c.Env = maps.Clone(c.Env)
		if c.Env == nil {
			c.Env = map[string]string{}
		}
		c.Env[program.OutVariable] = files
	}
	began := time.Now()
	run, err := run.StartCommand(engine.Spec{
		Command: c.Command, Dir: e.site.Plan.Path(c.Dir), Env: c.Env,
		StopGrace: 10 * time.Second,
	}, launch)
	if err != nil {
		return &ledger.Decision{Verdict: verdict.Error, Reasons: verdict.Because(code.NotStarted, verdict.Line(err))},
			nil
	}
	out, err := e.site.await(ctx, s, run, time.Duration(c.Timeout), launch.OutPath)
	if err != nil || out.Verdict != verdict.Pass || len(reads.Metrics) == 0 {
		return out, err
	}
	path := launch.OutPath
	if reads.File != "" {
		path = filepath.Join(files, reads.File)
	}
	return out, e.numbers(ctx, s, reads, path, began, out)
}

// numbers reads the program's output, and records it as a launch, so gates read it like
// other numbers.
func (e *execStep) numbers(ctx context.Context, s *runtime.Scope, reads *variant.Command, path string, began time.Time,
	out *ledger.Decision,
) error {
	text, err := variant.ReadOutput(path)
	var metrics map[string]measure.Summary
	if err == nil {
		metrics, err = printed(ctx, e.block, reads, text)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		out.Verdict, out.Reasons = verdict.Error, verdict.Because(code.NumbersUnread, verdict.Line(err))
		return nil
	}
	id := "step-" + runtime.ShortID(s.Run, s.Node.ID, s.Attempt)
	l := &ledger.Launch{
		ID: id, Session: id, Purpose: ledger.ForStep, Node: s.Node.ID, Variant: e.block.Name, Ordinal: 1,
		Order: 1, OK: true,
		Started: began.UTC(), Seconds: time.Since(began).Seconds(), Metrics: metrics,
	}
	if l.Output, err = e.site.Store.Put(e.site.Redact.Bytes(text)); err != nil {
		return err
	}
	for _, m := range reads.CommandMetrics() {
		out.Reasons = append(out.Reasons,
			program.NumberReason(l.Metrics[plans.LevelAddress(e.block.Name, m.Name)], m.Name))
	}
	out.Launches = append(out.Launches, id)
	return e.site.Store.Append(&ledger.Record{Type: "launch", Time: time.Now().UTC(), Run: s.Run, Launch: l})
}

// printed are the numbers of a program's output, by address.
func printed(ctx context.Context, b *plans.Block, reads *variant.Command, text []byte) (map[string]measure.Summary,
	error,
) {
	values, err := reads.Values(ctx, text)
	if err != nil {
		return nil, err
	}
	out := map[string]measure.Summary{}
	for _, m := range reads.CommandMetrics() {
		out[plans.LevelAddress(b.Name, m.Name)], _ = m.Metric.Summary(values[m.Address()])
	}
	return out, nil
}

// ProgramNumbers are the numbers that a program step found, from its kept output; false for a
// step that reads none.
func ProgramNumbers(ctx context.Context, b *plans.Block, output []byte) (found map[string]measure.Summary,
	reads bool, err error,
) {
	c, err := variant.DecodeOutput(b.Parts)
	if err != nil || len(c.Metrics) == 0 {
		return nil, false, err
	}
	found, err = printed(ctx, b, c, output)
	return found, true, err
}
