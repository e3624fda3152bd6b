package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// caseRun is one run of the cases beside a plan.
type caseRun struct {
	*app
	path     string
	name     string
	outcomes []*steps.CaseOutcome
	coverage []*steps.RuleCoverage
	// never are the phases whose gate was not shown to pass as a whole.
	never []string
}

func (a *app) testCommand() *cobra.Command {
	r := &caseRun{app: a}
	var vars []load.Given
	var write, show bool
	c := &cobra.Command{
		Use:   "test PLAN",
		Short: "Decide cases beside the plan: given these measurements, this verdict",
		Long: `Reads *.mxtest.hcl and *.mxtest.yaml beside the plan. Each case gives measurements
and the verdict that they should have; it is decided as an apply would, and what
comes out otherwise is shown comparison by comparison. At the end stand the rules
that no case has shown able to pass, or to fail. No engine is started and nothing
is written.

With --write it writes cases to begin with: for each feature and each gate one that
passes and one that fails, with numbers beside the thresholds, or as a comment to
fill in where these are not enough. A file that is there is never overwritten;
--print prints such cases for what those beside the plan do not show yet.

Where several plans share a folder, other.mxtest.hcl belongs to other.hcl alone.

Exit status: 0 all as expected, 2 a case came out otherwise, 1 there is nothing to
run, or a mistake in the plan or in a case.`,
		Example: "  mxflow test plan.hcl\n  mxflow test --run memory plan.hcl\n  mxflow test --write plan.hcl     # cases to begin with",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r.path = args[0]
			switch {
			case (write || show) && r.name != "":
				return errors.New("--write and --print are about all rules, and --run chooses among the cases that are there: use one of them")
			case write && show:
				return errors.New("use one of --write and --print")
			case write || show:
				return r.template(vars, write)
			}
			return r.run(vars)
		},
	}
	varFlag(c, &vars)
	c.Flags().StringVar(&r.name, "run", "", "only cases whose name contains this text")
	c.Flags().BoolVar(&write, "write", false, "write cases to begin with beside the plan")
	c.Flags().BoolVar(&show, "print", false, "print cases for what those beside the plan do not show")
	a.jsonFlag(c, "print cases, rules and reasons as JSON")
	return c
}

func (r *caseRun) run(vars []load.Given) error {
	_, _, loaded, err := r.load(r.path, vars, "")
	if err != nil {
		return err
	}
	cases, err := r.cases(loaded)
	if err != nil {
		return err
	}
	chosen := cases
	if r.name != "" {
		if chosen, err = chosenCases(cases, r.name); err != nil {
			return err
		}
	}
	for _, c := range chosen {
		r.outcomes = append(r.outcomes, steps.DecideCase(loaded.Plan, c))
	}
	if r.name == "" {
		r.coverage, r.never = steps.Coverage(loaded.Plan, r.outcomes), steps.NeverWhole(loaded.Plan, r.outcomes)
	}
	if r.json {
		r.printCasesJSON()
	} else {
		r.printCases()
	}
	for _, o := range r.outcomes {
		if !o.OK() {
			r.exit = verdict.ExitFail
		}
	}
	return nil
}

// cases reads what stands beside the plan. Without any there is nothing that
// could come out otherwise, which is no success.
func (r *caseRun) cases(loaded *load.Result) ([]*cases.Case, error) {
	files, err := cases.CaseFiles(loaded)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no cases beside %s: no file whose name ends in .mxtest.hcl\nmxflow test --write %s writes %s with a case that passes and one that fails for each feature and gate", r.path, r.path, caseFileOf(r.path))
	}
	return r.read(loaded, files)
}

// read reads files of cases, and prints what is to be said of them.
func (r *caseRun) read(loaded *load.Result, files []string) ([]*cases.Case, error) {
	cases, found := cases.LoadCases(loaded, files)
	if len(found.Diagnostics) > 0 {
		r.diagnostics(found)
	}
	if !found.OK() {
		return nil, errShown
	}
	return cases, nil
}

// caseFileOf is the file of cases that --write writes for a plan.
func caseFileOf(plan string) string {
	dir := planDir(plan)
	if dir == plan {
		return filepath.Join(dir, "plan.mxtest.hcl")
	}
	return strings.TrimSuffix(plan, filepath.Ext(plan)) + ".mxtest.hcl"
}

// chosenCases are those whose names contain a text.
func chosenCases(all []*cases.Case, text string) (chosen []*cases.Case, err error) {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
		if strings.Contains(c.Name, text) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--run %s: none of %s has that in its name%s", text, count(len(all), "case"), steps.DidYouMean(text, names))
	}
	return chosen, nil
}
