package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/engine/trace/symbol"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/steps/levels"
)

func newProfileCommand(a *app) *cobra.Command {
	var o trace.Options
	kernels := 12
	c := &cobra.Command{
		Use:   "profile FILE…|PLAN [FEATURE]",
		Short: "Show where the time of a profiled engine goes",
		Long: `Shows, for prefill and decode, GPU time per token by category, the kernels, why the
GPU waited and what the host did. Several files, or a folder, are one capture.

Formats, recognised by content: torch and Chrome traces (.json, .json.gz), Nsight
Systems (.nsys-rep, .sqlite, CSV of nsys stats), kernel summaries (CSV), and the
output of --json. A profile without the step marks of vLLM, SGLang or TensorRT-LLM
is taken as a whole: describe it with --phase, --batch and --steps.

For a PLAN, the newest recorded profile of the baseline, or of FEATURE with its
differences from the parent, and how far it is from what the machine allows.`,
		Example: `  mxflow profile decode.pt.trace.json.gz
  mxflow profile plan.hcl grouped_gemm
  mxflow profile kernels.csv --phase decode --batch 1 --steps 64
  mxflow profile diff before.json.gz after.json.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			if namesPlan(args[0]) {
				return profileOfPlan(a, args, kernels)
			}
			analysis, err := readProfile(c.Context(), args, o)
			if err != nil {
				return err
			}
			a.show(analysis, func() { view.Profile(a.screen(), analysis, kernels, nil) })
			return nil
		},
	}
	profileFlags(c.Flags(), &o, &kernels)
	a.jsonFlag(c.Flags())
	c.AddCommand(newProfileDiffCommand(a))
	return c
}

func newProfileDiffCommand(a *app) *cobra.Command {
	var o trace.Options
	kernels := 12
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Show how two profiles differ, and what explains the change",
		Long: `Compares two profiles phase by phase: GPU time per step by category and by kernel,
and waits. A and B are files, folders or the output of --json, of any engine and
profiler. The last column is each part's share of the change of a step.`,
		Example: `  mxflow profile diff baseline.json.gz candidate.json.gz
  mxflow profile diff baseline/ candidate/ --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			before, err := readProfile(c.Context(), args[:1], o)
			if err != nil {
				return err
			}
			after, err := readProfile(c.Context(), args[1:], o)
			if err != nil {
				return err
			}
			d := trace.DiffOf(before, after)
			if len(d.Parts) == 0 {
				return fmt.Errorf("nothing to compare: %s has %s, %s has %s. Record the same phase and number of "+
					"requests, or describe a profile without marks with --phase and --batch",
					args[0], view.ProfileParts(before), args[1], view.ProfileParts(after))
			}
			a.show(d, func() { view.ProfileDiff(a.screen(), d, args[0], args[1], kernels) })
			return nil
		},
	}
	profileFlags(c.Flags(), &o, &kernels)
	a.jsonFlag(c.Flags())
	return c
}

func profileFlags(f *pflag.FlagSet, o *trace.Options, kernels *int) {
	f.StringVar(&o.Phase, "phase", "", "`PHASE` of a profile without marks: prefill or decode")
	f.IntVar(&o.Requests, "batch", 0, "requests served at once in a profile without marks")
	f.IntVar(&o.Steps, "steps", 0, "model steps in a profile without marks")
	f.IntVar(&o.Tokens, "tokens", 0, "tokens computed in a profile without marks")
	f.IntVar(kernels, "kernels", *kernels, "kernels to list for each part; 0 for all")
	f.Func("category", "put kernels into a category, as `GLOB=CATEGORY` (repeatable)", func(text string) error {
		glob, category, ok := strings.Cut(text, "=")
		if !ok || glob == "" || category == "" {
			return errors.New("write GLOB=CATEGORY")
		}
		o.Rules = append(o.Rules, symbol.Rule{Glob: glob, Category: category})
		return nil
	})
}

func readProfile(ctx context.Context, paths []string, o trace.Options) (*trace.Analysis, error) {
	switch {
	case o.Phase != "" && !slices.Contains(trace.Phases, o.Phase):
		return nil, fmt.Errorf("--phase %s: use %s", o.Phase, strings.Join(trace.Phases, ", "))
	case o.Requests < 0 || o.Steps < 0 || o.Tokens < 0:
		return nil, errors.New("--batch, --steps and --tokens are 0 or more")
	case o.Phase == trace.Decode && o.Tokens == 0:
		o.Tokens = o.Steps * max(o.Requests, 1)
	}
	analysis, err := trace.Open(ctx, paths, o)
	switch {
	case errors.Is(err, trace.ErrHidden):
		return nil, fmt.Errorf("%w: record with nsys profile --cuda-graph-trace=node", err)
	case errors.Is(err, trace.ErrNoKernels):
		return nil, fmt.Errorf("%w: was the engine working, and is this the file of the right process?", err)
	}
	return analysis, err
}

// namesPlan reports whether the first argument is a plan, or a folder with one, and no
// profile.
func namesPlan(arg string) bool {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() {
		return lang.IsSource(arg)
	}
	entries, _ := os.ReadDir(arg)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return hasPlanName(e.Name()) })
}

// profileOfPlan shows what is on record of a plan.
func profileOfPlan(a *app, args []string, kernels int) error {
	if len(args) > 2 {
		return fmt.Errorf("%s is a plan: name one feature after it, not %s", args[0], strings.Join(args[1:], ", "))
	}
	feature := strings.Join(args[1:], "")
	st, err := a.reader(args[:1])
	if err != nil {
		return err
	}
	defer st.Close()
	own, parent, err := levels.FindProfile(st, feature)
	if err != nil {
		return err
	}
	var data any = own.Is
	if parent != nil {
		data = struct {
			Analysis *trace.Analysis `json:"analysis"`
			Parent   *trace.Analysis `json:"parent"`
			Diff     *trace.Diff     `json:"diff"`
		}{own.Is, parent.Is, trace.DiffOf(parent.Is, own.Is)}
	}
	a.show(data, func() {
		basis := &own.On
		if basis.Model == nil {
			basis = nil
		}
		fmt.Fprintf(a.stdout, "%s\n", own)
		view.Profile(a.screen(), own.Is, kernels, basis)
		if parent != nil {
			fmt.Fprintln(a.stdout)
			view.ProfileDiff(a.screen(), trace.DiffOf(parent.Is, own.Is), parent.String(), own.String(), kernels)
		}
	})
	return nil
}
