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
	"github.com/mxflow/mxflow/runtime/store"
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
	// meaningless. If a rule decided by this change, estimate and bounds are that
	// decision's, there is no P, and Decided is on how many launches of each side it was.
	Change   *float64 `json:"change,omitempty"`
	Absolute bool     `json:"absolute,omitempty"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	P        *float64 `json:"p,omitempty"`
	Decided  int      `json:"decided,omitempty"`
	// Why is why there is no change: the sides cannot be compared in this.
	Why verdict.Reason `json:"why,omitzero"`
}

// Shown reports whether the launches distinguish the sides: the bounds exclude that
// nothing changed.
func (d Delta) Shown() bool { return d.Low != nil && (*d.Low > 0 || *d.High < 0) }

// Improves reports whether a shown change is for the better; known is false for a metric
// without a better direction.
func (d Delta) Improves() (better, known bool) {
	if d.Change == nil || d.Better == measure.Neither {
		return false, false
	}
	return *d.Change > 0 == (d.Better == measure.Higher), true
}

// Deltas are the headline metrics of two sides, cell by cell in sending order, including
// those that only one side has. alike is false if the launches ran on different machines:
// then there is a change without bounds, as launches show how one machine varies. by are
// the tests of rules that may have decided one of the changes.
func Deltas(old, new []*ledger.Launch, alike bool, by Tests) (deltas []Delta) {
	for _, g := range Groups(slices.Concat(old, new)) {
		for _, cell := range g.Cells {
			for _, c := range g.Columns {
				if d := deltaOf(old, new, c, cell, alike, by); d.Old.N()+d.New.N() > 0 {
					deltas = append(deltas, d)
				}
			}
		}
	}
	return deltas
}

// Change is how one metric of an arm differs from another arm's of its session, by the
// launches that ran side by side.
func Change(a, base *Arm, c Column, by Tests) Delta {
	own, theirs := Beside(a, base)
	return deltaOf(theirs, own, c, c.Cell, true, by)
}

func deltaOf(old, new []*ledger.Launch, c Column, cell string, alike bool, by Tests) Delta {
	d := Delta{Cell: cmp.Or(c.Cell, cell), Metric: c.Metric, Stat: c.Stat}
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
			d.Unit, d.Better = s.Unit, s.Better
			side.to.Values = append(side.to.Values, v)
			if !slices.Contains(corrections, s.Correction) {
				corrections = append(corrections, s.Correction)
			}
		}
		side.to.average()
	}
	apart := verdict.Reason{}
	if c.Cell == "" {
		apart = sentApart(old, new, cell)
	}
	switch t := by.decided(old, new, c.Address(cell), c.Stat); {
	case !apart.IsZero():
		d.Why = apart
	case len(corrections) > 1:
		d.Why = verdict.New(code.MeasuredApart).On(cell)
	case lacking || d.Old.N() == 0 || d.New.N() == 0:
		d.Why = verdict.New(code.LackingSomewhere)
	case t != nil:
		d.Change, d.Low, d.High = changeBy(t)
		if d.Decided = min(len(t.Values), len(t.Base)); len(t.Looks) > 0 {
			d.Decided = t.Looks[len(t.Looks)-1].N
		}
	default:
		d.compare(alike)
	}
	return d
}

// Tests are tests of how arms differ, by the first launch of the first arm, in the order in
// which they are asked about a metric.
type Tests map[string][]*verdict.Test

// TestsOf are those of everything on record.
func TestsOf(st *store.Store) Tests { return tests(compared(st)...) }

// tests are those of features before those of gates, the newest first, and of one decision
// those of the rule that decided it first.
func tests(decisions ...*ledger.Decision) Tests {
	out := Tests{}
	add := func(rules ...ledger.Rule) {
		for _, r := range rules {
			for _, c := range r.Comparisons {
				out.add(c.Test)
			}
		}
	}
	for _, gates := range []bool{false, true} {
		for _, d := range slices.Backward(decisions) {
			if gates != (d.Kind == ledger.KindGate) {
				continue
			}
			if r := Deciding(d); r != nil {
				add(*r)
			}
			add(d.Rules...)
			for _, alt := range d.Alternatives {
				add(alt.Rules...)
			}
		}
	}
	return out
}

// TestsBy are one test, which may be nil.
func TestsBy(t *verdict.Test) Tests {
	out := Tests{}
	out.add(t)
	return out
}

func (ts Tests) add(t *verdict.Test) {
	if t != nil && t.Relative() && t.Estimate != nil && t.Low != nil && t.High != nil && len(t.Launches) > 0 && len(t.BaseLaunches) > 0 {
		ts[t.Launches[0]] = append(ts[t.Launches[0]], t)
	}
}

// decided is the test by which a rule decided how a metric of these launches differs; nil
// if no rule did.
func (ts Tests) decided(old, new []*ledger.Launch, address, stat string) *verdict.Test {
	for _, l := range new {
		for _, t := range ts[l.ID] {
			if t.Metric == address && t.Stat == stat && slices.ContainsFunc(old, func(l *ledger.Launch) bool { return l.ID == t.BaseLaunches[0] }) {
				return t
			}
		}
	}
	return nil
}

// changeBy is the estimate of a test and its bounds, as the change of the metric's own
// number: a gain of one that is better if lower has the other sign.
func changeBy(t *verdict.Test) (change, low, high *float64) {
	if !t.Saved {
		return t.Estimate, t.Low, t.High
	}
	negated := func(x *float64) *float64 {
		y := -*x
		return &y
	}
	return negated(t.Estimate), negated(t.High), negated(t.Low)
}

// Deciding is the rule of a decision that decided its verdict: of those with that verdict
// the first that was tested, or else the first; nil if none has it.
func Deciding(d *ledger.Decision) (of *ledger.Rule) {
	for i, r := range d.Rules {
		switch {
		case !r.Decides && d.Kind != ledger.KindGate || r.Verdict != d.Verdict:
		case slices.ContainsFunc(r.Comparisons, func(c verdict.Comparison) bool { return c.Test != nil && c.Test.Form != verdict.Exact }):
			return &d.Rules[i]
		case of == nil:
			of = &d.Rules[i]
		}
	}
	return of
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
