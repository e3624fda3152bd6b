package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/levels"
)

func newEngineCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "engine COMMAND",
		Short: "Check an engine, list the kinds, run the embedded one",
		Example: `  mxflow engine check plan.hcl
  mxflow engine kinds vllm`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newEngineCheckCommand(a), newEngineKindsCommand(a), newEngineServeCommand(a))
	return c
}

// serveEmbedded runs the embedded engine; lies.go has another.
var serveEmbedded = embedded.Serve

func newEngineServeCommand(a *app) *cobra.Command {
	var env strings.Builder
	for _, o := range embedded.Variables {
		fmt.Fprintf(&env, "  %s (default %s)\n", o.Name, cmp.Or(o.Default, "none"))
		table.Paragraph(&env, "    ", strings.Join(o.Values, ", ")+": "+o.Doc, helpColumns)
	}
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the embedded engine",
		Long: `Runs the engine that mxflow contains: a small decoder, shaped like gpt-oss, with an
OpenAI-like HTTP API. It is what the examples measure. It reads these
environment variables:

` + env.String(),
		Example: "  mxflow engine serve --port 8000\n  MXFLOW_EMBEDDED_KV_CACHE=off mxflow engine serve " +
			"--port 8000",
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
			return serveEmbedded(ctx, args, os.Getenv, a.stdout, a.stderr)
		},
	}
	for _, o := range embedded.Flags { // which it parses itself
		doc, _, _ := strings.Cut(o.Doc, ". ")
		doc = strings.TrimSuffix(doc, ".")
		if n, err := strconv.Atoi(o.Default); err == nil {
			c.Flags().Int(o.Name, n, doc)
			continue
		}
		takes, rest, _ := strings.Cut(doc, " ")
		c.Flags().String(o.Name, o.Default, "`"+strings.ToUpper(takes)+"` "+rest)
	}
	return c
}

// checkOptions are the command line of mxflow engine check.
type checkOptions struct {
	*app
	vars    []load.Given
	sets    []string
	keepLog bool
}

func newEngineCheckCommand(a *app) *cobra.Command {
	o := &checkOptions{app: a}
	c := &cobra.Command{
		Use:   "check PLAN [ENGINE]",
		Short: "Start one engine of a plan and show what was recognised",
		Long: `Starts one engine of the plan as a run would, sends it a small workload, prints its
answer, what was recognised, whether its knobs are proved and what a measured
launch would note, and stops it.
Nothing is recorded. ENGINE is one, as vllm.gb10 or gb10; without it, the
baseline's, or the only one.

Exit status: 0 the engine answers, 1 refused before it started, 4 the engine failed
or could not be started, 130 interrupted.`,
		Example: `  mxflow engine check plan.hcl vllm.gb10 --set moe_kernel=gemm
  mxflow engine check plan.hcl --keep-log`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	varFlag(c.Flags(), &o.vars)
	c.Flags().StringArrayVar(&o.sets, "set", nil,
		"start the variant with this knob value, as `KNOB=VALUE` (repeatable)")
	c.Flags().BoolVar(&o.keepLog, "keep-log", false, "keep the engine's log and print its path")
	a.jsonFlag(c.Flags())
	return c
}

func (o *checkOptions) run(ctx context.Context, args []string) error {
	o.fold()
	loaded, g, err := o.load(args[0], load.Options{Inputs: o.vars, Unproven: true})
	if err != nil {
		return err
	}
	key, err := engineNamed(loaded.Plan, strings.Join(args[1:], ""))
	if err != nil {
		return err
	}
	set, err := knobsOf(loaded.Plan, o.sets)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mxflow-check-")
	if err != nil {
		return err
	}
	if !o.keepLog {
		defer os.RemoveAll(dir)
	}
	// Whatever is started carries the mark of the plan's state directory, so the next
	// apply finds and stops it if its guard was killed as well.
	lab, err := apply.NewLab(apply.Wiring{
		Plan: loaded.Plan, Graph: g, Owner: apply.Owner(o.stateDir(args[0])), RunDir: dir, Note: o.note,
	})
	if err != nil {
		return err
	}
	soft, hard, release := signals(ctx, o.stderr, shuttingDown)
	defer release()
	if !o.json {
		fmt.Fprintf(o.stderr, "starting engine %s\n", key)
	}
	out, err := levels.CheckEngine(soft, hard, lab.Launches, key, set)
	switch {
	case errors.Is(err, context.Canceled):
		o.exit = verdict.ExitInterrupted
		fmt.Fprintf(o.stderr, "interrupted; engine %s was stopped\n", key)
		return nil
	case err != nil:
		return err
	}
	if !o.keepLog {
		out.Log = ""
	}
	if !out.OK {
		o.exit = verdict.ExitBroken
	}
	o.show(out, func() { view.EngineCheck(o.screen(), out) })
	return nil
}

func newEngineKindsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "kinds [KIND]",
		Short: "List the kinds of engines, or describe one",
		Long: `Without KIND, lists what a plan can name, with image, port and launchers. With
KIND, shows its settings and what they become, its observations and log errors,
and an example; --json has the whole profile.`,
		Example: `  mxflow engine kinds
  mxflow engine kinds vllm`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			if len(args) == 0 {
				all := []any{}
				for _, k := range kinds.All() {
					all = append(all, view.KindJSON(k))
				}
				a.show(all, func() { view.Kinds(a.screen()) })
				return nil
			}
			k, ok := kinds.Lookup(args[0])
			if !ok {
				return fmt.Errorf("unknown engine kind %q.%s", args[0], lang.Suggest(args[0], scaffold.Kinds()))
			}
			a.show(view.KindJSON(k), func() { view.Kind(a.screen(), k) })
			return nil
		},
	}
	a.jsonFlag(c.Flags())
	return c
}

// engineNamed finds an engine by "kind.name" or just its name.
func engineNamed(p *plans.Plan, name string) (string, error) {
	var keys, fit []string
	for _, e := range p.Engines {
		key := e.Kind + "." + e.Name
		keys = append(keys, key)
		if name == key || name == e.Name {
			fit = append(fit, key)
		}
	}
	switch {
	case len(keys) == 0:
		return "", errors.New("the plan declares no engine: add an engine block")
	case name == "" && p.Baseline != nil:
		return p.Baseline.Engine, nil
	case name == "" && len(keys) == 1:
		return keys[0], nil
	case name == "":
		return "", fmt.Errorf("the plan has several engines and no baseline: name one of %s", strings.Join(keys, ", "))
	case len(fit) == 0:
		return "", fmt.Errorf("the plan has no engine %q: it has %s", name, strings.Join(keys, ", "))
	case len(fit) > 1:
		return "", fmt.Errorf("%q could be any of %s: give its kind too", name, strings.Join(fit, ", "))
	}
	return fit[0], nil
}

// knobsOf reads --set flags.
func knobsOf(p *plans.Plan, sets []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range sets {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: write it as KNOB=VALUE", text)
		}
		i := slices.IndexFunc(p.Knobs, func(k *plans.Knob) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--set %s: the plan has no knob %q; it has %s", text, name,
				lang.OrNothing(plans.Names(p.Knobs, func(k *plans.Knob) string { return k.Name })))
		}
		if p.Knobs[i].Value(value) == nil {
			names := p.Knobs[i].ValueNames()
			return nil,
				fmt.Errorf("--set %s: knob %s has no value %q; it has %s", text, name, value, lang.OrNothing(names))
		}
		values[name] = value
	}
	return values, nil
}
