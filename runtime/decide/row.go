package decide

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// rowsRead are the rows of comparisons that the gate of a phase reads, each once.
func rowsRead(ph *plans.Phase) (rows []*plans.Row) {
	for _, in := range inputs(ph.Gate.Rules) {
		if in.Row != nil && !slices.ContainsFunc(rows, func(r *plans.Row) bool { return *r == *in.Row }) {
			rows = append(rows, in.Row)
		}
	}
	return rows
}

// stepOf is the node that a row belongs to.
func stepOf(row *plans.Row) string {
	if *row == plans.BaselineRow {
		return runtime.BaselineID
	}
	return runtime.StepID(row.Phase, row.Kind(), row.Step)
}

// row is what a phase's gate may read of a row, and the launches that it rests on.
func (v *View) row(ph *plans.Phase, row *plans.Row) (ev gates.Feature, launches []string, err error) {
	ev = gates.Feature{Name: row.Key(), Candidate: gates.Arm{Name: row.Engine}, Root: gates.Arm{Name: ledger.Baseline}}
	d := v.Outcome(stepOf(row))
	switch {
	case d == nil:
		ev.Broken, ev.Cause = verdict.Invalid,
			verdict.New(code.StepNotRun).On(row.Kind()+" "+row.Step).From(v.LockedBy(stepOf(row)))
	case row.OfNumbers():
		launches, err = v.numbers(row, d, &ev)
	default:
		launches, err = v.compared(ph, row, d, &ev)
	}
	return ev, launches, err
}

// numbers adds what a step found in its latest run, or levels of the baseline. A step
// that did not pass has none.
func (v *View) numbers(row *plans.Row, d *ledger.Decision, ev *gates.Feature) (launches []string, err error) {
	if ev.Candidate.Name = ""; d.Verdict != verdict.Pass {
		ev.Broken, ev.Cause = Broken(d)
		return nil, nil
	}
	for _, id := range d.Launches {
		l, ok := v.launch(id)
		if !ok {
			return nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(id)}
		}
		if l.Purpose == ledger.ForStep || *row == plans.BaselineRow && l.Purpose == ledger.ForQualification {
			ev.Candidate.Name, ev.Candidate.Qualified = l.Variant, Measured(l)
			launches = append(launches, id)
		}
	}
	return launches, nil
}

// compared adds the launches of a row and of the reference, which ran in parallel with them in one
// session. A row that broke, or whose reference did, has none, and is not a pass.
func (v *View) compared(ph *plans.Phase, row *plans.Row, d *ledger.Decision, ev *gates.Feature) (rests []string,
	err error,
) {
	own := slices.IndexFunc(d.Rows, func(r verdict.Row) bool { return r.Name == row.Engine })
	reference := slices.IndexFunc(d.Rows, func(r verdict.Row) bool { return r.Reference })
	if own < 0 || reference < 0 {
		ev.Broken, ev.Cause = Broken(d)
		return nil, nil
	}
	ev.Parent.Name, ev.Session = d.Rows[reference].Name, d.Session
	if slices.ContainsFunc(inputs(ph.Gate.Rules), func(in *plans.Input) bool {
		return in.Row != nil && *in.Row == *row && in.OfLevel()
	}) {
		if rests, err = v.rowLevels(d, ev); err != nil {
			return nil, err
		}
	}
	for _, r := range []verdict.Row{d.Rows[reference], d.Rows[own]} {
		if r.Verdict != verdict.Pass {
			ev.Broken, ev.Cause = r.Verdict, verdict.New(code.Outcome).On(r.Name).Is(r.Verdict).From(r.Why)
			return rests, nil
		}
	}
	a := Arms{Candidate: Arm{Name: ev.Candidate.Name}, Parent: Arm{Name: ev.Parent.Name}}
	var launches []*ledger.Launch
	for _, id := range d.Launches {
		l, ok := v.launch(id)
		if !ok {
			return nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(id)}
		}
		if l.Session != d.Session || l.Purpose != ledger.ForBenchmark {
			continue
		}
		launches = append(launches, l)
		for _, arm := range []*Arm{&a.Candidate, &a.Parent} { // the same for the reference against itself
			if arm.Name == l.Variant {
				arm.Key = l.VariantKey
			}
		}
	}
	f := &plans.Feature{Name: row.Key()}
	m := NewRow(f, a, slices.Compact([]string{a.Parent.Key, a.Candidate.Key}), 0)
	used := m.DecidingLaunches(launches)
	// Launches of rounds that ran side by side are recorded in the order in which they ended.
	slices.SortStableFunc(used, func(a, b *ledger.Launch) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	// All cells of a matrix are tried together, so one of them tells how often.
	v.addLaunches(ev, a, f, used)
	ev.Max = len(ev.Candidate.Launches)
	for _, l := range used {
		rests = append(rests, l.ID)
	}
	return rests, nil
}

// rowLevels adds what levels found about a row and about the reference, and returns the launches
// that they ran in.
func (v *View) rowLevels(d *ledger.Decision, ev *gates.Feature) (launches []string, err error) {
	ev.Levels = map[string]verdict.Verdict{}
	for _, l := range d.Levels {
		for _, arm := range []*gates.Arm{&ev.Parent, &ev.Candidate} { // the same for the reference against itself
			level, own := strings.CutPrefix(l.Name, arm.Name+"/")
			if own && arm == &ev.Candidate {
				ev.Levels[level] = l.Verdict
			}
			if !own || l.Launch == "" {
				continue
			}
			launch, ok := v.launch(l.Launch)
			if !ok {
				return nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(l.Launch)}
			}
			if arm.Qualified = Measured(launch); !slices.Contains(launches, l.Launch) {
				launches = append(launches, l.Launch)
			}
		}
	}
	return launches, nil
}
