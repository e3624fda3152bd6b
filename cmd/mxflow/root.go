package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/gates/verdict"
)

const longHelp = `mxflow turns "port one performance feature into an inference engine, prove that it
helps, only then continue" into a plan that a machine runs and an auditor can check.

  mxflow ab --a … --b …      is B faster than A? two commands, without a plan
  mxflow init                write a starter plan
  mxflow validate plan.hcl   find every mistake before anything is started
  mxflow test plan.hcl       decide cases: with these values, this verdict
  mxflow plan plan.hcl       what would run, in order, and why
  mxflow apply plan.hcl      start the engine, measure, decide, unlock
  mxflow status              where each phase stands
  mxflow audit               every decision with its values; audit verify
  mxflow report              results as Markdown
  mxflow waive, retract      overrule a gate, withdraw an outcome: who, why, on record

Exit status of apply: 0 every gate passed, 1 usage, plan or environment error,
2 a gate failed or is invalid, 3 inconclusive, 4 the engine or mxflow failed,
130 interrupted.`

// run is main without the process: arguments in, exit status out. Options are what
// takes a program that is mxflow, which a test's is not.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{prints: prints{stdout: inertWriter(stdout), stderr: inertWriter(stderr)}}
	if terminal(stdout) {
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
	case err == nil:
		return a.exit
	case !errors.Is(err, errShown):
		fmt.Fprintf(a.stderr, "mxflow: %v\n", err)
	}
	if a.exit != 0 {
		return a.exit
	}
	return verdict.ExitUsage
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "mxflow",
		Short:         "Prove performance features of inference engines, one at a time",
		Long:          longHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version, // which makes --version
	}
	root.SetVersionTemplate(versionLine() + "\n")
	root.PersistentFlags().StringVar(&a.state, "state", "", "state directory (default: .mxflow beside the plan)")
	root.AddCommand(
		newValidateCommand(a),
		newTestCommand(a),
		newPlanCommand(a),
		newApplyCommand(a),
		newSealCommand(a),
		newMCPCommand(a),
		newABCommand(a),
		newBenchCommand(a),
		newImportCommand(a),
		newProfileCommand(a),
		newStatusCommand(a),
		newWaiveCommand(a),
		newRetractCommand(a),
		newEnvCommand(a),
		newShowCommand(a),
		newCompareCommand(a),
		audit.Command(auditHost(a), newReplayCommand(a)),
		newReportCommand(a),
		newExportCommand(a),
		newServeCommand(a),
		newVersionCommand(a),
		newEngineCommand(a),
		newExplainCommand(a),
		newFormatCommand(a),
		newSchemaCommand(a),
		newInitCommand(a),
		newWorkerCommand(),
	)
	explainArgs(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w\nTry: %s --help", explainFlag(err), c.CommandPath())
	})
	return root
}

// flagTypes are what flags of a type take.
var flagTypes = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint": "a whole number", "uint64": "a whole number",
	"float64": "a number", "duration": "a time such as 30s or 5m", "bool": "true or false",
}

// explainFlag says what a flag takes instead of how its value was parsed.
func explainFlag(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	takes, known := flagTypes[invalid.GetFlag().Value.Type()]
	if !known {
		return err
	}
	if errors.Is(err, strconv.ErrRange) {
		takes += " that fits 64 bits"
	}
	return fmt.Errorf("--%s %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), takes)
}

// explainArgs makes a wrong number of arguments say what is wanted.
func explainArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		explainArgs(sub)
	}
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return fmt.Errorf("%w\nUsage: %s", err, c.UseLine())
		}
		return nil
	}
}

// doubleDashes accepts Terraform's single-dash spellings (-var, -json) of our
// own flags.
func doubleDashes(root *cobra.Command, args []string) []string {
	known := map[string]bool{"state": true, "help": true}
	var learn func(*cobra.Command)
	learn = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		for _, sub := range c.Commands() {
			learn(sub)
		}
	}
	learn(root)
	out := make([]string, len(args))
	for i, arg := range args {
		if arg == "--" {
			copy(out[i:], args[i:])
			break
		}
		out[i] = arg
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") {
			name, _, _ := strings.Cut(arg[1:], "=")
			if len(name) > 1 && known[name] {
				out[i] = "-" + arg
			}
		}
	}
	return out
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
