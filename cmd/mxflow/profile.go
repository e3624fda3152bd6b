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

// profileOptions are the command line of mxflow profile, and of its diff.
type profileOptions struct {
	*app
	trace.Options
	kernels int
}

func newProfileCommand(a *app) *cobra.Command {
	o := &profileOptions{app: a}
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
			o.fold()
			if namesPlan(args[0]) {
				return o.ofPlan(args)
			}
			analysis, err := o.read(c.Context(), args)
			if err != nil {
				return err
			}
			o.show(analysis, func() { view.Profile(o.screen(), analysis, o.kernels, nil) })
			return nil
		},
	}
	o.flags(c.Flags())
	c.AddCommand(newProfileDiffCommand(a))
	return c
}

func newProfileDiffCommand(a *app) *cobra.Command {
	o := &profileOptions{app: a}
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Show how two profiles differ, and what explains the change",
		Long: `Compares two profiles phase by phase: GPU time per step by category and by kernel,
and waits. A and B are files, folders or the output of --json, of any engine and
profiler. The last column is each part's share of the change of a step.`,
		Example: `  mxflow profile diff baseline.json.gz candidate.json.gz
  mxflow profile diff baseline/ candidate/ --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return o.diff(c.Context(), args[0], args[1]) },
	}
	o.flags(c.Flags())
	return c
}

func (o *profileOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.Phase, "phase", "", "`PHASE` of a profile without marks: prefill or decode")
	f.IntVar(&o.Requests, "batch", 0, "requests served at once in a profile without marks")
	f.IntVar(&o.Steps, "steps", 0, "model steps in a profile without marks")
	f.IntVar(&o.Tokens, "tokens", 0, "tokens computed in a profile without marks")
	f.IntVar(&o.kernels, "kernels", 12, "kernels to list for each part; 0 for all")
	f.Func("category", "put kernels into a category, as `GLOB=CATEGORY` (repeatable)", func(text string) error {
		glob, category, ok := strings.Cut(text, "=")
		if !ok || glob == "" || category == "" {
			return errors.New("write GLOB=CATEGORY")
		}
		o.Rules = append(o.Rules, symbol.Rule{Glob: glob, Category: category})
		return nil
	})
	o.jsonFlag(f)
}

func (o *profileOptions) diff(ctx context.Context, a, b string) error {
	o.fold()
	before, err := o.read(ctx, []string{a})
	if err != nil {
		return err
	}
	after, err := o.read(ctx, []string{b})
	if err != nil {
		return err
	}
	d := trace.DiffOf(before, after)
	if len(d.Parts) == 0 {
		return fmt.Errorf("nothing to compare: %s has %s, %s has %s. Record the same phase and number of "+
			"requests, or describe a profile without marks with --phase and --batch",
			a, view.ProfileParts(before), b, view.ProfileParts(after))
	}
	o.show(d, func() { view.ProfileDiff(o.screen(), d, a, b, o.kernels) })
	return nil
}

// read is the analysis of files, or of a folder.
func (o *profileOptions) read(ctx context.Context, paths []string) (*trace.Analysis, error) {
	switch {
	case o.Phase != "" && !slices.Contains(trace.Phases, o.Phase):
		return nil, fmt.Errorf("--phase %s: use %s", o.Phase, strings.Join(trace.Phases, ", "))
	case o.Requests < 0 || o.Steps < 0 || o.Tokens < 0:
		return nil, errors.New("--batch, --steps and --tokens are 0 or more")
	case o.Phase == trace.Decode && o.Tokens == 0:
		o.Tokens = o.Steps * max(o.Requests, 1)
	}
	analysis, err := trace.Open(ctx, paths, o.Options)
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

// ofPlan shows what is on record of a plan.
func (o *profileOptions) ofPlan(args []string) error {
	if len(args) > 2 {
		return fmt.Errorf("%s is a plan: name one feature after it, not %s", args[0], strings.Join(args[1:], ", "))
	}
	feature := strings.Join(args[1:], "")
	st, err := o.reader(args[:1])
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
	o.show(data, func() {
		basis := &own.On
		if basis.Model == nil {
			basis = nil
		}
		fmt.Fprintf(o.stdout, "%s\n", own)
		view.Profile(o.screen(), own.Is, o.kernels, basis)
		if parent != nil {
			fmt.Fprintln(o.stdout)
			view.ProfileDiff(o.screen(), trace.DiffOf(parent.Is, own.Is), parent.String(), own.String(), o.kernels)
		}
	})
	return nil
}
