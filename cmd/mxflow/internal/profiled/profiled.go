// Package profiled prints an engine's profile: where the time goes, how two differ, and
// how far it is from the machine's limits. It reads no file and judges nothing.
package profiled

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/profile"
	"github.com/mxflow/mxflow/gates/tell"
)

// mostThreads is how many threads of the host are listed.
const mostThreads = 8

// Print prints an analysis with so many kernels of each part, 0 for all, compared with
// the machine's limits if known.
func Print(on table.Screen, analysis *profile.Analysis, kernels int, against *Served) {
	hidden, unnamed := 0, 0
	for _, f := range analysis.Files {
		of := ""
		if len(f.Processes) > 0 {
			of = ", " + strings.Join(f.Processes, ", ")
		}
		fmt.Fprintf(on, "%s: %s%s\n", f.Name, f.Kind, of)
		hidden += f.Hidden
		unnamed += f.Unnamed
	}
	if hidden > 0 {
		fmt.Fprintf(on, "note: %s of CUDA graphs whose kernels are not named: kernels missing below may have run in them.\n", tell.Launches(hidden))
	}
	if unnamed > 0 {
		fmt.Fprintf(on, "note: %s exceeded the number of names kept, and are listed as one.\n", tell.Count(unnamed, "kernel"))
	}
	// Engines with continuous batching pass through many numbers of requests.
	const most = 4
	parts := slices.Clone(analysis.Parts)
	slices.SortStableFunc(parts, func(x, y profile.Part) int { return cmp.Compare(y.GPU, x.GPU) })
	left := parts[min(most, len(parts)):]
	for i := range analysis.Parts {
		p := &analysis.Parts[i]
		if !slices.ContainsFunc(left, func(l profile.Part) bool { return l.Phase == p.Phase && l.Requests == p.Requests }) {
			printPart(on, p, kernels)
			if against != nil {
				against.print(on, p)
			}
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(on, "\nNot shown, with less GPU time each (--json has all): %s.\n", Parts(&profile.Analysis{Parts: left}))
	}
}

// Parts names the parts of an analysis.
func Parts(analysis *profile.Analysis) string {
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

// unit is what a part's times are divided by, and its name.
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

func printPart(on table.Screen, p *profile.Part, most int) {
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
	fmt.Fprintln(on, "\n"+title)
	if step, ok := p.Step(p.Wall); ok && p.Unprofiled > 0 && p.Wall > 0 {
		fmt.Fprintf(on, "without the profiler %s µs, with it %s µs a step\n", tenths(p.Unprofiled), tenths(step))
	}
	var rows [][]string
	for _, c := range p.Categories {
		rows = append(rows, []string{tell.Category(c.Name), tenths(per(c.Total)), share(c.Total, p.GPU), each(p, c.Count)})
	}
	rows = append(rows, []string{"all", tenths(per(p.GPU)), share(p.GPU, p.GPU), each(p, p.Count())})
	times(on, []string{"category", name, "share", "launches"}, rows)
	shown, rest := first(p.Kernels, most)
	rows = nil
	for _, k := range shown {
		rows = append(rows, []string{k.Short, tenths(per(k.Total)), share(k.Total, p.GPU), each(p, k.Count)})
	}
	times(on, []string{"kernel", name, "share", "launches"}, rows)
	if len(rest) > 0 {
		sum := 0.0
		for _, k := range rest {
			sum += k.Total
		}
		fmt.Fprintf(on, "and %s, %s %s (%s)\n", moreKernels(len(rest)), tenths(per(sum)), name, strings.TrimSpace(share(sum, p.GPU)))
	}
	rows = nil
	for _, w := range p.Waits {
		rows = append(rows, []string{tell.Cause(w.Cause), tenths(per(w.Total)), share(w.Total, p.Wall)})
	}
	if rows != nil {
		times(on, []string{"the GPU waits while", name, "of the time"}, rows)
	}
	rows = nil
	threads, _ := first(p.Threads, mostThreads)
	for _, t := range threads {
		rows = append(rows, []string{t.Name, tenths(per(t.Total)), share(t.Total, p.Wall)})
	}
	if rows != nil {
		times(on, []string{"host thread at work", name, "of the time"}, rows)
	}
}

// times prints a table of times, which are in the second column, aligned at their decimal
// points. Counts are in the fourth, if there is one.
func times(on table.Screen, head []string, rows [][]string) {
	flushRight(rows, 1, lipgloss.Width)
	if len(head) > 3 {
		flushRight(rows, 3, func(count string) int { return strings.IndexByte(count+".", '.') })
	}
	fmt.Fprintln(on)
	on.Table(head, rows)
}

// flushRight right-aligns a column, by what width counts of each cell.
func flushRight(rows [][]string, col int, width func(string) int) {
	widest := 0
	for _, r := range rows {
		widest = max(widest, width(r[col]))
	}
	for _, r := range rows {
		r[col] = strings.Repeat(" ", widest-width(r[col])) + r[col]
	}
}

// first splits a list after so many; 0 is all of it.
func first[T any](all []T, most int) (shown, rest []T) {
	if most <= 0 || most > len(all) {
		most = len(all)
	}
	return all[:most], all[most:]
}

func moreKernels(n int) string { return strings.Replace(tell.Count(n, "kernel"), " ", " more ", 1) }

// each is how many times something ran per step or token; in total if neither is known.
func each(p *profile.Part, n int) string {
	if per, ok := p.Per(float64(n)); ok {
		return strings.TrimSuffix(tenths(per), ".0")
	}
	return strconv.Itoa(n)
}

// tenths is a time with one decimal.
func tenths(x float64) string {
	if math.Abs(x) < 0.05 {
		x = 0 // no -0.0
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// share is a part as a percentage of all.
func share(part, all float64) string {
	if all <= 0 {
		return ""
	}
	return fmt.Sprintf("%5.1f%%", 100*part/all)
}
