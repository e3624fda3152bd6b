package decide

import (
	"cmp"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// RowsRead are the rows of comparisons that the gate of a phase reads, each once.
func RowsRead(ph *plans.Phase) (rows []*plans.Row) {
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

// numbers is what a phase's gate may read of a step that finds numbers: those of its
// latest run; or what levels found of the baseline. A step that did not pass has none.
func (v *View) numbers(row *plans.Row, d *ledger.Decision) (*gates.Feature, *ledger.Decision, error) {
	ev, out := &gates.Feature{}, &ledger.Decision{}
	if d.Verdict != verdict.Pass {
		ev.Broken, ev.Cause = Broken(d)
		return ev, out, nil
	}
	for _, id := range d.Launches {
		l, ok := v.launch(id)
		if !ok {
			return nil, nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(id)}
		}
		if l.Purpose != ledger.ForStep && (*row != plans.BaselineRow || l.Purpose != ledger.ForQualification) {
			continue
		}
		g := Measured(l)
		ev.Candidate.Name, ev.Candidate.Qualified = l.Variant, &g
		out.Launches = append(out.Launches, id)
	}
	return ev, out, nil
}

// row is what a phase's gate may read of a row, and its source: its launches against
// those of the reference, which ran beside them in one session. A row that broke, or
// whose reference did, has none, and is not a pass.
func (v *View) row(ph *plans.Phase, row *plans.Row) (*gates.Feature, *ledger.Decision, error) {
	ev, out := &gates.Feature{}, &ledger.Decision{}
	ev.Candidate.Name = row.Engine
	d := v.Outcome(stepOf(row))
	if d == nil {
		ev.Broken, ev.Cause = verdict.Invalid, verdict.New(code.StepNotRun).On(row.Kind()+" "+row.Step).From(v.LockedBy(stepOf(row)))
		return ev, out, nil
	}
	if row.Finds() {
		return v.numbers(row, d)
	}
	own := slices.IndexFunc(d.Rows, func(r verdict.Row) bool { return r.Name == row.Engine })
	reference := slices.IndexFunc(d.Rows, func(r verdict.Row) bool { return r.Reference })
	if own < 0 || reference < 0 {
		ev.Broken, ev.Cause = Broken(d)
		return ev, out, nil
	}
	ev.Parent.Name, out.Session = d.Rows[reference].Name, d.Session
	var arms [2]gates.Arm // the reference and its own
	for i, r := range []verdict.Row{d.Rows[reference], d.Rows[own]} {
		if arms[i].Name = r.Name; r.Verdict != verdict.Pass {
			ev.Broken, ev.Cause = r.Verdict, verdict.New(code.Outcome).On(r.Name).Is(r.Verdict).From(r.Why)
			return ev, out, nil
		}
	}
	var variants []string
	work, keys := "", map[string]string{}
	for _, id := range d.Launches {
		l, ok := v.launch(id)
		if !ok {
			return nil, nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(id)}
		}
		if l.Session != d.Session || l.Purpose != ledger.ForBenchmark {
			continue
		}
		for i := range arms {
			if arms[i].Name == l.Variant {
				arms[i].Launches = append(arms[i].Launches, Measured(l))
				variants, work, keys[l.Variant] = append(variants, l.VariantKey), l.Work, l.VariantKey
				if !slices.Contains(out.Launches, id) {
					out.Launches = append(out.Launches, id)
				}
			}
		}
	}
	for _, arm := range arms {
		// Launches of rounds that ran side by side are recorded in the order in which
		// they ended.
		slices.SortStableFunc(arm.Launches, func(a, b gates.Launch) int { return cmp.Compare(a.Round, b.Round) })
	}
	// For the reference against itself a rule reads its own values.
	ev.Parent, ev.Candidate = arms[0], arms[1]
	ev.Max = len(ev.Candidate.Launches)
	// All cells of a matrix are tried together, so one of them tells how often.
	ev.Try = Tries(v.records(), arms[1].Name, keys[arms[1].Name], keys[arms[0].Name], d.Session, work)
	if v.Records != nil && ph.Gate != nil {
		rules := slices.DeleteFunc(slices.Clone(ph.Gate.Rules), func(r *plans.Rule) bool { return !Reads([]*plans.Rule{r}, row.Key()) })
		ev.Noise = Noise(NoiseBefore(v.Records(), d.Session, work, variants...), NoiseKeys(rules), variants)
	}
	return ev, out, nil
}
