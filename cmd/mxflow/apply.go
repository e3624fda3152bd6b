package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/progress"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/apply"
)

// applyOptions are the command line of mxflow apply.
type applyOptions struct {
	*app
	applying
	sealed bool
	key    string
}

func newApplyCommand(a *app) *cobra.Command {
	o := &applyOptions{app: a}
	c := &cobra.Command{
		Use:   "apply [PLAN]",
		Short: "Start the engine, measure, decide, unlock phases",
		Long: `Runs a plan to its end. Unchanged outcomes are reused: after an interruption, run
apply again to resume. Changed thresholds are decided from the launches on record,
unless they were relaxed after those launches were seen: then it measures again.

With --target only the named nodes and what they need are run; a gate that is
left out counts as inconclusive. --json streams events, one object per line, and ends
with what each port pays. Everything is kept in .mxflow beside the plan.

The first Ctrl-C shuts the engine down and saves progress; the second kills it.

Exit status: 0 every gate passed, 1 the command line, the plan or the environment
was refused before anything started, 2 a gate failed or is invalid, 3 inconclusive,
4 the engine failed or could not be started, or mxflow failed, 130 interrupted.`,
		Example: `  mxflow apply plan.hcl
  mxflow apply --var threads=2 --suite quick plan.hcl
  mxflow apply --rerun gemm plan.hcl
  mxflow apply --json plan.hcl > events.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	f := c.Flags()
	varFlag(f, &o.given.Inputs)
	suiteFlag(f, &o.given.Suite)
	nodeFlags(f, &o.rerun, &o.target)
	reuseFlag(f, &o.reuse)
	f.BoolVar(&o.wait, "wait", false, "wait while another apply uses the state directory")
	f.BoolVar(&o.sealed, "sealed", false, "refuse what differs from plan.seal (see mxflow seal)")
	keyFlag(f, &o.key)
	a.jsonFlag(f)
	return c
}

func (o *applyOptions) run(ctx context.Context, args []string) error {
	o.fold()
	beginStream(o.app)
	res, err := o.apply(ctx, args)
	switch {
	case !o.json && res != nil:
		view.Outcome(o.screen(), res, verdict.Rough(res.Took.Seconds()))
	case o.json && res == nil:
		o.refused(err)
	}
	return err
}

func (o *applyOptions) apply(ctx context.Context, args []string) (_ *apply.Result, err error) {
	if o.path, err = o.planOf(args); err != nil {
		return nil, err
	}
	switch {
	case o.sealed && len(o.rerun) > 0:
		return nil, errors.New("--sealed: a sealed plan is not measured again until it passes; remove --rerun")
	case o.sealed:
		if o.seal, err = readSeal(o.path, o.key); err != nil {
			return nil, err
		}
	case o.key != "":
		return nil, errors.New("--key is the key of a seal: add --sealed")
	}
	o.dir, o.watch, o.tell = o.stateDir(o.path), newProgress(o.app, false), o.reportStreamed
	return applyPlan(ctx, o.app, o.applying)
}

// streamVersion names the stream of apply --json, in its first line.
const streamVersion = "mxflow.apply/2"

func beginStream(a *app) {
	if a.json {
		a.printLine(runtime.Event{Type: "version", Time: time.Now().UTC(), Stream: streamVersion, Tool: tool})
	}
}

// refused ends the stream of an apply that started nothing, and pays nothing.
func (a *app) refused(err error) {
	exit := cmp.Or(a.exit, verdict.ExitUsage)
	ev := runtime.Event{Type: "refused", Time: time.Now().UTC(), Exit: &exit}
	if !errors.Is(err, errShown) {
		ev.Message = err.Error()
	}
	a.printLine(ev)
}

// newProgress shows the progress of an apply.
func newProgress(a *app, untitled bool) apply.Observer {
	on := progress.Screen{
		Untitled: untitled,
		Version:  version, Out: func() io.Writer { return a.stdout }, Width: a.width, Note: a.note,
		Safe: func(text string) string { return table.Plain(a.secrets.Text(foreign.Printable(text))) },
	}
	switch {
	case a.json:
		on.JSON = a.printLine
	case table.Terminal(a.stdout):
		on.Terminal, on.Colour = table.ASCII{To: table.Bare(a.stdout)}, colours(a.stdout)
	}
	return progress.New(on)
}

// applying is a plan to apply and how to report it.
type applying struct {
	// dir is the state directory.
	path, dir string
	// given is what the plan is given.
	given load.Options
	// rerun names nodes to measure again, and target those to run.
	rerun, target []string
	reuse         bool
	// aside is set for what is none of the plan's own applies.
	aside bool
	// reproduces, with its lock, is the record whose decisions it makes again; nil of others.
	reproduces *ledger.Reproduces
	lock       []byte
	// seal, which may be nil, is what the apply is held to.
	seal *seal.Seal
	// wait waits for another apply on the state directory.
	wait  bool
	watch apply.Observer
	// tell prints what is wrong with the plan.
	tell func(*lang.Findings)
}

// applyPlan loads a plan and applies it until it ends or signals end it.
func applyPlan(ctx context.Context, a *app, q applying) (*apply.Result, error) {
	loaded, g, err := a.loadReporting(q.path, q.given, q.tell)
	if err != nil {
		return nil, err
	}
	soft, hard, release := signals(ctx, a.stderr, shuttingDown)
	defer release()
	res, err := q.start(soft, hard, a, loaded, g)
	switch {
	case res != nil:
		a.exit = res.Exit
	case err != nil && soft.Err() != nil:
		a.exit = verdict.ExitInterrupted
	}
	return res, err
}

// start applies what was loaded until soft ends.
func (q applying) start(soft, hard context.Context, a *app, loaded *load.Result, g *runtime.Graph) (*apply.Result,
	error,
) {
	watch := &apply.Recorder{Observer: q.watch, Dir: q.dir, Secrets: func() *redact.Redactor { return a.secrets }}
	return apply.Run(soft, apply.Options{
		Path: q.path, Loaded: loaded, Graph: g, StateDir: q.dir,
		Rerun: q.rerun, Target: q.target, Reuse: q.reuse,
		Aside: q.aside, Reproduces: q.reproduces, Lock: q.lock,
		Wait: q.wait, Seal: q.seal, SealFile: sealOf(q.path), Signer: audit.Signer(a.stderr),
		Tool: tool, Force: hard,
	}, watch)
}
