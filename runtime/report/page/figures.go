package page

import (
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// Figures are the numbers of all plots, as the page's script reads them. Key order and
// names are those of page.js.
type Figures struct {
	Lines    []Lines   `json:"lines"`
	Kernels  []Kernels `json:"kernels"`
	Matrices []Matrix  `json:"matrices"`
}

// Lines are a metric of launches by round, or a quantity over the time of one launch, of a
// parent (Base) and of a candidate. Needed is the level that the candidate's launches must
// reach on average, Why is set for a launch that does not count.
type Lines struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	X      string   `json:"x"`
	Series []Series `json:"series"`
	Needed *float64 `json:"needed,omitempty"`
	More   bool     `json:"more,omitempty"`
	// Lost has a line for each launch that does not count.
	Lost []string `json:"lost,omitempty"`
}

// Series is one line of them.
type Series struct {
	Arm  string    `json:"arm"`
	Base bool      `json:"base"`
	X    []float64 `json:"at"`
	Y    []float64 `json:"y"`
	Why  []string  `json:"why,omitempty"`
}

// Kernels is the time of one phase of work by category, before and after, in µs per step,
// or per token of prefill.
type Kernels struct {
	Part   string    `json:"part"`
	Names  []string  `json:"names"`
	Before []float64 `json:"before"`
	After  []float64 `json:"after"`
}

// Matrix is a comparison of engines or of knob values with its reference, in the metrics
// that have a speed-up.
type Matrix struct {
	Title string        `json:"title"`
	Rows  []verdict.Row `json:"rows"`
}

const (
	// tracePoints is what a line on a screen can show.
	tracePoints = 160
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
	fig := Lines{X: "round"}
	if t != nil && t.Metric != "" {
		column.Stat, fig.More = t.Stat, t.More
		column.Cell, column.Metric = measure.SplitAddress(t.Metric)
	} else if heads := report.Headlines(slices.Concat(arms[0].Launches, arms[1].Launches)); len(heads) > 0 {
		column = heads[0]
	}
	points := 0
	for i, a := range arms {
		s := Series{Arm: a.Variant, Base: i == 0, X: []float64{}, Y: []float64{}}
		for _, l := range a.Launches {
			why := ""
			switch {
			case !l.OK:
				why = verdict.Brief(l.Error)
			case len(l.Invalid) > 0:
				why = verdict.Brief(l.Invalid[0])
			case !l.Counts():
				why = "answers garbage"
			}
			if why != "" {
				fig.Lost = append(fig.Lost, a.Variant+": "+why)
			}
			m, _ := column.Of(l)
			if y, has := m.Stats[column.Stat]; has {
				s.X, s.Y, s.Why = append(s.X, float64(l.Ordinal)), append(s.Y, short(y)), append(s.Why, why)
				fig.Unit = m.Unit
				points++
			}
		}
		fig.Series = append(fig.Series, s)
	}
	if points+len(fig.Lost) == 0 {
		return nil
	}
	if t != nil && t.Metric != "" {
		fig.Needed = needed(t, fig.Series[0].Y)
	}
	fig.Name = column.Cell + " " + report.MetricWord(column.Metric)
	return b.lines(fig, "Launches by round: "+fig.Name)
}

func (b *builder) lines(fig Lines, title string) []Figure {
	b.Figures.Lines = append(b.Figures.Lines, fig)
	return []Figure{{"lines", len(b.Figures.Lines) - 1, title}}
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

// short keeps the digits that a screen can show.
func short(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	scale := math.Pow(10, 5-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
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
		fig := Lines{Name: name, Unit: c.Unit, X: "seconds"}
		for i, side := range []report.PairSide{pair.Old, pair.New} {
			series, err := b.Store.ReadSeries(side.Launches[len(side.Launches)-1])
			for _, s := range series {
				if err != nil || s.Name != name || len(s.At) < 3 {
					continue
				}
				// A line is the means of equal stretches.
				line, every := Series{Arm: strings.TrimSpace(side.Variant + " " + s.Source), Base: i == 0},
					(len(s.At)+tracePoints-1)/tracePoints
				for from := 0; from < len(s.At); from += every {
					end, sum := min(from+every, len(s.At)), 0.0
					for _, x := range s.Value[from:end] {
						sum += x
					}
					line.X = append(line.X, short(s.At[(from+end-1)/2].Seconds()))
					line.Y = append(line.Y, short(sum/float64(end-from)))
				}
				fig.Series = append(fig.Series, line)
			}
		}
		if len(fig.Series) > 1 {
			out = append(out, b.lines(fig, name+" over the last launch of each arm")...)
		}
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
			k := Kernels{Part: p.Phase}
			for _, c := range p.Categories {
				at := slices.IndexFunc(q.Categories, func(d trace.Category) bool { return d.Name == c.Name })
				if at < 0 || q.Phase != p.Phase || q.Requests != p.Requests {
					continue
				}
				x, known := p.Per(c.Total)
				if y, also := q.Per(q.Categories[at].Total); known && also && x+y > 0 {
					k.Names, k.Before, k.After = append(k.Names, c.Name), append(k.Before, short(y)),
						append(k.After, short(x))
				}
			}
			if len(k.Names) > 0 {
				b.Figures.Kernels = append(b.Figures.Kernels, k)
				out = append(out, Figure{
					"kernels", len(b.Figures.Kernels) - 1,
					"Kernel time by category in " + p.Phase + ", before and after",
				})
			}
		}
	}
	return out
}
