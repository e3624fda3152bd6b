package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// Profile prints an analysis with so many kernels of each part, 0 for all, compared with
// the machine's limits if known.
func Profile(on table.Screen, analysis *trace.Analysis, kernels int, against *trace.Basis) {
	hidden := 0
	for _, f := range analysis.Files {
		of := ""
		if len(f.Processes) > 0 {
			of = ", " + strings.Join(f.Processes, ", ")
		}
		fmt.Fprintf(on, "%s: %s%s\n", f.Name, f.Kind, of)
		hidden += f.Hidden
	}
	if hidden > 0 {
		fmt.Fprintf(on,
			"note: %s of CUDA graphs whose kernels are not named: kernels missing below may have run in them.\n",
			verdict.Launches(hidden))
	}
	// Engines with continuous batching pass through many numbers of requests.
	const most = 4
	parts := slices.Clone(analysis.Parts)
	slices.SortStableFunc(parts, func(x, y trace.Part) int { return cmp.Compare(y.GPU, x.GPU) })
	left := parts[min(most, len(parts)):]
	for i := range analysis.Parts {
		p := &analysis.Parts[i]
		if !slices.ContainsFunc(left, func(l trace.Part) bool {
			return l.Phase == p.Phase && l.Requests == p.Requests
		}) {
			printPart(on, p, kernels)
			if against != nil {
				printLimit(on, p, *against)
			}
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(on, "\nNot shown, with less GPU time each (--json has all): %s.\n",
			ProfileParts(&trace.Analysis{Parts: left}))
	}
}

// ProfileParts names the parts of an analysis.
func ProfileParts(analysis *trace.Analysis) string {
	var names []string
	for i := range analysis.Parts {
		names = append(names, report.PartName(analysis.Parts[i].Phase, analysis.Parts[i].Requests))
	}
	return strings.Join(names, "; ")
}

func printPart(on table.Screen, p *trace.Part, most int) {
	fmt.Fprintln(on, "\n"+report.PartTitle(p))
	if step, ok := p.Step(p.Wall); ok && p.Unprofiled > 0 && p.Wall > 0 {
		fmt.Fprintf(on, "without the profiler %s µs, with it %s µs a step\n", report.Tenths(p.Unprofiled),
			report.Tenths(step))
	}
	for _, t := range report.ProfileTables(p, most) {
		fmt.Fprintln(on)
		on.Table(t.Head, t.Rows)
	}
}
