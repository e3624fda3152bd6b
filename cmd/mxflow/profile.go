package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/profile"
	"github.com/mxflow/mxflow/engine/profile/read"
	"github.com/mxflow/mxflow/engine/profile/symbol"
	"github.com/mxflow/mxflow/gates/tell"
)

func newProfileCommand(a *app) *cobra.Command {
	var o profile.Options
	var on served
	kernels := 12
	c := &cobra.Command{
		Use:   "profile FILE… | PLAN [FEATURE]",
		Short: "Show where the time of a profiled engine goes: kernels, waits, host",
		Long: `Reads what a profiler recorded of an engine and shows, for prefill and decoding, GPU
time per token by category, the kernels, why the GPU waited and what the host did.
Several files, or a folder, are one capture: a file for each GPU or process.

Read are torch and Chrome traces (.json, .json.gz), Nsight Systems (.sqlite, .nsys-rep
where nsys is on the PATH, CSV of nsys stats), Nsight Compute (CSV), summaries of
kernels (CSV), and what --json printed. The content tells which.

Prefill and decoding are told apart by the marks that vLLM, SGLang and TensorRT-LLM
write around their steps. A profile without them is one whole, of which --phase,
--requests and --steps say what it was.

Of a plan, what the level profile took last is shown: of the baseline, or of a feature
and then what differs from its parent; against what the machine allows where model and
GPU are on record.

With --model and --gpu, each category is held against the time that it takes at least:
how far it is from that, what a step would gain, and what bounds it.`,
		Example: "  mxflow profile decode.pt.trace.json.gz\n" +
			"  mxflow profile plan.hcl grouped_gemm\n" +
			"  mxflow profile traces/ --kernels 30\n" +
			"  mxflow profile kernels.csv --phase decode --requests 1 --steps 64\n" +
			"  mxflow profile traces/ --model config.json --gpu 'NVIDIA H100 80GB HBM3'\n" +
			"  mxflow profile diff before.json.gz after.json.gz",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			limits, err := on.read()
			if err != nil {
				return err
			}
			if namesPlan(args[0]) {
				return a.profileOfPlan(args, kernels, limits, &on)
			}
			analysis, err := readProfile(c.Context(), args, o)
			if err != nil {
				return err
			}
			switch {
			case a.json && limits:
				a.printJSON(on.limited(analysis))
			case a.json:
				a.printJSON(analysis)
			case limits:
				a.printProfile(analysis, kernels, &on)
			default:
				a.printProfile(analysis, kernels, nil)
			}
			return nil
		},
	}
	profileFlags(c, &o, &kernels)
	on.flags(c)
	a.jsonFlag(c, "print the analysis as JSON, with all kernels and their whole names")
	c.AddCommand(newProfileDiffCommand(a))
	return c
}

func newProfileDiffCommand(a *app) *cobra.Command {
	var o profile.Options
	kernels := 12
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what differs between two profiles, and how much of the change each part explains",
		Long: `Lays two profiles side by side, phase by phase: GPU time per step by category and
by kernel, and waits. A and B are files, folders or what --json printed, of whichever
engine and profiler. The last column is the share of the change of a step, from end to
end, that each explains; categories, overlap and waits add up to 100%.`,
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
			d := profile.DiffOf(before, after)
			if len(d.Parts) == 0 {
				return fmt.Errorf("nothing to compare: %s has %s, %s has %s. Record the same phase and number of requests, or say with --phase and --requests what a profile without marks is",
					args[0], partList(before), args[1], partList(after))
			}
			if a.json {
				a.printJSON(d)
				return nil
			}
			a.printProfileDiff(d, args[0], args[1], kernels)
			return nil
		},
	}
	profileFlags(c, &o, &kernels)
	a.jsonFlag(c, "print as JSON, with all kernels and their whole names")
	return c
}

func profileFlags(c *cobra.Command, o *profile.Options, kernels *int) {
	f := c.Flags()
	f.StringVar(&o.Phase, "phase", "", "what a profile without marks is of: prefill or decode")
	f.IntVar(&o.Requests, "requests", 0, "requests served at once in a profile without marks")
	f.IntVar(&o.Steps, "steps", 0, "steps of the model in a profile without marks")
	f.IntVar(&o.Tokens, "tokens", 0, "tokens computed in a profile without marks")
	f.StringArrayVar(&o.Processes, "process", nil, "count only this process, by `PID or name` (* for anything; repeatable)")
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

func readProfile(ctx context.Context, paths []string, o profile.Options) (*profile.Analysis, error) {
	switch {
	case o.Phase != "" && !slices.Contains(profile.Phases, o.Phase):
		return nil, fmt.Errorf("--phase %s: use %s", o.Phase, strings.Join(profile.Phases, ", "))
	case o.Requests < 0 || o.Steps < 0 || o.Tokens < 0:
		return nil, errors.New("--requests, --steps and --tokens are 0 or more")
	case o.Phase == profile.Decode && o.Tokens == 0:
		o.Tokens = o.Steps * max(o.Requests, 1)
	}
	analysis, err := read.Open(ctx, paths, o)
	switch {
	case errors.Is(err, profile.ErrHidden):
		return nil, fmt.Errorf("%w: record with nsys profile --cuda-graph-trace=node", err)
	case errors.Is(err, profile.ErrNoKernels):
		return nil, fmt.Errorf("%w: was the engine working, and is this the file of the process that does?", err)
	}
	return analysis, err
}

// partList names the parts of an analysis.
func partList(analysis *profile.Analysis) string {
	var names []string
	for i := range analysis.Parts {
		names = append(names, partName(analysis.Parts[i].Phase, analysis.Parts[i].Requests))
	}
	return strings.Join(names, "; ")
}

func partName(phase string, requests int) string {
	if phase == profile.Whole {
		phase = "whole profile"
	}
	if requests > 0 {
		phase += ", " + tell.Count(requests, "request")
	}
	return phase
}

func (a *app) printProfile(analysis *profile.Analysis, kernels int, on *served) {
	hidden, unnamed := 0, 0
	for _, f := range analysis.Files {
		of := ""
		if len(f.Processes) > 0 {
			of = ", " + strings.Join(f.Processes, ", ")
		}
		fmt.Fprintf(a.stdout, "%s: %s%s\n", f.Name, f.Kind, of)
		hidden += f.Hidden
		unnamed += f.Unnamed
	}
	if slices.ContainsFunc(analysis.Files, func(f profile.File) bool { return f.Kind == read.NsightCompute }) {
		fmt.Fprintln(a.stdout, "note: Nsight Compute runs each kernel by itself and, unless told otherwise, with cold caches at fixed clocks: these times add up to more than a step takes.")
	}
	if hidden > 0 {
		fmt.Fprintf(a.stdout, "note: %s of CUDA graphs whose kernels are not named: what is not found below may have run in them.\n", launches(hidden))
	}
	if unnamed > 0 {
		fmt.Fprintf(a.stdout, "note: %s had more names than are kept, and are listed as one.\n", tell.Count(unnamed, "kernel"))
	}
	// Engines that batch continuously pass through many numbers of requests.
	const most = 4
	parts := slices.Clone(analysis.Parts)
	slices.SortStableFunc(parts, func(x, y profile.Part) int { return cmp.Compare(y.GPU, x.GPU) })
	left := parts[min(most, len(parts)):]
	for i := range analysis.Parts {
		p := &analysis.Parts[i]
		if !slices.ContainsFunc(left, func(l profile.Part) bool { return l.Phase == p.Phase && l.Requests == p.Requests }) {
			a.printPart(p, kernels)
			if on != nil {
				a.printLimit(p, on)
			}
		}
	}
	if len(left) > 0 {
		names := partList(&profile.Analysis{Parts: left})
		fmt.Fprintf(a.stdout, "\nNot shown, with less GPU time each (--json has all): %s.\n", names)
	}
}

func launches(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}

// unit is what times of a part are divided by, and its name.
func unit(p *profile.Part) (name string, per func(float64) float64) {
	in := func(us float64) float64 { x, _ := p.Per(us); return x }
	switch _, known := p.Per(1); {
	case !known:
		return "ms", func(us float64) float64 { return us / 1e3 }
	case p.Phase == profile.Prefill, p.Phase == profile.Decode && p.Requests == 1 && p.Tokens == p.Steps:
		return "µs/token", in
	}
	return "µs/step", in
}

func (a *app) printPart(p *profile.Part, most int) {
	name, per := unit(p)
	title := partName(p.Phase, p.Requests)
	if p.GPUs > 1 {
		title += ", " + tell.Count(p.GPUs, "GPU")
	}
	if p.Steps > 0 {
		title += ": " + tell.Count(p.Steps, "step")
	}
	if p.Wall > 0 {
		title += fmt.Sprintf(", %s %s: GPU busy %.0f%%, waiting %.0f%%", tenths(per(p.Wall)), name, 100*p.Busy/p.Wall, 100*(1-p.Busy/p.Wall))
	}
	fmt.Fprintln(a.stdout, "\n"+title)
	if step, ok := p.Step(p.Wall); ok && p.Unprofiled > 0 && p.Wall > 0 {
		fmt.Fprintf(a.stdout, "without the profiler %s µs, with it %s µs a step\n", tenths(p.Unprofiled), tenths(step))
	}
	fmt.Fprintln(a.stdout)
	times := []float64{per(p.GPU)}
	var rows [][]string
	for _, c := range p.Categories {
		times = append(times, per(c.Total))
	}
	cells := aligned(times)
	for i, c := range p.Categories {
		rows = append(rows, []string{tell.Category(c.Name), cells[i+1], share(c.Total, p.GPU), each(p, c.Count)})
	}
	rows = append(rows, []string{"all", cells[0], share(p.GPU, p.GPU), each(p, p.Count())})
	a.printTable([]string{"category", name, "share", "launches"}, rightHead(rows))
	a.printKernels(p, most)
	if len(p.Waits) > 0 {
		fmt.Fprintln(a.stdout)
		var rows [][]string
		var times []float64
		for _, w := range p.Waits {
			times = append(times, per(w.Total))
		}
		cells := aligned(times)
		for i, w := range p.Waits {
			rows = append(rows, []string{tell.Cause(w.Cause), cells[i], share(w.Total, p.Wall)})
		}
		a.printTable([]string{"the GPU waits while", name, "of the time"}, rightHead(rows))
	}
	if len(p.Threads) > 0 {
		fmt.Fprintln(a.stdout)
		var rows [][]string
		var times []float64
		for _, t := range p.Threads[:min(8, len(p.Threads))] {
			times = append(times, per(t.Total))
		}
		cells := aligned(times)
		for i, t := range p.Threads[:min(8, len(p.Threads))] {
			rows = append(rows, []string{t.Name, cells[i], share(t.Total, p.Wall)})
		}
		a.printTable([]string{"host thread at work", name, "of the time"}, rightHead(rows))
	}
}

func (a *app) printKernels(p *profile.Part, most int) {
	name, per := unit(p)
	shown := p.Kernels
	if most > 0 {
		shown = shown[:min(most, len(shown))]
	}
	var times []float64
	for _, k := range shown {
		times = append(times, per(k.Total))
	}
	cells := aligned(times)
	var rows [][]string
	for i, k := range shown {
		rows = append(rows, []string{k.Short, cells[i], share(k.Total, p.GPU), each(p, k.Count)})
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"kernel", name, "share", "launches"}, rightHead(rows))
	if n := len(p.Kernels) - len(shown); n > 0 {
		rest := 0.0
		for _, k := range p.Kernels[len(shown):] {
			rest += k.Total
		}
		fmt.Fprintf(a.stdout, "and %s, %s %s (%s)\n", moreOf(n, "kernel"), tenths(per(rest)), name, strings.TrimSpace(share(rest, p.GPU)))
	}
}

func moreOf(n int, what string) string {
	return strings.Replace(tell.Count(n, what), " ", " more ", 1)
}

// each is how many times something ran in a step or token; in all where neither is known.
func each(p *profile.Part, n int) string {
	if per, ok := p.Per(float64(n)); ok {
		return strings.TrimSuffix(tenths(per), ".0")
	}
	return strconv.Itoa(n)
}

// tenths is a time with a digit behind the point.
func tenths(x float64) string {
	if math.Abs(x) < 0.05 {
		x = 0 // no -0.0
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// aligned are times with their points below each other.
func aligned(times []float64) []string { return right(times, tenths) }

func right(values []float64, text func(float64) string) []string {
	out, widest := make([]string, len(values)), 0
	for i, v := range values {
		out[i] = text(v)
		widest = max(widest, lipgloss.Width(out[i]))
	}
	for i, s := range out {
		out[i] = strings.Repeat(" ", widest-lipgloss.Width(s)) + s
	}
	return out
}

// share is how much of all something is.
func share(part, all float64) string {
	if all <= 0 {
		return ""
	}
	return fmt.Sprintf("%5.1f%%", 100*part/all)
}

// rightHead aligns the last column too, which holds counts.
func rightHead(rows [][]string) [][]string {
	for col := 3; len(rows) > 0 && col < len(rows[0]); col++ {
		widest := 0
		for _, r := range rows {
			whole, _, _ := strings.Cut(r[col], ".")
			widest = max(widest, len(whole))
		}
		for _, r := range rows {
			whole, _, _ := strings.Cut(r[col], ".")
			r[col] = strings.Repeat(" ", widest-len(whole)) + r[col]
		}
	}
	return rows
}

func (a *app) printProfileDiff(d *profile.Diff, before, after string, most int) {
	fmt.Fprintf(a.stdout, "A: %s\nB: %s\n", before, after)
	for i := range d.Parts {
		a.printPartDiff(&d.Parts[i], most)
	}
}

func (a *app) printPartDiff(d *profile.PartDiff, most int) {
	name, scale := "ms", 1e-3
	if d.Unit != "" {
		name, scale = "µs/"+d.Unit, 1
	}
	title := partName(d.Phase, d.Requests)
	if d.Step != nil {
		with := "without the profiler"
		if d.Profiled {
			with = "with the profiler"
		}
		title += fmt.Sprintf(": %s → %s %s from end to end (%s), %s", tenths(scale*d.Step.A), tenths(scale*d.Step.B), name, tell.Percent(d.Step.B/d.Step.A-1, 1), with)
	}
	fmt.Fprintln(a.stdout, "\n"+title)
	fmt.Fprintln(a.stdout)
	changes := append(slices.Clone(d.Categories), d.GPU)
	names := make([]string, 0, len(changes)+len(d.Rest)+1)
	for _, c := range d.Categories {
		names = append(names, tell.Category(c.Name))
	}
	names = append(names, "GPU in all")
	for _, c := range d.Rest {
		names = append(names, tell.Rest(c.Name))
	}
	changes = append(changes, d.Rest...)
	if d.Step != nil {
		changes, names = append(changes, *d.Step), append(names, "end to end")
	}
	a.printChanges("category", name, names, changes, scale)
	if len(d.Waits) > 0 {
		names = nil
		for _, c := range d.Waits {
			names = append(names, tell.Cause(c.Name))
		}
		fmt.Fprintln(a.stdout)
		a.printChanges("the GPU waits while", name, names, d.Waits, scale)
	}
	shown := d.Kernels
	if most > 0 {
		shown = shown[:min(most, len(shown))]
	}
	names = nil
	for _, c := range shown {
		names = append(names, c.Short)
	}
	fmt.Fprintln(a.stdout)
	a.printChanges("kernel", name, names, shown, scale)
	if n := len(d.Kernels) - len(shown); n > 0 {
		rest := 0.0
		for _, c := range d.Kernels[len(shown):] {
			rest += c.Delta()
		}
		fmt.Fprintf(a.stdout, "and %s, %s %s\n", moreOf(n, "kernel"), signed(scale*rest), name)
	}
}

// printChanges prints both sides, the difference and what it explains.
func (a *app) printChanges(head, name string, names []string, changes []profile.Change, scale float64) {
	var as, bs, deltas []float64
	for _, c := range changes {
		as, bs, deltas = append(as, scale*c.A), append(bs, scale*c.B), append(deltas, scale*c.Delta())
	}
	before, after, delta := aligned(as), aligned(bs), right(deltas, signed)
	rows := make([][]string, len(changes))
	for i, c := range changes {
		explains := ""
		if c.Share != nil {
			explains = fmt.Sprintf("%4.0f%%", math.Round(100**c.Share)+0)
		}
		rows[i] = []string{names[i], before[i], after[i], delta[i], explains}
	}
	a.printTable([]string{head + ", " + name, "A", "B", "B − A", "explains"}, rows)
}

// signed is a difference of times.
func signed(x float64) string {
	if text := tenths(x); text == "0.0" || x < 0 {
		return text
	}
	return "+" + tenths(x)
}
