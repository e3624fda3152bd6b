package rules

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// stepNumber resolves step.<name>.<number>: what a step has found, such as what its program
// printed.
func (ns *Namespace) stepNumber(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	if sc.Criterion {
		return nil, Wrong("whose-value", "Criterion reads a step", "A criterion judges its own feature. Numbers of a step are read by the gate of a phase: put this rule into one.")
	}
	var names []string
	var phase string
	var step *plans.Block
	for _, ph := range ns.plan.Phases {
		for _, b := range ph.Steps {
			if len(b.Finds) == 0 || !ns.before(sc, ph.Name) {
				continue
			}
			if names = append(names, b.Name); len(path) > 1 && b.Name == path[1] {
				if step != nil {
					return nil, Wrong("invalid-address", "Which step?", "Phases %s and %s each have a step called %q before this gate ends. Give them different names.", phase, ph.Name, b.Name)
				}
				phase, step = ph.Name, b
			}
		}
	}
	switch {
	case len(names) == 0:
		return nil, Wrong("invalid-address", "Rule on a step", "Rules read what features measured, rows of a comparison (compare.<step>[\"<kind>.<engine>\"].<workload>.tg.gain), cells of a matrix (matrix.<step>.best.<workload>.tg.gain) and its counts, and numbers that a step \"exec\" prints for its metric blocks, of which none stands before this gate. A step that fails fails its phase by itself, so there is nothing to write. Remove the rule.").about(AboutName)
	case step == nil:
		given := ""
		if len(path) > 1 {
			given = path[1]
		}
		return nil, Wrong("unknown-reference", "Unknown step", "No step \"exec\" with metric blocks and no step \"matrix\" in this phase, or in one that it comes after, is called %q; there are %s.%s", given, strings.Join(names, ", "), lang.DidYouMean(given, names))
	case len(path) < 3:
		return nil, Wrong("invalid-address", "Incomplete address", "Write step.%s.%s.", step.Name, step.Finds[0].Name)
	}
	at := slices.IndexFunc(step.Finds, func(n plans.Found) bool { return n.Name == path[2] })
	if at < 0 {
		numbers := plans.Names(step.Finds, func(n plans.Found) string { return n.Name })
		return nil, Wrong("unknown-metric", "Unknown metric", "Step %q finds no %q; it finds %s.%s", step.Name, path[2], strings.Join(numbers, ", "), lang.DidYouMean(path[2], numbers))
	}
	if len(path) > 3 {
		return nil, Wrong("invalid-address", "Unknown address", "A step runs once and is compared with nothing, so nothing stands below %q; %q is too much.", path[2], path[3])
	}
	n := step.Finds[at]
	in.Row = &plans.Row{Phase: phase, Step: step.Name, Of: step.Kind}
	in.Kind, in.Feature, in.Name, in.Metric, in.Stat = plans.InputFound, in.Row.Key(), step.Name, n.Name, "median"
	in.Unit, in.Of, in.Better = n.Unit, n.Unit, string(measure.Better(n.Better))
	return in, nil
}

// ofBaseline resolves baseline.levels.<level>.<number>: what its qualification launch has
// found, by which a gate says whether a port is worth the work.
func (ns *Namespace) ofBaseline(in *plans.Input, rest []string, sc *Scope) (*plans.Input, *Error) {
	if sc.Criterion {
		return nil, Wrong("whose-value", "Criterion reads the baseline", "A criterion judges its own feature: write %s.base, or %s.root where its parent is another. The baseline's own numbers are read by gates.", strings.Join(rest, "."), strings.Join(rest, "."))
	}
	if ns.plan.Baseline == nil {
		return nil, Wrong("unknown-reference", "No baseline", "The plan has no baseline whose levels could find anything.")
	}
	if len(rest) < 3 {
		return nil, Wrong("invalid-address", "Incomplete address", "The baseline passes its levels before any gate is decided, so that their verdicts say nothing here. Write baseline.levels.<level>.<number>.")
	}
	in, err := ns.level(in, rest, &plans.Feature{Name: "baseline", Protocol: ns.plan.Baseline.Protocol})
	switch {
	case err != nil:
		return nil, err
	case in.Relation != plans.Own:
		return nil, Wrong("invalid-address", "Unknown address", "The baseline is compared with nothing, so nothing stands below %q.", strings.Join(rest[:3], "."))
	}
	row := plans.BaselineRow
	in.Row, in.Feature = &row, row.Key()
	return in, nil
}
