package rules

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// matrix resolves what a gate reads from a matrix: matrix.<step>["<knob>=<value>"].… of a
// cell, matrix.<step>.best.… of the best cell by the metric that follows, and
// matrix.<step>.effect["<knob>=<value>"].… of the effect of a value, or of two together.
func (ns *Namespace) matrix(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	if sc.Criterion {
		return nil, Wrong("whose-value", "Criterion reads a matrix", "A criterion can only read its own feature. Move this rule to the gate of a phase, which can read a matrix.")
	}
	ph, step, err := ns.comparison(plans.MatrixStep, "<knob>=<value>", path, sc)
	if err != nil {
		return nil, err
	}
	m := &plans.Matrix{}
	if err := step.Decode(m); err != nil || ns.plan.Baseline == nil {
		return nil, Wrong("invalid-address", "Invalid matrix", "Step %q has errors: fix it first.", step.Name)
	}
	row := &plans.Row{Phase: ph.Name, Step: step.Name, Of: step.Kind}
	rest := path[2:]
	if len(rest) > 0 {
		switch pick := plans.Pick(rest[0]); pick {
		case plans.PickBest, plans.PickEffect:
			row.Pick, rest = pick, rest[1:]
		}
	}
	if row.Pick != plans.PickBest && len(rest) > 0 {
		if row.Engine, err = ns.cell(m, step, row.Pick, rest[0]); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, Wrong("invalid-address", "Incomplete address", "Write matrix.%[1]s.best.<workload>.tg.gain, or with a cell or an effect in place of best: matrix.%[1]s[\"<knob>=<value>\"], matrix.%[1]s.effect[\"<knob>=<value>\"].", step.Name)
	}
	if err := decidable(step, m.Launches); err != nil {
		return nil, err
	}
	in.Row, in.Feature = row, strings.TrimSuffix(in.Path, "."+strings.Join(rest, "."))
	if in, err = ns.ofRow(in, step, ns.plan.Baseline.Engine, rest); err != nil {
		return nil, err
	}
	better := measure.Better(in.Better)
	switch {
	case in.Against != plans.Parent:
		return nil, Wrong("invalid-address", "No other arm in a matrix", "Cells of a matrix are always compared with the baseline; remove %s.", in.Against.Suffix())
	case row.Pick == "":
	case in.Exact() || in.Once() || better != measure.Higher && better != measure.Lower:
		return nil, Wrong("undecidable-comparison", "Metric has no best and no effect", "The %s needs a metric with launch-to-launch variance and a better direction; %s lacks one. Read it from a cell: matrix.%s[\"<knob>=<value>\"].", row.Pick, in.LaunchAddress(), step.Name)
	case row.Pick == plans.PickEffect && !in.Ratio():
		return nil, Wrong("invalid-address", "Not a change", "An effect is a ratio: append .gain or .change to %s.", in.Path)
	case in.Relation == plans.Base:
		return nil, Wrong("rule-reads-nothing", "The baseline's own value", "The base of every cell is the baseline. Use .gain, or the cell's own value.")
	}
	if row.Pick != "" {
		if row.Address, row.Stat = in.LaunchAddress(), in.Stat; row.Stat == "p50" {
			row.Stat = "median"
		}
	}
	in.Feature = row.Key()
	return in, nil
}

// cell is the name of a combination that a matrix has, or of values whose effect it can
// tell.
func (ns *Namespace) cell(m *plans.Matrix, step *plans.Block, pick plans.Pick, given string) (string, *Error) {
	cells, left, err := ns.plan.MatrixCells(m)
	if err != nil {
		return "", Wrong("invalid-address", "Invalid matrix", "Step %q: %v.", step.Name, err)
	}
	names := plans.Names(cells, func(c plans.MatrixCell) string { return c.Name })
	if len(names) == 0 {
		return "", Wrong("unknown-reference", "Unknown cell", "Step %q has no cells to read.", step.Name)
	}
	set, ok := plans.SetOf(given)
	if !ok {
		return "", Wrong("unknown-reference", "Unknown cell", "A cell is named by its values, such as %q, in quotes and brackets; %q is not a cell.", names[0], given)
	}
	name := ns.plan.SetName(set)
	if pick == plans.PickEffect && len(set) <= 2 && len(name) == len(given) {
		has := func(of map[string]string) bool {
			return slices.ContainsFunc(cells, func(c plans.MatrixCell) bool { return contains(c.Set, of) })
		}
		if has(set) {
			return name, nil
		}
		var values []string
		for _, c := range cells {
			for knob, value := range c.Set {
				values = append(values, knob+"="+value)
			}
		}
		slices.Sort(values)
		return "", Wrong("unknown-reference", "Unknown effect", "No cell of step %q has %s. An effect is that of one value other than the baseline's, or of two that occur in one cell. Values: %s.", step.Name, given, strings.Join(slices.Compact(values), ", "))
	}
	if len(name) == len(given) && slices.Contains(names, name) {
		return name, nil
	}
	hint := lang.DidYouMean(given, names)
	if left > 0 {
		hint += " max_launches left out some cells."
	}
	return "", Wrong("unknown-reference", "Unknown cell", "Step %q has no cell %s; it has %s. A cell's name lists the values that differ from the baseline's.%s", step.Name, given, listed(names), hint)
}

// contains reports whether a combination has all of some values.
func contains(set, of map[string]string) bool {
	for knob, value := range of {
		if set[knob] != value {
			return false
		}
	}
	return true
}
