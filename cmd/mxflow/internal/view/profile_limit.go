package view

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// printLimit prints where a step's time goes, and how short the machine would let it be.
func printLimit(on table.Screen, p *trace.Part, basis trace.Basis) {
	if p.Phase == trace.Prefill {
		return // which has none
	}
	r, err := trace.RooflineOf(p, basis)
	switch {
	case errors.Is(err, trace.ErrWhole):
		fmt.Fprintf(on, "\nNo limit: %v. Describe the profile with --phase, --batch and --steps.\n", err)
		return
	case err != nil:
		fmt.Fprintf(on, "\nNo limit: %v.\n", err)
		return
	}
	var rows [][]string
	for _, row := range r.Rows {
		line := []string{trace.Words(row.Category), report.Tenths(row.Took), "", "", "", ""}
		if row.Limit > 0 {
			line[2], line[3], line[5] = report.Tenths(row.Limit), shareText(row.OfLimit()), string(row.Waits)
		}
		if row.Gain != nil && !row.Gain.Open {
			line[4] = verdict.Number(row.Gain.Most, "ratio")
		}
		rows = append(rows, line)
	}
	if r.Timed() {
		rows = append(rows,
			[]string{"no GPU busy", spanned(r.Step.Low-r.Busy, r.Step.High-r.Busy, report.Tenths), "", "", "", ""})
		step := []string{"step", spanned(r.Step.Low, r.Step.High, report.Tenths), "", "", "", ""}
		if least := r.Limit(); least > 0 {
			step[2], step[3] = report.Tenths(least), spanned(least/r.Step.High, least/r.Step.Low, shareText)
		}
		rows = append(rows, step)
	}
	if r.Model != "" {
		title := fmt.Sprintf("%s on %s, %s (data sheet)", r.Model, r.Machine, verdict.Number(r.Bandwidth, "GB/s"))
		if r.Phase == trace.Decode {
			title += fmt.Sprintf(", %s tokens of context", verdict.Number(r.Context, ""))
		}
		fmt.Fprintln(on, "\n"+title)
	}
	fmt.Fprintln(on)
	on.Table([]string{"limit", "µs/step", "at least", "of limit", "gain at it", "waits for"}, rows)
	fmt.Fprintln(on)
	fmt.Fprintln(on, boundBy(r))
	for _, row := range r.Rows {
		if row.OfLimit() > 1 {
			fmt.Fprintf(on, "%s is above its limit: it reads smaller formats than config.json names, or fewer experts "+
				"than independently routed tokens would use.\n", trace.Words(row.Category))
		}
		if row.Kernel != "" {
			fmt.Fprintf(on,
				"The output projection (lm_head) is taken to be %s, the only dense GEMM that runs once per "+
					"step and takes long enough.\n", row.Kernel)
		}
	}
}

// spanned is a span, or one number if both ends read the same.
func spanned(low, high float64, text func(float64) string) string {
	if x, y := text(low), text(high); x != y {
		return x + "–" + y
	}
	return text(low)
}

// shareText is a share, such as 79%.
func shareText(share float64) string { return verdict.Digits(share, "share", -1) }

// boundBy is what bounds a part of a profile, as a sentence.
func boundBy(r *trace.Roofline) string {
	b := r.Bound
	phase := strings.ToUpper(r.Phase[:1]) + r.Phase[1:]
	share := func(by trace.BoundBy) string { return spanned(b.Shares[by].Low, b.Shares[by].High, shareText) }
	switch b.By {
	case trace.BoundHost:
		return fmt.Sprintf("%s is bound by the host: no GPU is busy for %s of a step.", phase, share(b.By))
	case trace.BoundCommunication:
		return fmt.Sprintf("%s is bound by communication: %s of a step.", phase, share(b.By))
	case trace.BoundMemory:
		return fmt.Sprintf(
			"%s is bound by memory bandwidth: kernels limited by it take %s of a step and reach %s of it.",
			phase, share(b.By), shareText(b.OfLimit))
	case trace.BoundCompute:
		return fmt.Sprintf("%s is bound by compute: kernels limited by it take %s of a step and reach %s of the peak.",
			phase, share(b.By), shareText(b.OfLimit))
	}
	why := "no lower limit is known for the time of its kernels"
	switch b.Why {
	case trace.Unseen:
		var missing []string
		for _, row := range r.Missing {
			missing = append(missing, row.Category)
		}
		why = "the profile does not show all kernels that the model needs (" + strings.Join(missing, ", ") + ")"
	case trace.NoMost:
		var shares []string
		for _, by := range slices.Sorted(maps.Keys(b.Shares)) {
			shares = append(shares, string(by)+" "+share(by))
		}
		why = "nothing takes most of a step for sure: " + strings.Join(shares, ", ")
	case trace.Untimed:
		why = "the profile has sums of kernels, not how long a step takes"
	}
	return fmt.Sprintf("Cannot tell what bounds %s: %s.", r.Phase, why)
}
