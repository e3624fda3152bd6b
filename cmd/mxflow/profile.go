package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/profiled"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/engine/trace/symbol"
	"github.com/mxflow/mxflow/plans/lang"
)

func newProfileCommand(a *app) *cobra.Command {
	var o trace.Options
	var on profiled.Served
	kernels := 12
	c := &cobra.Command{
		Use:   "profile FILE… | PLAN [FEATURE]",
		Short: "Show where the time of a profiled engine goes: kernels, waits, host",
		Long: `Reads a profile of an engine and shows, for prefill and decoding, GPU time per token by
category, the kernels, why the GPU waited and what the host did. Several files, or a
folder, are one capture: one file per GPU or process.

Formats, recognised by content: torch and Chrome traces (.json, .json.gz), Nsight
Systems (.nsys-rep and .sqlite if nsys is on the PATH, CSV of nsys stats), kernel
summaries (CSV), and the output of --json.

Prefill and decoding are told apart by the marks that vLLM, SGLang and TensorRT-LLM
write around their steps. A profile without them is taken as a whole; describe it with
--phase, --requests and --steps.

For a plan, the newest profile of level profile is shown: that of the baseline, or of a
feature with its differences from the parent; and how far it is from what the machine
allows, if model and GPU are on record.

With --model and --gpu, each category is compared with its shortest possible time: how
far it is from that, what a step would gain, and what bounds it.`,
		Example: "  mxflow profile decode.pt.trace.json.gz\n" +
			"  mxflow profile plan.hcl grouped_gemm\n" +
			"  mxflow profile traces/ --kernels 30\n" +
			"  mxflow profile kernels.csv --phase decode --requests 1 --steps 64\n" +
			"  mxflow profile traces/ --model config.json --gpu 'NVIDIA H100 80GB HBM3'\n" +
			"  mxflow profile diff before.json.gz after.json.gz",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			limits, err := on.Read()
			if err != nil {
				return err
			}
			if namesPlan(args[0]) {
				return profileOfPlan(a, args, kernels, limits, &on)
			}
			analysis, err := readProfile(c.Context(), args, o)
			if err != nil {
				return err
			}
			switch {
			case a.json && limits:
				a.printJSON(on.Limited(analysis))
			case a.json:
				a.printJSON(analysis)
			case limits:
				profiled.Print(a.screen(), analysis, kernels, &on)
			default:
				profiled.Print(a.screen(), analysis, kernels, nil)
			}
			return nil
		},
	}
	profileFlags(c, &o, &kernels)
	servedFlags(c, &on)
	a.jsonFlag(c, "print the analysis as JSON, with all kernels and their whole names")
	c.AddCommand(newProfileDiffCommand(a))
	return c
}

func newProfileDiffCommand(a *app) *cobra.Command {
	var o trace.Options
	kernels := 12
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Show how two profiles differ, and how much of the change each part explains",
		Long: `Compares two profiles side by side, phase by phase: GPU time per step by category and
by kernel, and waits. A and B are files, folders or the output of --json, of any engine
and profiler. The last column is the share of a step's change, end to end, that each
explains; categories, overlap and waits add up to 100%.`,
		Example: "  mxflow profile diff baseline.json.gz candidate.json.gz\n  mxflow profile diff baseline/ candidate/ --json",
		Args:    cobra.ExactArgs(2),
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
				return fmt.Errorf("nothing to compare: %s has %s, %s has %s. Record the same phase and number of requests, or describe a profile without marks with --phase and --requests",
					args[0], profiled.Parts(before), args[1], profiled.Parts(after))
			}
			if a.json {
				a.printJSON(d)
				return nil
			}
			profiled.PrintDiff(a.screen(), d, args[0], args[1], kernels)
			return nil
		},
	}
	profileFlags(c, &o, &kernels)
	a.jsonFlag(c, "print as JSON, with all kernels and their whole names")
	return c
}

func profileFlags(c *cobra.Command, o *trace.Options, kernels *int) {
	f := c.Flags()
	f.StringVar(&o.Phase, "phase", "", "phase of a profile without marks: prefill or decode")
	f.IntVar(&o.Requests, "requests", 0, "requests served at once in a profile without marks")
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
		return nil, errors.New("--requests, --steps and --tokens are 0 or more")
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

func servedFlags(c *cobra.Command, s *profiled.Served) {
	f := c.Flags()
	f.StringVar(&s.Config, "model", "", "`config.json` of the model: with --gpu, show how far kernels are from what the machine allows")
	f.StringArrayVar(&s.GPUs, "gpu", nil, "`name` of the GPU as nvidia-smi prints it (repeat it for several)")
	f.Float64Var(&s.Context, "context", 0, "tokens of context of each request, for the KV cache that decoding reads")
	f.Float64Var(&s.Bandwidth, "bandwidth", 0, "`GB/s` that a benchmark read on all GPUs together, instead of the data sheets' value")
}

// namesPlan reports whether the first argument is a plan, or a folder with one, and no
// profile.
func namesPlan(arg string) bool {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() {
		return lang.IsPlanFile(arg)
	}
	entries, _ := os.ReadDir(arg)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return hasPlanName(e.Name()) })
}

// profileOfPlan shows what is on record of a plan.
func profileOfPlan(a *app, args []string, kernels int, limits bool, on *profiled.Served) error {
	feature := ""
	switch len(args) {
	case 1:
	case 2:
		feature = args[1]
	default:
		return fmt.Errorf("%s is a plan: name one feature after it, not %s", args[0], strings.Join(args[1:], ", "))
	}
	st, err := a.reader(args[:1])
	if err != nil {
		return err
	}
	defer st.Close()
	own, parent, err := profiled.Find(st, feature)
	if err != nil {
		return err
	}
	switch {
	case a.json && parent != nil:
		a.printJSON(struct {
			Analysis *trace.Analysis `json:"analysis"`
			Parent   *trace.Analysis `json:"parent"`
			Diff     *trace.Diff     `json:"diff"`
		}{own.Is, parent.Is, trace.DiffOf(parent.Is, own.Is)})
		return nil
	case a.json && limits:
		a.printJSON(on.Limited(own.Is))
		return nil
	case a.json:
		a.printJSON(own.Is)
		return nil
	}
	if !limits {
		on = &profiled.Served{Recorded: &own.On}
		if own.On.Model == nil {
			on = nil
		}
	}
	fmt.Fprintf(a.stdout, "%s\n", own)
	profiled.Print(a.screen(), own.Is, kernels, on)
	if parent != nil {
		fmt.Fprintln(a.stdout)
		profiled.PrintDiff(a.screen(), trace.DiffOf(parent.Is, own.Is), parent.String(), own.String(), kernels)
	}
	return nil
}
