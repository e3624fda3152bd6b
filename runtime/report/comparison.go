package report

import (
	"cmp"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Comparison is one metric on two sides: before, after, and the difference. It compares
// launches, never requests. It decides nothing.
type Comparison struct {
	// Cell and Metric address it, Stat is the statistic of each launch: "chat.c16",
	// "ttft", "p99". Cell is "engine" for what a launch has once.
	Cell   string         `json:"cell"`
	Metric string         `json:"metric"`
	Stat   string         `json:"stat"`
	Unit   string         `json:"unit,omitempty"`
	Better measure.Better `json:"better,omitempty"`
	Old    Sample         `json:"old"`
	New    Sample         `json:"new"`
	// Comparison is the change with its 95% interval. If a rule decided by this change,
	// estimate and bounds are that decision's, there is no P, and Decided is on how many
	// launches of each side it was.
	stats.Comparison
	Decided int `json:"decided,omitempty"`
	// Why is why there is no change: the sides cannot be compared in this.
	Why verdict.Reason `json:"why,omitzero"`
}

// Improves reports whether a change is for the better; known is false for a metric without
// a better direction.
func (c Comparison) Improves() (better, known bool) {
	if c.Change == nil || c.Better == measure.Neither {
		return false, false
	}
	return *c.Change > 0 == (c.Better == measure.Higher), true
}

// Comparisons are the headline metrics of two sides, cell by cell in sending order,
// including those that only one side has. alike is false if the launches ran on different
// machines: then there is a change without bounds, as launches show how one machine varies.
// by are the tests of rules that may have decided one of the changes.
func Comparisons(old, new []*ledger.Launch, alike bool, by Tests) (all []Comparison) {
	for _, g := range Groups(slices.Concat(old, new)) {
		for _, cell := range g.Cells {
			for _, c := range g.Columns {
				if d := compare(old, new, c, cell, alike, by); d.Old.N()+d.New.N() > 0 {
					all = append(all, d)
				}
			}
		}
	}
	return all
}

// Compare is how one metric of an arm differs from another arm's of its session, by the
// launches that ran side by side.
func Compare(a, base *Arm, c Column, by Tests) Comparison {
	own, theirs := Beside(a, base)
	return compare(theirs, own, c, c.Cell, true, by)
}

// compare is the only function that compares a metric of two sides.
func compare(old, new []*ledger.Launch, c Column, cell string, alike bool, by Tests) Comparison {
	address, all := c.Address(cell), slices.Concat(old, new)
	d := Comparison{Cell: cmp.Or(c.Cell, cell), Metric: c.Metric, Stat: c.Stat}
	d.Old, _ = sampleOf(old, address, c.Stat)
	d.New, _ = sampleOf(new, address, c.Stat)
	d.Unit, d.Better = cmp.Or(d.New.Unit, d.Old.Unit), cmp.Or(d.New.Better, d.Old.Better)
	corrections := map[string]bool{}
	for _, l := range all {
		if s := l.Metrics[address]; has(s, c.Stat) {
			corrections[s.Correction] = true
		}
	}
	apart := verdict.Reason{}
	if c.Cell == "" {
		apart = sentApart(old, new, cell)
	}
	switch t := by.decided(old, new, address, c.Stat); {
	case !apart.IsZero():
		d.Why = apart
	case len(corrections) > 1:
		d.Why = verdict.New(code.MeasuredApart).On(cell)
	case d.Old.N()+d.New.N() < len(all) || len(old) == 0 || len(new) == 0:
		d.Why = verdict.Say("compare.lacking", "not every launch has it") // the missing one might have been the bad one
	case t != nil:
		d.Change, d.Low, d.High = t.Change()
		d.Decided = cmp.Or(t.N(), min(len(t.Values), len(t.Base)))
	default:
		between, err := stats.Compare(d.New.Values, d.Old.Values, false)
		if err != nil {
			d.Why = verdict.New(code.NoAverage, verdict.Err(err)).On(d.Cell + "." + d.Metric)
		}
		if d.Comparison = between; !alike {
			d.Low, d.High, d.P = nil, nil, nil
		}
	}
	return d
}

func has(s measure.Summary, stat string) bool {
	_, ok := s.Stats[stat]
	return ok
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
	if t.Bounded() && t.Relative() && len(t.Launches) > 0 && len(t.BaseLaunches) > 0 {
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

// sentApart is why the numbers of a cell are not of the same work; no fact if they are.
func sentApart(old, new []*ledger.Launch, cell string) verdict.Reason {
	was, wasSent := runOf(old, cell)
	is, isSent := runOf(new, cell)
	switch {
	case !wasSent || !isSent:
		return verdict.Reason{}
	case Sent(old, cell) != Sent(new, cell):
		return verdict.Say("compare.sent", "not compared in {subject}: it was sent {was} and {is}",
			verdict.Text("was", Sent(old, cell)), verdict.Text("is", Sent(new, cell))).On(cell)
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
