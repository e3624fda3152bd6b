package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/redact"
)

// app is what every subcommand shares.
type app struct {
	stdout, stderr io.Writer
	// state is the --state flag: the state directory, empty for .mxflow beside
	// the plan.
	state string
	json  bool
	// secrets takes what is sensitive in the loaded plan out of what is shown.
	secrets *redact.Redactor
	// exceeded says that a plan took too long or too much memory to load.
	exceeded chan string
	// exit is the status that the subcommand decided on.
	exit int
}

// shown is an error that was already printed: run only sets the exit status.
var errShown = errors.New("already shown")

const longHelp = `mxflow turns "port one performance feature into an inference engine, prove that it
helps, only then go on" into a plan that a machine runs and an auditor can check.

  mxflow ab --a … --b …      is B faster than A? two commands, without a plan
  mxflow init                write a plan to begin with
  mxflow validate plan.hcl   find every mistake before anything is started
  mxflow test plan.hcl       decide cases: given these measurements, this verdict
  mxflow console plan.hcl    try expressions and rules, also on a recorded run
  mxflow plan plan.hcl       what would run, in order, and why
  mxflow apply plan.hcl      start the engine, measure, decide, unlock
  mxflow status              where each phase stands
  mxflow audit               every decision with its values; audit verify
  mxflow report              results as Markdown
  mxflow waive, retract      overrule a gate, withdraw an outcome: who, why, on record

Exit status of apply: 0 every gate passed, 1 usage, plan or environment error,
2 a gate failed or is invalid, 3 inconclusive, 4 the engine or mxflow broke,
130 interrupted.`

// run is main without the process: arguments in, exit status out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr, exceeded: make(chan string)}
	return a.guarded(func() int { return a.execute(ctx, args) })
}

// guarded is the exit status of work, or that of a plan which exceeded its limits. The
// work goes on then until the process ends, since nothing can cancel an evaluation.
func (a *app) guarded(work func() int) int {
	stderr, done := a.stderr, make(chan int, 1)
	go func() { done <- work() }()
	select {
	case status := <-done:
		return status
	case message := <-a.exceeded:
		fmt.Fprintf(stderr, "mxflow: %s\n", message)
		return verdict.ExitUsage
	}
}

// guard ends mxflow when a plan takes too long or too much memory to load.
func (a *app) guard() *eval.Guard {
	return &eval.Guard{Time: 10 * time.Second, Heap: 1 << 30, Exceeded: func(message string) { a.exceeded <- message }}
}

func (a *app) execute(ctx context.Context, args []string) int {
	root := a.root()
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

func (a *app) root() *cobra.Command {
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
		a.validateCommand(), a.testCommand(), a.planCommand(), a.applyCommand(), a.abCommand(), a.benchCommand(), a.importCommand(), a.statusCommand(), a.waiveCommand(), a.retractCommand(), a.envCommand(), a.showCommand(),
		a.auditCommand(), a.graphCommand(), a.reportCommand(), a.versionCommand(), a.engineCommand(),
		a.explainCommand(), a.formatCommand(), a.convertCommand(), a.schemaCommand(), a.initCommand(), a.consoleCommand(),
	)
	explainArgs(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w\nTry: %s --help", err, c.CommandPath())
	})
	return root
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

// jsonFlag gives a subcommand --json.
func (a *app) jsonFlag(c *cobra.Command, what string) {
	c.Flags().BoolVar(&a.json, "json", false, what)
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

// width is that of the person's terminal, in columns; 100 where there is none. What
// the terminal says goes before COLUMNS, which stays as it was when a window changes,
// and stands in for a terminal that does not know, as on a serial line.
func (a *app) width() int {
	for _, w := range []io.Writer{a.stdout, a.stderr} {
		if f, ok := bare(w).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil || columns < 1 {
				columns, _ = strconv.Atoi(os.Getenv("COLUMNS"))
			}
			if columns < 1 {
				columns = 80
			}
			return max(columns, table.LeastColumn)
		}
	}
	return 100
}

// terminal reports whether w is one, and colours are wanted.
func terminal(w io.Writer) bool {
	f, ok := bare(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func colours(w io.Writer) bool {
	return terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
