package rules

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// matrix resolves what a gate reads from a cell of a matrix:
// matrix.<step>["<knob>=<value>"].….
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
	if len(path) < 4 {
		return nil, Wrong("invalid-address", "Incomplete address", "Write a cell and its metric: matrix.%s[\"<knob>=<value>\"].<workload>.tg.gain.", step.Name)
	}
	cell, err := ns.cell(m, step, path[2])
	if err != nil {
		return nil, err
	}
	if err := decidable(step, m.Launches); err != nil {
		return nil, err
	}
	in.Row = &plans.Row{Phase: ph.Name, Step: step.Name, Engine: cell, Of: step.Kind}
	rest := path[3:]
	in.Feature = strings.TrimSuffix(in.Path, "."+strings.Join(rest, "."))
	if in, err = ns.ofRow(in, step, ns.plan.Baseline.Engine, rest); err != nil {
		return nil, err
	}
	switch {
	case in.Against != plans.Parent:
		return nil, Wrong("invalid-address", "No other arm in a matrix", "Cells of a matrix are always compared with the baseline; remove %s.", in.Against.Suffix())
	case in.Relation == plans.Base:
		return nil, Wrong("rule-reads-nothing", "The baseline's own value", "The base of every cell is the baseline. Use .gain, or the cell's own value.")
	}
	in.Feature = in.Row.Key()
	return in, nil
}

// cell is the name of a combination that a matrix has.
func (ns *Namespace) cell(m *plans.Matrix, step *plans.Block, given string) (string, *Error) {
	cells, err := ns.plan.MatrixCells(m)
	if err != nil {
		return "", Wrong("invalid-address", "Invalid matrix", "Step %q has %v.", step.Name, err)
	}
	names := plans.Names(cells, func(c plans.MatrixCell) string { return c.Name })
	if len(names) == 0 {
		return "", Wrong("unknown-reference", "Unknown cell", "Step %q has no cells to read.", step.Name)
	}
	set, ok := plans.SetOf(given)
	if !ok {
		return "", Wrong("unknown-reference", "Unknown cell", "A cell is named by its values, such as %q, in quotes and brackets; %q is not a cell.", names[0], given)
	}
	if name := ns.plan.SetName(set); len(name) == len(given) && slices.Contains(names, name) {
		return name, nil
	}
	return "", Wrong("unknown-reference", "Unknown cell", "Step %q has no cell %s; it has %s. A cell's name lists the values that differ from the baseline's.%s", step.Name, given, listed(names), lang.DidYouMean(given, names))
}
