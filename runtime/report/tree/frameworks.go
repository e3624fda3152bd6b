package tree

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// side is a column of the frameworks table: the first of its metrics that a launch has.
type side struct {
	title   string
	metrics []string
	stat    string
}

// sides are what frameworks are compared by. A workload's are below a cell, the others
// are per launch.
var sides = []side{
	{"TTFT", []string{"ttft"}, "median"},
	{"Decode", []string{"tg"}, "median"},
	{"E2E", []string{"e2e"}, "median"},
	{"ITL p50", []string{"itl"}, "median"},
	{"ITL p95", []string{"itl"}, "p95"},
	{"Peak memory", []string{"gpu.memory_gb", "gpu.memory_in_use_gb", "engine.memory_gb"}, "max"},
	{"Idle", []string{"gpu.idle_power_w"}, "median"},
	{"Average", []string{"gpu.power_w"}, "median"},
	{"Peak", []string{"gpu.peak_power_w"}, "median"},
	{"tok/J", []string{"tokens_per_joule"}, "mean"},
	{"KL", []string{"kl", "kl_divergence"}, "median"},
	{"Perplexity", []string{"perplexity"}, "median"},
	{"Argmax match", []string{"argmax_match"}, "median"},
}

// frameworks writes the engines of each comparison side by side, one table per cell.
func (t *writer) frameworks() {
	for _, d := range report.Standing(t.st) {
		if len(d.Rows) == 0 || len(d.Effects) > 0 {
			continue
		}
		var launches []*ledger.Launch
		arms := map[string]*engine{}
		for _, a := range report.ArmsOf(t.st, d.Decision) {
			arms[a.Variant] = &engine{measured: *a}
			launches = append(launches, a.Launches...)
		}
		for _, id := range d.Launches {
			if l, ok := t.st.LaunchByID(id); ok && l.OK && l.Purpose != ledger.ForBenchmark {
				for name, e := range arms {
					if name == l.Variant || name == l.Block {
						e.qualified.Launches = append(e.qualified.Launches, l)
					}
				}
			}
		}
		var cells []string
		for _, g := range report.Groups(launches) {
			if !slices.Contains([]string{"command", "engine", "gpu"}, g.Name) {
				cells = append(cells, g.Cells...)
			}
		}
		if len(cells) == 0 {
			cells = []string{"command"}
		}
		for _, cell := range cells {
			t.sideBySide(d.Decision, cell, arms)
		}
	}
}

// sideBySide writes one table. Columns that no engine has are left out.
func (t *writer) sideBySide(d *ledger.Decision, cell string, arms map[string]*engine) {
	head, rows := []string{"Framework"}, [][]string{}
	for _, r := range d.Rows {
		rows = append(rows, []string{r.Name})
	}
	for _, s := range sides {
		var column []string
		any := false
		for _, r := range d.Rows {
			text := "–"
			if e := arms[r.Name]; e != nil {
				if v, ok := s.of(e, cell); ok {
					text, any = v.Text(), true
				}
			}
			column = append(column, text)
		}
		if !any {
			continue
		}
		head = append(head, s.title)
		for i := range rows {
			rows[i] = append(rows[i], column[i])
		}
	}
	head = append(head, "Decode speed-up", "Why there are no numbers")
	for i, r := range d.Rows {
		speed, why := "–", ""
		for _, c := range r.Cells {
			at, metric := measure.SplitAddress(c.Address)
			if at != cell || metric != "tg" {
				continue
			}
			switch {
			case r.Reference:
				speed = "1× (reference)"
			case c.Speedup != nil:
				speed = verdict.CI(*c.Speedup, c.SpeedupLow, c.SpeedupHigh, "times")
			}
		}
		if r.Verdict != verdict.Pass {
			why = verdict.Did(r.Verdict) + ": " + r.Why.String()
		}
		rows[i] = append(rows[i], speed, why)
	}
	t.Line("Side by side, %s of %s:\n", cell, d.Node)
	t.table(head, rows)
}

// engine is one of a comparison: its measurements, and what levels found before.
type engine struct{ measured, qualified report.Arm }

// of is the first of the metrics that all measured launches have, under its name in the
// cell, as a command declares it, or for the launch as a whole; or one that levels found.
func (s side) of(e *engine, cell string) (v report.Sample, ok bool) {
	for _, m := range s.metrics {
		for _, stat := range []string{s.stat, "median"} {
			if s.stat == "p95" && stat != s.stat {
				continue // a median is not a percentile
			}
			// A command's own numbers are those that the plan maps to the metric.
			first := e.measured.Launches[:min(1, len(e.measured.Launches))]
			mapped := addresses(first, func(_, cell, name string, s measure.Summary) bool {
				return cell == "command" && (s.As == m || s.As == "" && name == m)
			})
			for _, address := range append([]string{cell + "." + m, m}, mapped...) {
				if v, ok = e.measured.Of(address, stat); ok {
					return v, true
				}
			}
		}
		for _, a := range []*report.Arm{&e.measured, &e.qualified} {
			for _, address := range addresses(a.Launches, func(address, _, name string, _ measure.Summary) bool {
				return strings.HasPrefix(address, plans.FoundRoot) && name == m
			}) {
				if v, ok = a.Of(address, s.stat); ok {
					return v, true
				}
			}
		}
	}
	return report.Sample{}, false
}

// addresses are those of metrics of launches, sorted, that somebody wants.
func addresses(
	launches []*ledger.Launch, want func(address, cell, name string, s measure.Summary) bool,
) (out []string) {
	for _, l := range launches {
		for address, s := range l.Metrics {
			if cell, name := measure.SplitAddress(address); want(address, cell, name, s) {
				out = append(out, address)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
