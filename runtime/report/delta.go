package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Delta is one metric on two sides: before, after, and the difference. It compares
// launches, never requests. It decides nothing.
type Delta struct {
	// Cell and Metric address it, Stat is the statistic of each launch: "chat.c16",
	// "ttft", "p99". Cell is "engine" for what a launch has once.
	Cell   string         `json:"cell"`
	Metric string         `json:"metric"`
	Stat   string         `json:"stat"`
	Unit   string         `json:"unit,omitempty"`
	Better measure.Better `json:"better,omitempty"`
	Old    Mean           `json:"old"`
	New    Mean           `json:"new"`
	// Change is relative, 0.1 for 10% more, of the means of logs; if a value is not above
	// zero it is Absolute, in Unit. Low and High are its 95% interval by Welch's t-test
	// and P the two-sided chance of one as large if nothing changed; all are absent if
	// meaningless.
	Change   *float64 `json:"change,omitempty"`
	Absolute bool     `json:"absolute,omitempty"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	P        *float64 `json:"p,omitempty"`
	// Why is why there is no change: the sides cannot be compared in this.
	Why verdict.Reason `json:"why,omitzero"`
}

// Mean is a metric over the launches of one side: the mean of logs if every value is
// above zero.
type Mean struct {
	Mean float64 `json:"mean"`
	// SD is the standard deviation over launches, of logs times Mean where that is one of
	// logs; 0 for one launch.
	SD     float64   `json:"sd"`
	Values []float64 `json:"values"`
}

// N is how many launches there are.
func (m Mean) N() int { return len(m.Values) }

// Significance is the p value up to which a change counts as shown.
const Significance = 0.05

// Shown reports whether the launches distinguish the sides.
func (d Delta) Shown() bool { return d.P != nil && *d.P <= Significance }

// Improves reports whether a shown change is for the better; known is false for a metric
// without a better direction.
func (d Delta) Improves() (better, known bool) {
	if d.Change == nil || d.Better == measure.Neither {
		return false, false
	}
	return *d.Change > 0 == (d.Better == measure.Higher), true
}

// Counted are the launches whose numbers count.
func Counted(launches []*ledger.Launch) (counted []*ledger.Launch) {
	for _, l := range launches {
		if l.Counts() {
			counted = append(counted, l)
		}
	}
	return counted
}

// Deltas are the headline metrics of two sides, cell by cell in sending order, including
// those that only one side has. alike is false if the launches ran on different machines:
// then there is a change without bounds, as launches show how one machine varies.
func Deltas(old, new []*ledger.Launch, alike bool) (deltas []Delta) {
	old, new = Counted(old), Counted(new)
	for _, g := range Groups(slices.Concat(old, new)) {
		for _, cell := range g.Cells {
			why := sentApart(old, new, cell)
			for _, c := range g.Columns {
				if d, there := deltaOf(old, new, c, cell, alike); there {
					if !why.IsZero() && g.ByCell() {
						d.Change, d.Low, d.High, d.P, d.Why = nil, nil, nil, nil, why
					}
					deltas = append(deltas, d)
				}
			}
		}
	}
	return deltas
}

func deltaOf(old, new []*ledger.Launch, c Column, cell string, alike bool) (d Delta, there bool) {
	d = Delta{Cell: cmp.Or(c.Cell, cell), Metric: c.Metric, Stat: c.Stat}
	corrections, lacking := []string{}, false
	for _, side := range []struct {
		to *Mean
		of []*ledger.Launch
	}{{&d.Old, old}, {&d.New, new}} {
		for _, l := range side.of {
			s, _ := c.Of(l, cell)
			v, has := s.Stats[c.Stat]
			if !has {
				lacking = true // the missing one might have been the bad one
				continue
			}
			d.Unit, d.Better, there = s.Unit, s.Better, true
			side.to.Values = append(side.to.Values, v)
			if !slices.Contains(corrections, s.Correction) {
				corrections = append(corrections, s.Correction)
			}
		}
		side.to.average()
	}
	if !there {
		return d, false
	}
	switch {
	case len(corrections) > 1:
		d.Why = verdict.New(code.MeasuredApart).On(cell)
		return d, true
	case lacking || d.Old.N() == 0 || d.New.N() == 0:
		d.Why = verdict.New(code.LackingSomewhere)
		return d, true
	}
	d.compare(alike)
	return d, true
}

func (m *Mean) average() {
	if in, err := stats.MeanInterval(m.Values); err == nil {
		m.Mean, m.SD = in.Mean, in.SD
	}
}

// compare fills in the change, with its bounds if there are any.
func (d *Delta) compare(alike bool) {
	back := math.Expm1
	diff, err := stats.LogDifference(d.New.Values, d.Old.Values)
	if err != nil {
		// A value is zero: no ratio to it.
		d.Absolute, back = true, func(x float64) float64 { return x }
		if diff, err = stats.RawDifference(d.New.Values, d.Old.Values); err != nil {
			d.Why = verdict.New(code.NoAverage, verdict.Err(err)).On(d.Cell + "." + d.Metric)
			return
		}
	}
	change := back(diff.Estimate)
	d.Change = &change
	if !diff.Bounded || !alike {
		return
	}
	low, high, p := back(diff.Low), back(diff.High), diff.P()
	if math.IsInf(high, 0) {
		return
	}
	d.Low, d.High, d.P = &low, &high, &p
}

// sentApart is why the numbers of a cell are not of the same work; no fact if they are.
func sentApart(old, new []*ledger.Launch, cell string) verdict.Reason {
	was, wasSent := runOf(old, cell)
	is, isSent := runOf(new, cell)
	switch {
	case !wasSent || !isSent:
		return verdict.Reason{}
	case Sent(old, cell) != Sent(new, cell):
		return verdict.New(code.SentApart, verdict.Text("was", Sent(old, cell)), verdict.Text("is", Sent(new, cell))).On(cell)
	case was.Correction != is.Correction || was.ExactOutput != is.ExactOutput || was.ByEvents != is.ByEvents:
		return verdict.New(code.MeasuredApart).On(cell)
	}
	return verdict.Reason{}
}

func runOf(launches []*ledger.Launch, cell string) (run measure.CellRun, sent bool) {
	for _, l := range launches {
		for _, c := range l.Cells {
			if c.Cell == cell {
				return c, true
			}
		}
	}
	return run, false
}
