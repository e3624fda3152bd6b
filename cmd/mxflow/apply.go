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
	"github.com/mxflow/mxflow/cmd/mxflow/internal/sealing"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

func newApplyCommand(a *app) *cobra.Command {
	var vars []load.Given
	var rerun, target []string
	var suite string
	var reuse, wait, underSeal bool
	var key string
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
		RunE: func(c *cobra.Command, args []string) (err error) {
			a.fold()
			beginStream(a)
			var res *apply.Result
			defer func() {
				if a.json && res == nil {
					a.refused(err)
				}
			}()
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			q := applying{
				path: path, state: a.stateDir(path), load: load.Options{Inputs: vars, Suite: suite},
				rerun: rerun, target: target, reuse: reuse,
			}
			switch {
			case underSeal && len(rerun) > 0:
				return errors.New("--sealed: a sealed plan is not measured again until it passes; remove --rerun")
			case underSeal:
				s, err := sealing.Read(q.path, key)
				if err != nil {
					return err
				}
				holdTo(s, sealing.FileOf(q.path), &q)
			case key != "":
				return errors.New("--key is the key of a seal: add --sealed")
			}
			q.wait, q.watch, q.report = wait, newProgress(a, false), a.reportStreamed
			res, err = applyPlan(c.Context(), a, q)
			if res != nil && !a.json {
				view.Outcome(a.screen(), res, verdict.Rough(res.Took.Seconds()))
			}
			return err
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	nodeFlags(c, &rerun, &target)
	reuseFlag(c, &reuse)
	c.Flags().BoolVar(&wait, "wait", false, "wait while another apply uses the state directory")
	c.Flags().BoolVar(&underSeal, "sealed", false, "refuse what differs from plan.seal (see mxflow seal)")
	keyFlag(c, &key)
	a.jsonFlag(c)
	groupFlags(c, "Plan", "var", "var-file", "suite", "sealed", "key")
	groupFlags(c, "What is measured", "rerun", "target", "reuse")
	return c
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
		Safe: func(text string) string { return a.secrets.Text(foreign.Printable(text)) },
	}
	switch {
	case a.json:
		on.JSON = a.printLine
	case table.Terminal(a.stdout):
		on.Terminal, on.Colour = table.Bare(a.stdout), colours(a.stdout)
	}
	return progress.New(on)
}

// applying is a plan to apply and how to report it.
type applying struct {
	path, state string
	load        load.Options
	// rerun names nodes to measure again, and target those to run.
	rerun, target []string
	reuse         bool
	// aside is set for what is none of the plan's own applies.
	aside bool
	// sealed rejects what a seal does not allow; it, sealDigest and budget are set under
	// one.
	sealed     func(*load.Result, *store.Store) error
	sealDigest string
	budget     *sealing.Budget
	// wait waits for another apply on the state directory.
	wait  bool
	watch apply.Observer
	// report prints what is wrong with the plan.
	report func(*lang.Findings)
}

// applyPlan loads a plan and applies it until it ends or signals end it.
func applyPlan(ctx context.Context, a *app, q applying) (*apply.Result, error) {
	loaded, g, err := a.loadReporting(q.path, q.load, q.report)
	if err != nil {
		return nil, err
	}
	soft, hard, release := signals(ctx, a.stderr, shuttingDown)
	defer release()
	res, err := q.run(soft, hard, a, loaded, g)
	switch {
	case res != nil:
		a.exit = res.Exit
	case err != nil && soft.Err() != nil:
		a.exit = verdict.ExitInterrupted
	}
	return res, err
}

// run applies what was loaded until soft ends, or a seal's budget is used up.
func (q applying) run(soft, hard context.Context, a *app, loaded *load.Result, g *runtime.Graph) (*apply.Result,
	error,
) {
	if q.budget != nil {
		limited, watch, done := q.budget.Watch(soft, q.watch)
		defer done()
		soft, q.watch = limited, watch
	}
	watch := &progress.Recorder{Observer: q.watch, Dir: q.state, Secrets: func() *redact.Redactor { return a.secrets }}
	return apply.Run(soft, apply.Options{
		Path: q.path, Loaded: loaded, Graph: g, StateDir: q.state,
		Rerun: q.rerun, Target: q.target, Reuse: q.reuse,
		Aside: q.aside, Wait: q.wait, Sealed: q.sealed, Seal: q.sealDigest, Signer: audit.Signer(a.stderr), Tool: tool,
		Force: hard,
	}, watch)
}
