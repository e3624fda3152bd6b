package report

import (
	"cmp"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// row is where the values of a line come from.
type row struct {
	Line
	// own are the launches, base those that they are compared with; port is set for a variant of
	// the plan's own engine.
	own, base *Arm
	port      *Port
	// levels are the launches in which levels found numbers, words what became of levels.
	levels, baseLevels *ledger.Launch
	words              map[string]string
	// cells are what a comparison recorded: a command's metric is there under the column that the
	// plan maps it to. rounds is set if it compares within rounds.
	cells, baseCells []verdict.Cell
	rounds           bool
	// reference is set for the row that others of a comparison are compared with.
	reference bool
	// numbers are those of a target.
	numbers map[Column]ledger.Target
}

// launches are those that have a column's value: of the arm, or the one that levels ran in.
func launches(a *Arm, levels *ledger.Launch, c Column) []*ledger.Launch {
	switch {
	case strings.HasPrefix(c.Address(), plans.FoundRoot):
		if levels == nil {
			return nil
		}
		return []*ledger.Launch{levels}
	case a == nil:
		return nil
	}
	return a.Launches
}

// value is a column's in a row: the only function that gives one.
func (r row) value(c Shown, s *Summary) (v Value) {
	// What levels found is no less true of a row that does not count.
	found := strings.HasPrefix(c.Address(), plans.FoundRoot) || c.Input != nil && c.Input.Type != plans.NumberInput
	v.Marked = r.own != nil && r.own.Uncounted != "" && !found
	if in := c.Input; in != nil && in.Type != plans.NumberInput {
		v.Word = r.word(in)
		return v
	}
	byAddress := func(a, b Column) int {
		return cmp.Or(cmp.Compare(a.Address(), b.Address()), cmp.Compare(a.Stat, b.Stat))
	}
	for of, t := range sorted.By(r.numbers, byAddress) {
		if of.same(c.Column) {
			v.New.Values, v.New.Mean, v.planned = []float64{t.Value}, t.Value, true
			v.Unit, v.Better = t.Unit, measure.Better(t.Better)
		}
	}
	if r.numbers != nil {
		return v
	}
	relation, base, levels, cells := plans.Own, r.base, r.baseLevels, r.baseCells
	if c.Input != nil {
		if relation = c.Input.Relation; c.Input.Against == plans.Root && r.port != nil {
			base, levels, cells = r.port.Root, nil, nil
			if base == nil && r.port.Parent != nil && r.port.Parent.Variant == ledger.Baseline {
				base = r.port.Parent
			}
		}
	}
	own, beside := launches(r.own, r.levels, c.Column), launches(base, levels, c.Column)
	if r.own != nil && base != nil && len(own) > 1 && r.own.Session == base.Session {
		own, beside = pairedLaunches(r.own, base)
	}
	v.Comparison = compare(beside, own, c.Column, true, s.tests)
	if _, whole := sampleOf(own, c.Address(), c.Stat); !whole { // a mean over some of the launches is another mean
		v.New.Sample = stats.Sample{}
	}
	if _, whole := sampleOf(beside, c.Address(), c.Stat); !whole {
		v.Old.Sample = stats.Sample{}
	}
	for _, side := range []struct {
		to *Sample
		of []verdict.Cell
	}{{&v.New, r.cells}, {&v.Old, cells}} {
		if cell := cellOf(side.of, c.Address()); cell != nil && side.to.N() == 0 {
			side.to.Sample, v.Unit, v.Better = cell.Sample, cell.Unit, measure.Better(cell.Better)
			v.Why, v.Change = verdict.Reason{}, nil
		}
	}
	if v.Change == nil && v.Why.IsZero() && v.New.N() > 0 && v.Old.N() > 0 {
		v.Comparison.Comparison = between(v.New.Values, v.Old.Values, r.rounds)
	}
	if v.Root = ""; r.port != nil && r.own.Uncounted == "" {
		ofBaseline := r.port.Parent != nil && r.port.Parent.Variant == ledger.Baseline // whose change is the value's
		if change, ok := r.port.fromBaseline(c.Column, len(s.ports)); ok && !ofBaseline {
			v.Root = "≈ " + verdict.Faster(change)
			if r.port.Root != nil {
				v.Root = Compare(r.port.Arm, r.port.Root, c.Column, s.tests).Brief()
			}
		}
	}
	measured := v.New.N() > 0
	if v.relate(relation); v.alone && r.reference && measured {
		v.Word = "1×"
	}
	if v.Marked {
		v.Change, v.Low, v.High = nil, nil, nil
	}
	return v
}

// word is a level's verdict, or what the engine reports about itself, in all launches that do.
func (r row) word(in *plans.Input) string {
	switch in.Kind {
	case plans.InputLevel:
		if word := r.words[plans.FoundRoot+in.Name]; word != "" || r.levels == nil {
			return word
		}
		for _, l := range r.levels.Levels {
			if l.Name == in.Name {
				return string(l.Verdict)
			}
		}
	case plans.InputKnob:
		if r.own != nil {
			return r.own.Launches[0].Knobs[in.Name]
		}
	case plans.InputObserved:
		all := launches(r.own, r.levels, Column{})
		if in.Words != "" && r.levels != nil {
			all = []*ledger.Launch{r.levels}
		}
		return strings.Trim(Distinct(all, func(l *ledger.Launch) string {
			if o, seen := l.Observed[in.Name]; seen {
				return o.String()
			}
			return ""
		}), `"`)
	}
	return ""
}
