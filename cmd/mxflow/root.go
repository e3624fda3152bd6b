package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/store"
)

// run is main without the process: arguments in, exit status out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{prints: prints{stdout: inertWriter(stdout), stderr: inertWriter(stderr)}}
	if table.Terminal(stdout) {
		return survived(a.stderr, func() int { return execute(ctx, a, args) })
	}
	out := &ending.Output{To: stdout}
	a.stdout = inertWriter(out)
	status := survived(a.stderr, func() int { return execute(ctx, a, args) })
	if err := out.Err(); err != nil {
		fmt.Fprintf(stderr, "mxflow: some output could not be printed: %v\n", err)
		status = max(status, verdict.ExitUsage)
	}
	return status
}

// survived is the exit status of work, or of a bug in it.
func survived(stderr io.Writer, work func() int) (status int) {
	status = verdict.ExitBroken
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Fprintf(stderr, "mxflow: a bug in mxflow: %v\n%s", bug, debug.Stack())
		}
	}()
	return work()
}

func execute(ctx context.Context, a *app, args []string) int {
	root := newRootCommand(a)
	root.SetArgs(doubleDashes(root, args))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case a.unwritten != nil:
		a.complain(fmt.Errorf("part of the result cannot be written as JSON: %w", a.unwritten))
		return verdict.ExitBroken
	case err == nil:
		return a.exit
	case !errors.Is(err, errShown):
		a.complain(err)
	}
	if a.exit != 0 {
		return a.exit
	}
	return verdict.ExitUsage
}

// complain prints an error as a person reads it, with what to run first.
func (a *app) complain(err error) {
	text := fmt.Sprintf("mxflow: %v", err)
	switch {
	case errors.Is(err, store.ErrApplyFirst):
		text += ": " + a.suggest("apply")
	case errors.Is(err, errSealFirst):
		text += ": " + a.suggest("seal")
	}
	on := a.stderr
	if table.Folds(on) {
		on = &table.Folding{To: on, Width: a.width()}
	}
	fmt.Fprintln(on, text)
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:                   "mxflow COMMAND",
		Short:                 "Port performance features into inference engines, one at a time",
		Long:                  longHelp,
		SilenceUsage:          true,
		SilenceErrors:         true,
		DisableFlagsInUseLine: true,
		Version:               version, // which makes --version
		PersistentPreRun:      func(c *cobra.Command, _ []string) { a.running = c },
	}
	root.SetVersionTemplate(versionLine() + "\n")
	root.PersistentFlags().StringVar(&a.state, "state", "", "`DIR` of the record (default: beside the plan)")
	root.PersistentFlags().BoolVar(&noColour, "no-color", false, "print without colours, as with NO_COLOR set")
	for _, g := range []struct { // as people look for them
		id, title string
		commands  []*cobra.Command
	}{
		{"start", "Start:", []*cobra.Command{
			newInitCommand(a), newValidateCommand(a), newPlanCommand(a), newApplyCommand(a), newABCommand(a),
			newNoiseCommand(a), newBisectCommand(a), newWatchCommand(a), newReproduceCommand(a), newBenchCommand(a),
		}},
		{"read", "Read the results:", []*cobra.Command{
			newStatusCommand(a), newExplainCommand(a), newShowCommand(a), newCompareCommand(a), newReportCommand(a),
			newServeCommand(a),
		}},
		{"keep", "Keep plan and record:", []*cobra.Command{
			newFormatCommand(a), newWaiveCommand(a), newAuditCommand(a), newSealCommand(a),
		}},
		{"more", "More:", []*cobra.Command{
			newProfileCommand(a), newEngineCommand(a), newImportCommand(a), newMCPCommand(a), newSchemaCommand(a),
			newVersionCommand(a), newWorkerCommand(),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	addHelp(root, a)
	return root
}

// shuttingDown is said of an interruption where the engine is mxflow's own.
const shuttingDown = "Shutting down the engine. Press Ctrl-C again to kill it."

// signals gives two contexts: the first Ctrl-C (or SIGTERM) ends soft, which
// stops the launch in hand in order; the second ends hard, which stops at once.
// SIGHUP and SIGPIPE are ignored: a closed terminal, or a pager that was left,
// does not end a run.
func signals(ctx context.Context, stderr io.Writer, says string) (soft, hard context.Context, release func()) {
	soft, stopSoft := context.WithCancel(ctx)
	// Stopping in order goes on after soft has ended, so hard must not end with it.
	hard, stopHard := context.WithCancel(context.WithoutCancel(ctx))
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	c := ending.Interrupts()
	done := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-c:
				if n == 1 {
					fmt.Fprintf(stderr, "\n%s\n", says)
					stopSoft()
				} else {
					stopHard()
				}
			}
		}
	}()
	return soft, hard, func() {
		// The signals stay caught: one that comes when the outcome is on record
		// must not change the exit status.
		close(done)
		stopSoft()
		stopHard()
	}
}
