package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Comparison is one metric on two sides: before, after, and the difference. It compares
// launches, never requests. It decides nothing.
type Comparison struct {
	// Column is with its cell, which is "engine" for what a launch has once.
	Column
	Unit   string         `json:"unit,omitempty"`
	Better measure.Better `json:"better,omitempty"`
	Old    Sample         `json:"old"`
	New    Sample         `json:"new"`
	// Comparison is the change with its 95% interval. If a rule decided by this change,
	// estimate, bounds and both sides are that decision's, there is no P, and Decided is on
	// how many launches of each side it was, of those that there are.
	stats.Comparison
	Decided int `json:"decided,omitempty"`
	of      int
	// Why is why there is no change: the sides cannot be compared in this.
	Why verdict.Reason `json:"why,omitzero"`
}

// Comparisons are the headline metrics of two sides, cell by cell in sending order,
// including those that only one side has. alike is false if the launches ran on different
// machines: then there is a change without bounds, as launches show how one machine varies.
// by are the tests of rules that may have decided one of the changes.
func Comparisons(old, new []*ledger.Launch, alike bool, by Tests) (all []Comparison) {
	for _, c := range Columns(slices.Concat(old, new)) {
		if d := compare(old, new, c, alike, by); d.Old.N()+d.New.N() > 0 {
			all = append(all, d)
		}
	}
	return all
}

// Compare is how one metric of an arm differs from another arm's of its session, by the
// launches that ran side by side.
func Compare(a, base *Arm, c Column, by Tests) Comparison {
	own, theirs := pairedLaunches(a, base)
	return compare(theirs, own, c, true, by)
}

// compare is the only function that compares a metric of two sides.
func compare(old, new []*ledger.Launch, c Column, alike bool, by Tests) Comparison {
	address, all := c.Address(), slices.Concat(old, new)
	d := Comparison{Column: c}
	d.Old, _ = sampleOf(old, address, c.Stat)
	d.New, _ = sampleOf(new, address, c.Stat)
	d.Unit, d.Better = cmp.Or(d.New.Unit, d.Old.Unit), cmp.Or(d.New.Better, d.Old.Better)
	was, wasSent := runOf(old, c.Cell)
	is, isSent := runOf(new, c.Cell)
	sent := wasSent && isSent // else it is no workload, or nothing is known of it
	switch t := by.decided(old, new, address, c.Stat); {
	case sent && Sent(old, c.Cell) != Sent(new, c.Cell):
		d.Why = verdict.Say("compare.sent", "not compared in {subject}: it was sent {was} and {is}",
			verdict.Text("was", Sent(old, c.Cell)), verdict.Text("is", Sent(new, c.Cell))).On(c.Cell)
	case sent && (was.ExactOutput != is.ExactOutput || was.ByEvents != is.ByEvents):
		d.Why = verdict.New(code.MeasuredApart).On(c.Cell)
	case d.Old.N()+d.New.N() < len(all) || len(old) == 0 || len(new) == 0:
		d.Why = verdict.Say("compare.lacking", "not every launch has it") // the missing one might have been the bad one
	case t != nil:
		d.Change, d.Low, d.High = t.Change()
		d.Decided, d.of = cmp.Or(t.N(), min(len(t.Values), len(t.Base))), min(d.Old.N(), d.New.N())
		d.Old, d.New = d.Old.first(d.Decided), d.New.first(d.Decided)
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

// Tests are tests of how arms differ, by the first launch of the first arm, in the order in
// which they are asked about a metric.
type Tests map[string][]*verdict.Test

// tests are those of features before those of gates, the newest first, and of one decision
// those of the rule that decided it first.
func tests(decisions ...*ledger.Decision) Tests {
	out := Tests{}
	add := func(rules ...verdict.Rule) {
		for _, r := range rules {
			for _, c := range r.Comparisons {
				out.add(c.Test)
			}
		}
	}
	for _, ofGates := range []bool{false, true} {
		for _, d := range slices.Backward(decisions) {
			if ofGates != (d.Kind == ledger.KindGate) {
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
			if t.Metric == address && t.Stat == stat &&
				slices.ContainsFunc(old, func(l *ledger.Launch) bool { return l.ID == t.BaseLaunches[0] }) {
				return t
			}
		}
	}
	return nil
}

// Deciding is the rule of a decision that decided its verdict: of those with that verdict
// the first that was tested, or else the first; nil if none has it. Of an inconclusive one a test that is
// open comes before one that was decided, whose verdict something else withdraws.
func Deciding(d *ledger.Decision) (of *verdict.Rule) {
	most := 0
	for i, r := range d.Rules {
		if !r.Decides && d.Kind != ledger.KindGate || r.Verdict != d.Verdict {
			continue
		}
		rank := 1
		for _, c := range r.Comparisons {
			switch t := c.Test; {
			case t == nil || t.Form == verdict.Exact:
			case c.Verdict == verdict.Inconclusive && t.Note.IsZero() && t.Stop != stats.Passed &&
				t.Stop != stats.Failed:
				rank = 3
			default:
				rank = max(rank, 2)
			}
		}
		if rank > most {
			most, of = rank, &d.Rules[i]
		}
	}
	return of
}

// DecidingTest is the test of that rule; nil if none decided.
func DecidingTest(d *ledger.Decision) *verdict.Test {
	if r := Deciding(d); r != nil {
		if c := r.Deciding(); c != nil {
			return c.Test
		}
	}
	return nil
}

func runOf(launches []*ledger.Launch, cell string) (run measure.CellRun, sent bool) {
	for _, l := range launches {
		for _, c := range l.Cells {
			if c.Of() == cell {
				return c, true
			}
		}
	}
	return run, false
}

// ComparisonTable formats metrics of two sides as benchstat does: name, both means, the change
// with its bounds, p, and the number of launches.
func ComparisonTable(all []Comparison, oldName, newName string) Table {
	t := Table{Head: []string{"metric", oldName, newName, "change", "p", "n"}}
	for _, d := range all {
		p, n := "–", strconv.Itoa(d.Old.N())
		if d.P != nil {
			p = verdict.P(*d.P)
		}
		if d.Old.N() != d.New.N() {
			n += "+" + strconv.Itoa(d.New.N())
		}
		t.Rows = append(t.Rows, []string{d.name(), d.Old.Bare(), d.New.Bare(), d.ChangeText(), p, n})
	}
	return t
}

// name is "chat tg (tok/s)", with the statistic if that is not the usual one.
func (d Comparison) name() string {
	name := strings.TrimSpace(d.Cell + " " + d.Metric)
	if d.Stat != "median" && d.Stat != "mean" {
		name += " " + d.Stat
	}
	return head(name, d.Unit)
}

// ChangeText is the change with its bounds, in [ ] those by which a rule decided, prefixed by "~" if the
// launches do not show it; "–" without one.
func (d Comparison) ChangeText() string { return cmp.Or(d.bounded(false, false), "–") }

// by says that both sides and the change are of fewer launches than there are, behind a separator.
func (d Comparison) by(separator string) string {
	return verdict.Behind(separator, verdict.ByFirst(d.Decided, d.of))
}

// Brief is ChangeText without bounds: "+34% better", "12× better", "87% less time", "~ -2.1%".
func (d Comparison) Brief() string {
	if d.Change == nil {
		return "–"
	}
	if text, _, _, fell := d.less(false); fell {
		return text // is better
	}
	return d.judged(d.Amount())
}

// Amount is the change alone: "+34%", "12×", "87% less time", or "+3 GB" of an absolute one.
func (d Comparison) Amount() string {
	switch text, _, _, fell := d.less(false); {
	case fell:
		return text
	case !d.Absolute:
		return verdict.Faster(*d.Change)
	}
	return map[bool]string{true: "+"}[*d.Change > 0] + verdict.Short(*d.Change, d.Unit)
}

// FromTo is both means, "29 → 34 tok/s", or the one that there is.
func (d Comparison) FromTo() string {
	was, is := d.Old.Brief(), d.New.Brief()
	if d.Old.N() == 0 {
		return is
	}
	if d.Unit != "" && strings.HasSuffix(is, d.Unit) {
		was = strings.TrimSuffix(was, " "+d.Unit)
	}
	return was + " → " + is
}

// Edge is how large a change is at least, or at most; empty without bounds.
func (d Comparison) Edge() string {
	if d.Low == nil || d.High == nil {
		return ""
	}
	switch _, least, _, fell := d.less(false); {
	case fell:
		return "at least " + least
	case *d.Change > 0:
		return "at least " + verdict.AtLeast(*d.Low, "ratio")
	}
	return "at most " + verdict.AtMost(*d.High, "ratio")
}

// judged is a change with what it means: better or worse only if its bounds exclude none.
func (d Comparison) judged(change string) string {
	switch {
	case d.Low != nil && !d.Significant():
		return "~ " + change
	case !d.Significant() || d.Better == measure.Neither || d.Better == "":
		return change
	case *d.Change > 0 == (d.Better == measure.Higher):
		return change + " better"
	}
	return change + " worse"
}

// ComparisonNotes are what the table leaves out, each cause once, and how to read it.
func ComparisonNotes(all []Comparison) (notes []string) {
	tested := 0
	for _, d := range all {
		if d.P != nil {
			tested++
		}
		if d.Why.IsZero() {
			continue
		}
		line := verdict.Sentence(d.Why)
		if d.Why.Subject == "" {
			line = fmt.Sprintf("%s not compared: %s.", d.name(), d.Why.String())
		}
		if !slices.Contains(notes, line) {
			notes = append(notes, line)
		}
	}
	if tested > 0 {
		notes = append(notes,
			fmt.Sprintf(
				"Welch's t-test on launches (logs), two-sided, each of the %d metrics by itself: one in 20 unchanged "+
					"metrics has p ≤ 0.05. Means are geometric for speeds, times and sizes; ± is the standard "+
					"deviation "+
					"over launches (of logs, times the mean). [ ] are the bounds by which a rule decided, ( ) a 95%% "+
					"interval, rounded outward. ~ marks changes that are not significant. No verdict is based on this "+
					"table.", tested))
	}
	return notes
}

// Decided puts the estimate and the bounds of a decision on the changes by which one of its
// rules was decided.
func Decided(d *ledger.Decision, all []gates.Movement) []gates.Movement {
	e := EvidenceOf(d)
	if len(e.Candidate.Launches) == 0 {
		return all
	}
	decided := tests(d)[e.Candidate.Launches[0].ID]
	for i, m := range all {
		for _, t := range decided {
			if t.Against == e.Parent.Name &&
				(t.Metric == m.Metric && t.Stat == "median" || t.Metric+"."+t.Stat == m.Metric) {
				all[i].Change, all[i].Low, all[i].High = t.Change()
				all[i].Decided = true
				break
			}
		}
	}
	return all
}
