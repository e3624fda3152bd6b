package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
)

// leastCompared and mostCompared are how many launches per engine a comparison needs for
// rules on its rows: those of the first look without recorded noise, and of the last that
// is calibrated.
const leastCompared, mostCompared = 4, 12

// step is the step that the second element of an address names, among those that fit, in
// the gate's phase or one before it.
func (ns *Namespace) step(path []string, sc *Scope, what string, fits func(*plans.Block) bool) (*plans.Phase,
	*plans.Block, *Error,
) {
	if sc.Criterion {
		return nil, nil, Wrong("whose-value", "Criterion reads a step",
			"A criterion can only read its own feature. Move this rule to the gate of a phase, which can read steps.")
	}
	name := ""
	if len(path) > 1 {
		name = path[1]
	}
	var names []string
	var of *plans.Phase
	var step *plans.Block
	for _, ph := range ns.plan.Phases {
		for _, b := range ph.Steps {
			if !fits(b) || !ns.before(sc, ph.Name) {
				continue
			}
			names = append(names, b.Name)
			if b.Name == name && step != nil {
				return nil, nil,
					Wrong("invalid-address", "Which step?",
						"Phases %s and %s each have a step called %q before this gate ends. Give them different names.",
						of.Name, ph.Name, name)
			}
			if b.Name == name {
				of, step = ph, b
			}
		}
	}
	if step == nil {
		lacks := "This phase and those before it have no step " + what + " called"
		err := unknown("unknown-reference", "Unknown step", lacks, name, names)
		err.Detail += " A step that fails already fails its phase."
		return nil, nil, err
	}
	return of, step, nil
}

// resultNamed is the number of that name among those that something finds.
func resultNamed(what string, finds []plans.LevelResult, name string) (plans.LevelResult, *Error) {
	if at := slices.IndexFunc(finds, func(n plans.LevelResult) bool { return n.Name == name }); at >= 0 {
		return finds[at], nil
	}
	names := plans.Names(finds, func(n plans.LevelResult) string { return n.Name })
	return plans.LevelResult{}, unknown("unknown-metric", "Unknown metric", what+" has no number", name, names)
}

// stepNumber resolves step.<name>.<number>: a number that a step measured, such as one
// printed by its program.
func (ns *Namespace) stepNumber(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	ph, step, err := ns.step(path, sc, "with numbers (an \"exec\" with metric blocks, or a \"matrix\")",
		func(b *plans.Block) bool { return len(b.Finds) > 0 })
	switch {
	case err != nil:
		return nil, err
	case len(path) != 3:
		return nil, incomplete("step."+step.Name+".<number>",
			plans.Names(step.Finds, func(n plans.LevelResult) string { return n.Name })...)
	}
	n, err := resultNamed(fmt.Sprintf("Step %q", step.Name), step.Finds, path[2])
	if err != nil {
		return nil, err
	}
	in.Row = &plans.Row{Phase: ph.Name, Step: step.Name, Of: step.Kind}
	in.Kind, in.Feature, in.Name, in.Metric, in.Stat = plans.InputFound, in.Row.Key(), step.Name, n.Name, "median"
	in.Unit, in.Of, in.Better = n.Unit, n.Unit, string(measure.Better(n.Better))
	return in, nil
}

// ofBaseline resolves baseline.levels.<level>.<number>: what the baseline's qualification
// launch found, by which a gate tells whether a port is worth the work.
func (ns *Namespace) ofBaseline(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	rest := path[1:]
	switch {
	case sc.Criterion:
		return nil,
			Wrong("whose-value", "Criterion reads the baseline",
				"A criterion can only read its own feature: write %s.base, or %[1]s.root if the baseline is not its "+
					"parent. Gates can read the baseline's own numbers.", strings.Join(rest, "."))
	case ns.plan.Baseline == nil:
		return nil, Wrong("unknown-reference", "No baseline", "The plan has no baseline.")
	case len(rest) < 3:
		return nil, incomplete("baseline.levels.<level>.<number>; its levels always passed before a gate is decided")
	}
	in, err := ns.level(in, rest, ns.plan.Baseline.Protocol)
	switch {
	case err != nil:
		return nil, err
	case in.Relation != plans.Own:
		return nil, Wrong("invalid-address", "Unknown address",
			"The baseline has nothing to compare with: %q has no members.", strings.Join(rest[:3], "."))
	}
	row := plans.BaselineRow
	in.Row, in.Feature = &row, row.Key()
	return in, nil
}

// row resolves compare.<step>["<kind>.<engine>"].….
func (ns *Namespace) row(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	ph, step, err := ns.step(path, sc, "of kind compare", func(b *plans.Block) bool {
		return b.Kind == plans.CompareStep
	})
	if err != nil {
		return nil, err
	}
	var c plans.ComparisonContent
	if err := step.Decode(&c); err != nil {
		return nil, Wrong("invalid-address", "Invalid comparison", "%v.", err)
	}
	switch {
	case len(path) < 4:
		return nil, incomplete(fmt.Sprintf("compare.%s[\"<kind>.<engine>\"].<workload>.<metric>", step.Name))
	case slices.Contains(c.Engines, path[2]+"."+path[3]):
		return nil, Wrong("invalid-address", "Row without quotes",
			"Put the engine of a row in brackets: write compare.%s[%q].", step.Name, path[2]+"."+path[3])
	case !slices.Contains(c.Engines, path[2]):
		lacks := fmt.Sprintf("Step %q has no row", step.Name)
		return nil, unknown("unknown-reference", "Unknown row", lacks, path[2], c.Engines)
	}
	in.Row = &plans.Row{Phase: ph.Name, Step: step.Name, Engine: path[2]}
	if err := enough(step, c.Launches, path[3:]); err != nil {
		return nil, err
	}
	in, err = ns.ofRow(in, step, path[2], path[3:])
	if err == nil && path[2] == c.Reference && in.Relation != plans.Own {
		return nil,
			Wrong("rule-reads-nothing", "Compared with itself",
				"%s is the reference of step %q, with which the other rows are compared. Use one of those, or its "+
					"own value.", c.Reference, step.Name)
	}
	return in, err
}

// cell resolves what a gate reads from a cell of a matrix:
// matrix.<step>["<knob>=<value>"].….
func (ns *Namespace) cell(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	ph, step, err := ns.step(path, sc, "of kind matrix", func(b *plans.Block) bool {
		return b.Kind == plans.MatrixStep
	})
	if err != nil {
		return nil, err
	}
	m := &plans.Matrix{}
	if err := step.Decode(m); err != nil || ns.plan.Baseline == nil {
		return nil, Wrong("invalid-address", "Invalid matrix", "Step %q has errors: fix it first.", step.Name)
	}
	if len(path) < 4 {
		return nil, incomplete(fmt.Sprintf("matrix.%s[\"<knob>=<value>\"].<workload>.<metric>", step.Name))
	}
	cells, wrong := ns.plan.MatrixCells(m)
	if wrong != nil {
		return nil, Wrong("invalid-address", "Invalid matrix", "Step %q has %v.", step.Name, wrong)
	}
	names := plans.Names(cells, func(c plans.MatrixCell) string { return c.Name })
	set, ok := plans.SetOf(path[2])
	if name := ns.plan.SetName(set); !ok || len(name) != len(path[2]) || !slices.Contains(names, name) {
		err := unknown("unknown-reference", "Unknown cell", fmt.Sprintf("Step %q has no cell", step.Name), path[2],
			names)
		err.Detail += " A cell's name is in quotes and brackets, and lists the values that differ from the baseline's."
		return nil, err
	}
	in.Row = &plans.Row{Phase: ph.Name, Step: step.Name, Engine: ns.plan.SetName(set), Of: step.Kind}
	if err := enough(step, m.Launches, path[3:]); err != nil {
		return nil, err
	}
	in, err = ns.ofRow(in, step, ns.plan.Baseline.Engine, path[3:])
	if err == nil && in.Relation == plans.Base {
		return nil, Wrong("rule-reads-nothing", "The baseline's own value",
			"The base of every cell is the baseline. Use .gain, or the cell's own value.")
	}
	return in, err
}

// enough checks that a step makes neither too few nor too many launches for a rule on what
// follows a row; levels run once.
func enough(step *plans.Block, launches int, rest []string) *Error {
	if launches >= leastCompared && launches <= mostCompared || rest[0] == "levels" {
		return nil
	}
	return Wrong("undecidable-comparison", "Wrong number of launches for rules",
		"Rules need %d to %d launches per row, but step %q makes %d. Set ‹launches = %d› in it.", leastCompared,
		mostCompared, step.Name, launches, min(max(launches, leastCompared), mostCompared))
}

// ofRow resolves what follows a row of a step, whose engine it is.
func (ns *Namespace) ofRow(in *plans.Input, step *plans.Block, engine string, rest []string) (*plans.Input, *Error) {
	in.Feature = in.Row.Key()
	sendable := ns.plan.Sendable(step)
	head, others := rest[0], []string{"levels", "engine", "gpu", "host", plans.CommandKind}
	e := ns.plan.Engine(engine)
	var err *Error
	switch {
	case slices.Contains(sendable, head):
		in.Unsent = ns.unsent(ns.plan.SentWorkloads(step), step.Name, head)
		in, err = ns.measurement(in, rest)
	case slices.Contains(others, head) && (head != plans.CommandKind || e != nil):
		protocol, _ := step.Attrs["protocol"].(string)
		in, err = ns.ofLaunch(in, rest, protocol, e)
	default:
		if _, ok := measure.LookupIn(head, ofWorkload...); ok && len(sendable) > 0 {
			return nil, Wrong("invalid-address", "Incomplete address", "Put the workload before the metric: %s.%s.",
				sendable[0], strings.Join(rest, "."))
		}
		return nil,
			unknown("invalid-address", "Unknown name in a rule", fmt.Sprintf("A row of step %q has no", step.Name),
				head, append(slices.Clone(sendable), others...))
	}
	if err == nil && in.Against != plans.Parent {
		return nil, Wrong("invalid-address", "No other arm in a comparison",
			"Rows of a step are always compared with its reference; remove %s.", in.Against.Suffix())
	}
	return in, err
}
