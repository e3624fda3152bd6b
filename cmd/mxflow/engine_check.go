package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/levels"
)

// engineCheck is what the command line asks for.
type engineCheck struct {
	vars    []load.Given
	sets    []string
	level   string
	keepLog bool
}

func newEngineCheckCommand(a *app) *cobra.Command {
	var q engineCheck
	c := &cobra.Command{
		Use:   "check PLAN [NAME]",
		Short: "Start one engine of a plan, ask it for a token, and say what was recognised",
		Long: `Starts one engine of the plan as a run would, asks it all that measuring will ask
it, prints what it said and what was recognised, and stops it. Nothing is
recorded. NAME is the engine, as vllm.gb10 or gb10; without it, the baseline's,
or the only one.

With --level it runs that level of a protocol alone: against the engine as it is
and, with --set, against that variant too, with the first as its parent.

Ctrl-C stops the engine in order, a second one at once.

Exit status: 0 the engine answers and the level passes, 1 usage or plan error, 2
the level fails or is invalid, 3 it is inconclusive, 4 the engine failed, 130
interrupted.`,
		Example: "  mxflow engine check plan.hcl\n  mxflow engine check plan.hcl vllm.gb10 --set moe_kernel=gemm\n  mxflow engine check plan.hcl --level correctness --set moe_kernel=gemm\n  mxflow engine check plan.hcl --keep-log --json",
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
	c.Flags().StringVar(&q.level, "level", "", "run this level of a protocol alone, by its name or kind")
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
	key, err := engineNamed(p, name)
	if err != nil {
		return err
	}
	set, err := knobValues(p, q.sets)
	if err != nil {
		return err
	}
	var level *plans.Block
	if q.level != "" {
		if level, err = levelNamed(p, q.level); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "mxflow-check-")
	if err != nil {
		return err
	}
	if !q.keepLog {
		defer os.RemoveAll(dir)
	}
	var kept *store.Store
	if level != nil {
		if kept, err = store.Open(filepath.Join(dir, "state")); err != nil {
			return err
		}
		defer kept.Close()
	}
	// What is started carries the mark of the plan's state directory, so that the next
	// apply finds and stops it where the guardian was killed as well.
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Store: kept, Owner: apply.Owner(a.stateDir(path)), Guardian: a.guardian, RunDir: dir, Note: notes{a}.Note})
	if err != nil {
		return err
	}
	soft, hard, release := signals(ctx, a.stderr, shuttingDown)
	defer release()
	if !a.json {
		fmt.Fprintf(a.stderr, "starting engine %s\n", key)
	}
	var out *levels.EngineCheck
	var came []levels.LevelCheck
	if level == nil {
		out, err = levels.CheckEngine(soft, hard, &lab.Lab.Lab, key, set)
	} else {
		came, err = levels.CheckLevel(soft, hard, &lab.Lab.Lab, level, key, set)
	}
	switch {
	case errors.Is(err, context.Canceled):
		a.exit = verdict.ExitInterrupted
		fmt.Fprintf(a.stderr, "interrupted; engine %s was stopped\n", key)
		return nil
	case err != nil:
		return err
	case level != nil:
		a.exit = came[len(came)-1].Level.Verdict.ExitCode()
		if a.json {
			a.printJSON(came)
		} else {
			printLevels(a, came)
			if q.keepLog {
				fmt.Fprintf(a.stdout, "\nlogs: %s\n", dir)
			}
		}
		return nil
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
	printCheck(a, out)
	return nil
}

// levelNamed finds a level by its name, or by its kind where that is the only one: of the
// baseline's protocol first.
func levelNamed(p *plans.Plan, name string) (*plans.Block, error) {
	protocols := slices.Clone(p.Protocols)
	if p.Baseline != nil {
		slices.SortStableFunc(protocols, func(a, b *plans.Protocol) int {
			first := func(pr *plans.Protocol) int {
				if pr.Name == p.Baseline.Protocol {
					return 0
				}
				return 1
			}
			return first(a) - first(b)
		})
	}
	var names []string
	for _, pr := range protocols {
		for _, b := range pr.Levels {
			switch {
			case b.Kind == plans.BenchmarkLevel:
				continue
			case b.Level() == name:
				return b, nil
			}
			if !slices.Contains(names, b.Level()) {
				names = append(names, b.Level())
			}
		}
	}
	if name == plans.BenchmarkLevel {
		return nil, errors.New("the benchmark compares variants over several launches: mxflow apply runs it, and mxflow bench measures a running server")
	}
	return nil, fmt.Errorf("no protocol has a level %q, only %s", name, orNone(names))
}

// printLevels prints what a level came to, one variant after the other.
func printLevels(a *app, came []levels.LevelCheck) {
	for _, c := range came {
		var knobs []string
		for _, name := range slices.Sorted(maps.Keys(c.Knobs)) {
			knobs = append(knobs, name+" = "+c.Knobs[name])
		}
		fmt.Fprintf(a.stdout, "%s (%s): %s %s in %s\n", c.Variant, orNone(knobs), c.Level.Name, c.Level.Verdict, tell.Number(c.Level.Seconds, "s"))
		for _, r := range c.Level.Reasons {
			fmt.Fprintf(a.stdout, "  - %s\n", tell.Line(r))
		}
		for _, line := range c.LogTail {
			fmt.Fprintf(a.stdout, "  | %s\n", line)
		}
	}
}

// engineNamed finds an engine by "kind.name" or its name alone.
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
		return "", errors.New("the plan declares no engine")
	case name == "" && p.Baseline != nil:
		return p.Baseline.Engine, nil
	case name == "" && len(keys) == 1:
		return keys[0], nil
	case name == "":
		return "", fmt.Errorf("the plan has several engines and no baseline: name one of %s", strings.Join(keys, ", "))
	case len(fit) == 0:
		return "", fmt.Errorf("the plan has no engine %q: it has %s", name, strings.Join(keys, ", "))
	case len(fit) > 1:
		return "", fmt.Errorf("%q may be any of %s: give its kind too", name, strings.Join(fit, ", "))
	}
	return fit[0], nil
}

// knobValues reads --set flags.
func knobValues(p *plans.Plan, sets []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range sets {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: write it as knob=value", text)
		}
		i := slices.IndexFunc(p.Knobs, func(k *plans.Knob) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--set %s: the plan has no knob %q, only %s", text, name, orNone(plans.Names(p.Knobs, func(k *plans.Knob) string { return k.Name })))
		}
		if p.Knobs[i].Value(value) == nil {
			names := p.Knobs[i].ValueNames()
			return nil, fmt.Errorf("--set %s: knob %s has no value %q, only %s", text, name, value, orNone(names))
		}
		values[name] = value
	}
	return values, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none at all"
	}
	return strings.Join(names, ", ")
}

// printCheck prints what came of it, as people read it.
func printCheck(a *app, c *levels.EngineCheck) {
	if c.OK {
		fmt.Fprintf(a.stdout, "%s works: ready %s, first token %s\n", c.Engine, after(c.StartupS, "(it was running)"), after(c.FirstRequestS, "at once"))
	} else {
		fmt.Fprintf(a.stdout, "%s broke: %s\n", c.Engine, tell.Line(c.Error))
		if len(c.LogTail) > 0 {
			fmt.Fprintln(a.stdout, "\nlast lines of its log")
			for _, line := range c.LogTail {
				fmt.Fprintf(a.stdout, "  | %s\n", line)
			}
		}
	}
	a.section("what was started", startedWords(c))
	var rows [][2]string
	for _, name := range slices.Sorted(maps.Keys(c.Observed)) {
		rows = append(rows, [2]string{name, observedWords(c.Observed[name])})
	}
	a.section("what it reports", rows)
	rows = nil
	for _, name := range slices.Sorted(maps.Keys(c.Unobserved)) {
		rows = append(rows, [2]string{name, tell.Line(c.Unobserved[name])})
	}
	a.section("not reported", rows)
	rows = nil
	if c.Answer != "" || c.Prompt != "" {
		rows = append(rows, [2]string{"  answer", fmt.Sprintf("%q continues as %q", c.Prompt, c.Answer)})
	}
	for _, f := range c.Findings {
		mark := "  "
		if !f.Good {
			mark = "! "
		}
		rows = append(rows, [2]string{mark + f.Name, tell.Line(f.Says)})
	}
	a.section("what was tried (! would disturb a measurement)", rows)
	rows = nil
	for _, n := range c.Notes {
		rows = append(rows, [2]string{"-", tell.Line(n)})
	}
	a.section("notes", rows)
	if c.Log != "" {
		fmt.Fprintf(a.stdout, "\nlog: %s\n", filepath.Clean(c.Log))
	}
}

// startedWords are what was started, in the order in which people look for it.
func startedWords(c *levels.EngineCheck) [][2]string {
	rows := [][2]string{{"kind", c.Kind}, {"launcher", c.Launcher}}
	var knobs []string
	for _, name := range slices.Sorted(maps.Keys(c.Knobs)) {
		knobs = append(knobs, name+" = "+c.Knobs[name])
	}
	rows = append(rows, [2]string{"knobs", strings.Join(knobs, ", ")})
	model := c.Model
	if c.MaxModelLen > 0 {
		model += fmt.Sprintf(" (up to %d tokens)", c.MaxModelLen)
	}
	rows = append(rows, [2]string{"model", model})
	if len(c.Models) > 1 {
		rows = append(rows, [2]string{"models", strings.Join(c.Models, ", ")})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Started)) {
		value := c.Started[name]
		switch {
		case name == "kind", name == "command" && c.Started["resolved_command"] != "":
			continue
		case name == "fresh" && value == "no":
			value = "no: without restart it is not started anew, and nothing can be compared"
		}
		if !strings.HasPrefix(name, "env.") {
			name = strings.ReplaceAll(name, "_", " ")
		}
		rows = append(rows, [2]string{name, value})
	}
	return rows
}

// observedWords is a value with its unit and where it was seen.
func observedWords(o ledger.Observed) string {
	value := o.String()
	if word, ok := o.Value.(string); ok {
		value = word
	}
	return value + "  (" + o.From + ")"
}

// after says how long something took.
func after(seconds *float64, otherwise string) string {
	switch {
	case seconds == nil:
		return otherwise
	case *seconds < 1:
		return fmt.Sprintf("after %.1f ms", *seconds*1000)
	}
	return fmt.Sprintf("after %.2f s", *seconds)
}
