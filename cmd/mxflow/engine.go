package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/engines"
	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/levels"
)

func newEngineCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "engine",
		Short: "What mxflow knows about engines, and the engine it contains",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newEngineCheckCommand(a), newEngineKindsCommand(a), newEngineServeCommand(a))
	return c
}

func newEngineServeCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the embedded engine",
		Long: `Runs the engine that mxflow contains: a small decoder, shaped like
gpt-oss, with an OpenAI-like HTTP API. It is what the examples measure.

` + switchesHelp(),
		Example:            "  mxflow engine serve --port 8000\n  MXFLOW_EMBEDDED_KV_CACHE=off mxflow engine serve --port 8000",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "--help" || arg == "-h" {
					return c.Help()
				}
			}
			ending.Interrupts()
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return embedded.Serve(ctx, args, os.Getenv, a.stdout, a.stderr)
		},
	}
	return c
}

// switchesHelp lists flags and environment of the embedded engine.
func switchesHelp() string {
	var b strings.Builder
	b.WriteString("Flags:\n")
	for _, o := range embedded.Flags {
		fmt.Fprintf(&b, "  --%-18s %s (default %s)\n", o.Name, o.Doc, o.Default)
	}
	b.WriteString("\nEnvironment:\n")
	for _, o := range embedded.Variables {
		fmt.Fprintf(&b, "  %s=%s (default %s)\n      %s\n", o.Name, strings.Join(o.Values, "|"), cmp.Or(o.Default, "none"), o.Doc)
	}
	return b.String()
}

// engineCheck is the command line's request.
type engineCheck struct {
	vars    []load.Given
	sets    []string
	keepLog bool
}

func newEngineCheckCommand(a *app) *cobra.Command {
	var q engineCheck
	c := &cobra.Command{
		Use:   "check PLAN [NAME]",
		Short: "Start one engine of a plan, request a token, and show what was recognised",
		Long: `Starts one engine of the plan as a run would, sends it a small workload, prints its
answer, what was recognised and what a measured launch would note, and stops it.
Nothing is recorded. NAME is the engine, as vllm.gb10 or gb10; without it, the baseline's,
or the only one.

Ctrl-C shuts the engine down, a second one kills it.

Exit status: 0 the engine answers, 1 usage or plan error, 4 the engine failed, 130
interrupted.`,
		Example: "  mxflow engine check plan.hcl\n  mxflow engine check plan.hcl vllm.gb10 --set moe_kernel=gemm\n  mxflow engine check plan.hcl --keep-log --json",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			name := ""
			if len(args) > 1 {
				name = args[1]
			}
			return checkEngine(c.Context(), a, args[0], name, q)
		},
	}
	varFlag(c, &q.vars)
	c.Flags().StringArrayVar(&q.sets, "set", nil, "start the variant with this knob value, as knob=value (repeatable)")
	c.Flags().BoolVar(&q.keepLog, "keep-log", false, "keep the engine's log and print its path")
	a.jsonFlag(c, "print as JSON")
	return c
}

func checkEngine(ctx context.Context, a *app, path, name string, q engineCheck) error {
	loaded, g, err := a.load(path, load.Options{Inputs: q.vars, Unproven: true})
	if err != nil {
		return err
	}
	p := loaded.Plan
	key, err := engines.Named(p, name)
	if err != nil {
		return err
	}
	set, err := engines.Knobs(p, q.sets)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mxflow-check-")
	if err != nil {
		return err
	}
	if !q.keepLog {
		defer os.RemoveAll(dir)
	}
	// Whatever is started carries the mark of the plan's state directory, so the next
	// apply finds and stops it if its guard was killed as well.
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Owner: apply.Owner(a.stateDir(path)), RunDir: dir, Note: a.note})
	if err != nil {
		return err
	}
	soft, hard, release := signals(ctx, a.stderr, shuttingDown)
	defer release()
	if !a.json {
		fmt.Fprintf(a.stderr, "starting engine %s\n", key)
	}
	out, err := levels.CheckEngine(soft, hard, &lab.Lab.Lab, key, set)
	switch {
	case errors.Is(err, context.Canceled):
		a.exit = verdict.ExitInterrupted
		fmt.Fprintf(a.stderr, "interrupted; engine %s was stopped\n", key)
		return nil
	case err != nil:
		return err
	}
	if !q.keepLog {
		out.Log = ""
	}
	if !out.OK {
		a.exit = verdict.ExitBroken
	}
	if a.json {
		a.printJSON(out)
		return nil
	}
	engines.PrintCheck(a.screen(), out)
	return nil
}

func newEngineKindsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "kinds [KIND]",
		Short: "List the engine kinds that a plan can name, or show everything about one",
		Long: `Without KIND, lists the engine kinds: what each is, its image and port, and how it
can be launched. With KIND, shows its whole profile: settings and what they become,
readiness, observations, metrics, and how it reports errors.`,
		Example: "  mxflow engine kinds\n  mxflow engine kinds vllm\n  mxflow engine kinds vllm --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
			case a.json:
				all := []any{}
				for _, k := range kinds.All() {
					all = append(all, engines.JSON(k))
				}
				a.printJSON(all)
				return nil
			default:
				engines.List(a.screen())
				return nil
			}
			k, ok := kinds.Lookup(args[0])
			if !ok {
				return fmt.Errorf("unknown engine kind %q: see mxflow engine kinds", args[0])
			}
			if a.json {
				a.printJSON(engines.JSON(k))
				return nil
			}
			engines.Describe(a.screen(), k)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}
