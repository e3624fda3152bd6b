package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Figure is a drawing: a plot of launches or of a trace, or bars in pairs. Numbers are those of the
// plot, for readers who cannot see it; bars have theirs beside them.
type Figure struct {
	Title   string
	Plot    *Plot
	Bars    *Chart
	Numbers report.Table
}

// Matrix is a comparison of engines or of knob values with its reference, in the metrics that have
// a speed-up.
type Matrix struct {
	Title string
	Head  []string
	Rows  []MatrixRow
}

// MatrixRow is one of them; Mark is set if it has no numbers.
type MatrixRow struct {
	Name  string
	Mark  Mark
	Cells []Heat
}

// Heat is a speed-up with its interval, and the class of its colour: "better" or "worse" by a step
// of 1 to 4, where launches show that.
type Heat struct{ Text, Within, Class string }

const (
	// tracePoints is what a line on a screen can show, and traceRows a table of it.
	tracePoints, traceRows = 160, 12
	// clearChange is how far apart arms must be for their traces to be shown.
	clearChange = 0.05
)

// rounds adds the figure of a session's launches by round, in the metric of a test, or in the
// first that people decide by.
func (b *builder) rounds(session, own, parent string, t *verdict.Test) []Figure {
	if t != nil && t.Metric != "" {
		own = t.Arm
	}
	arms := []*report.Arm{
		{Variant: parent, Launches: b.launches[[2]string{session, parent}]},
		{Variant: own, Launches: b.launches[[2]string{session, own}]},
	}
	var column report.Column
	fig := Plot{X: "round"}
	if t != nil && t.Metric != "" {
		column.Stat, fig.more = t.Stat, t.More != t.Saved // a time that is saved is less of it
		column.Cell, column.Metric = measure.SplitAddress(t.Metric)
	} else if heads := report.Headlines(slices.Concat(arms[0].Launches, arms[1].Launches)); len(heads) > 0 {
		column = heads[0]
	}
	lost, points := map[string]int{}, 0
	for i, a := range arms {
		l := Line{Arm: a.Variant, Base: i == 0}
		for _, of := range a.Launches {
			why := uncounted(of)
			if why != "" {
				lost[a.Variant+": "+why]++
			}
			m, _ := column.Of(of)
			if y, has := m.Stats[column.Stat]; has {
				fig.Unit = m.Unit
				points++
				l.At = append(l.At, Point{X: float64(of.Ordinal), Y: y, Why: why})
			}
		}
		fig.Lines = append(fig.Lines, l)
	}
	if points+len(lost) == 0 {
		return nil
	}
	var so []float64
	for _, p := range fig.Lines[0].At {
		so = append(so, p.Y)
	}
	if t != nil && t.Metric != "" {
		fig.need = needed(t, so)
	}
	for why, n := range sorted.All(lost) {
		if n > 1 {
			why += " (" + verdict.Launches(n) + ")"
		}
		fig.Lost = append(fig.Lost, "does not count: "+why)
	}
	fig.Name = column.Cell + " " + report.MetricWord(column.Metric)
	return []Figure{fig.figure("Launches by round: "+fig.Name, nil)}
}

// curves adds, for each cell whose capacity was searched, the share of requests within the limits
// at each rate, in all launches of both arms that count.
func (b *builder) curves(session, own, parent string) (all []Figure) {
	var order []string
	found := map[string]*curve{}
	for i, variant := range []string{parent, own} {
		for _, l := range b.launches[[2]string{session, variant}] {
			if uncounted(l) != "" {
				continue
			}
			for _, of := range (measure.Recording{Cells: l.Cells}).Searched() {
				if found[of] == nil {
					found[of] = &curve{Plot: Plot{Name: of + " within limits", Unit: "%", X: "req/s", more: true}}
					order = append(order, of)
				}
				found[of].add(Line{Arm: variant, Base: i == 0}, l, report.ProbesOf(l.Cells, of))
			}
		}
	}
	for _, of := range order {
		c := found[of]
		f := c.figure("Requests within the limits by rate: "+of, nil)
		f.Numbers = c.numbers
		all = append(all, f)
	}
	return all
}

// curve is a plot of probes, with a row of numbers for each.
type curve struct {
	Plot
	numbers report.Table
}

// add has the probes of a launch at the end of an arm's line.
func (c *curve) add(arm Line, l *ledger.Launch, probes []measure.CellRun) {
	if n := len(c.Lines); n == 0 || c.Lines[n-1].Arm != arm.Arm {
		c.Lines = append(c.Lines, arm)
	}
	line, t := &c.Lines[len(c.Lines)-1], report.CurveTable(probes)
	row := func(arm string, of []string, launch string) []string {
		return slices.Concat([]string{arm}, of[:report.CurveBars], of[report.CurveBars+1:], []string{launch})
	}
	c.numbers.Head = row("arm", t.Head, "launch")
	for i, p := range probes {
		worst, kept, _ := p.Rated().Worst(p.Criteria())
		at := Point{X: p.Rate, Y: 100 * kept, Of: fmt.Sprintf("%s of launch %d", p.Cell, l.Ordinal)}
		if p.Probe.Late {
			at.Why = "the client was late"
		}
		need := 100 * worst.Share
		line.At, c.need = append(line.At, at), &need
		c.numbers.Rows = append(c.numbers.Rows, row(arm.Arm, t.Rows[i], l.ID))
	}
}

// uncounted is why a launch does not count, "" if it does.
func uncounted(l *ledger.Launch) string {
	switch {
	case !l.OK:
		return verdict.Brief(l.Error)
	case len(l.Invalid) > 0:
		return verdict.Brief(l.Invalid[0])
	case !l.Counts():
		return "answers garbage"
	}
	return ""
}

// needed is a test's threshold as a level of its metric: of a relative one on what the launches
// of the other arm came to, so far if it was not tested yet.
func needed(t *verdict.Test, so []float64) *float64 {
	if t.Against == "" {
		return &t.Threshold
	}
	if len(t.Base) > 0 {
		so = t.Base
	}
	base, err := stats.SampleOf(so)
	if err != nil {
		return nil
	}
	x := base.Mean * (1 + t.Threshold)
	switch {
	case t.Relation == "delta":
		x = base.Mean + t.Threshold
	case t.Saved:
		x = base.Mean * (1 - t.Threshold)
	case !t.Relative():
		return nil
	}
	return &x
}

// traced are the series to draw where arms differ.
var traced = []string{measure.GPUPower, measure.GPUClock, measure.GPUTemperature, measure.HostCPU, measure.EngineMemory}

// traces are those in which the arms clearly differ, of the last launch of each, the
// reference first.
func (b *builder) traces(pair *report.Pair) (out []Figure) {
	if pair == nil {
		return nil
	}
	for _, c := range pair.Metrics {
		name := c.Address()
		if !slices.Contains(traced, name) || !c.Significant() || c.Absolute || math.Abs(*c.Change) < clearChange {
			continue
		}
		fig, few := Plot{Name: name, Unit: c.Unit, X: "seconds"}, Plot{Name: name, Unit: c.Unit, X: "seconds"}
		for i, side := range []report.PairSide{pair.Old, pair.New} {
			series, err := b.Store.ReadSeries(side.Launches[len(side.Launches)-1])
			for _, s := range series {
				if err != nil || s.Name != name || len(s.At) < 3 {
					continue
				}
				arm := strings.TrimSpace(side.Variant + " " + s.Source)
				fig.Lines = append(fig.Lines, Line{arm, i == 0, stretches(s, tracePoints)})
				few.Lines = append(few.Lines, Line{arm, i == 0, stretches(s, traceRows)})
			}
		}
		if len(fig.Lines) > 1 {
			out = append(out, fig.figure(name+" over the last launch of each arm", &few))
		}
	}
	return out
}

// traffic is how requests of traces queued over time.
func (b *builder) traffic(port *report.Port) (out []Figure) {
	few := b.Flights(port, traceRows)
	for i, f := range b.Flights(port, tracePoints) {
		draw := func(f report.Flight) *Plot {
			p := &Plot{Name: "requests in flight", X: "seconds"}
			for arm, name := range f.Arms {
				l := Line{Arm: name, Base: arm == 0}
				for j, n := range f.InFlight[arm] {
					l.At = append(l.At, Point{X: float64(j) * f.Every, Y: float64(n)})
				}
				p.Lines = append(p.Lines, l)
			}
			return p
		}
		out = append(out, draw(f).figure("Requests of "+f.Cell+" in flight, in the last launch of each", draw(few[i])))
	}
	return out
}

// stretches are the means of at most so many equal stretches of a series.
func stretches(s measure.Series, most int) (out []Point) {
	every := (len(s.At) + most - 1) / most
	for from := 0; from < len(s.At); from += every {
		end, sum := min(from+every, len(s.At)), 0.0
		for _, x := range s.Value[from:end] {
			sum += x
		}
		out = append(out, Point{X: s.At[(from+end-1)/2].Seconds(), Y: sum / float64(end-from)})
	}
	return out
}

// kernels are the profiles of a candidate and of its parent, if both are on record.
func (b *builder) kernels(e gates.Feature) (out []Figure) {
	was, had := b.Store.LaunchByID(e.Parent.Qualified.ID)
	is, has := b.Store.LaunchByID(e.Candidate.Qualified.ID)
	if !had || !has {
		return nil
	}
	before, after := report.ProfileOf(b.Store, was), report.ProfileOf(b.Store, is)
	if before == nil || after == nil {
		return nil
	}
	for _, p := range after.Parts {
		for _, q := range before.Parts {
			bars, most := &Chart{}, 0.0
			unit := map[string]string{trace.Prefill: "µs per token"}[p.Phase]
			for _, c := range p.Categories {
				at := slices.IndexFunc(q.Categories, func(d trace.Category) bool { return d.Name == c.Name })
				if at < 0 || q.Phase != p.Phase || q.Requests != p.Requests {
					continue
				}
				is, known := p.Per(c.Total)
				was, also := q.Per(q.Categories[at].Total)
				if !known || !also || is+was <= 0 {
					continue
				}
				bar := Bar{Was: was, To: is}
				bar.Name, bar.Note = c.Name, cmp.Or(unit, "µs per step")
				bar.Text = verdict.Number(was, "") + " → " + verdict.Number(is, "")
				if was > 0 {
					bar.Note += ", " + verdict.Percent(is/was-1, 1)
				}
				bars.Rows, most = append(bars.Rows, bar), max(most, was, is)
			}
			for i := range bars.Rows {
				bar := &bars.Rows[i]
				bar.Was, bar.To = math.Round(1000*bar.Was/most)/10, math.Round(1000*bar.To/most)/10
			}
			if len(bars.Rows) > 0 {
				out = append(out, Figure{
					Title: "Kernel time by category in " + p.Phase + ", before and after", Bars: bars,
				})
			}
		}
	}
	return out
}

// matrix is a comparison in the metrics that have a speed-up, nil if none has.
func matrix(title string, rows []verdict.Row) *Matrix {
	m, most := &Matrix{Title: title}, 0.0
	for _, r := range rows {
		for _, c := range r.Cells {
			if c.Speedup != nil && !slices.Contains(m.Head, c.Address) {
				m.Head = append(m.Head, c.Address)
			}
			if c.Speedup != nil {
				most = max(most, math.Abs(math.Log(*c.Speedup)))
			}
		}
	}
	for _, r := range rows {
		row := MatrixRow{Name: r.Name}
		if r.Verdict != verdict.Pass {
			row.Mark = plain(r.Verdict)
		}
		for _, address := range m.Head {
			heat := Heat{Text: "–"}
			for _, c := range r.Cells {
				switch {
				case c.Address != address:
				case r.Reference:
					heat.Text = "1×"
				case c.Speedup != nil:
					heat = heatOf(c, r.N, most)
				}
			}
			row.Cells = append(row.Cells, heat)
		}
		m.Rows = append(m.Rows, row)
	}
	if len(m.Head) == 0 {
		return nil
	}
	return m
}

// heatOf colours a speed-up whose interval excludes 1, or that did not vary over several launches.
func heatOf(c verdict.Cell, launches int, most float64) Heat {
	x := *c.Speedup
	heat := Heat{Text: verdict.Number(x, "times")}
	shown := launches > 1 && x != 1
	if low, high := c.SpeedupLow, c.SpeedupHigh; low != nil && high != nil {
		heat.Within = verdict.AtLeast(*low, "times") + " to " + verdict.AtMost(*high, "times")
		shown = *low > 1 || *high < 1
	}
	if shown {
		heat.Class = map[bool]string{true: "better", false: "worse"}[x >= 1] + " step" +
			strconv.Itoa(1+int(3.99*min(1, math.Abs(math.Log(x))/most)))
	}
	return heat
}
