package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/tested"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/convert"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	decided "github.com/mxflow/mxflow/steps/cases"
)

// caseRun is one run of the cases beside a plan.
type caseRun struct {
	*app
	tested.Run
	path, name string
}

func newTestCommand(a *app) *cobra.Command {
	r := &caseRun{app: a}
	var vars []load.Given
	var write, show bool
	c := &cobra.Command{
		Use:   "test [PLAN]",
		Short: "Decide cases beside the plan: given these measurements, this verdict",
		Long: `Reads *.mxtest.hcl and *.mxtest.yaml beside the plan. Each case gives measurements
and the expected verdict; it is decided as an apply would decide it, and a mismatch
is shown comparison by comparison. At the end are listed the rules that no case has
shown to pass, or to fail. No engine is started and nothing is written.

With --write it writes starter cases: for each feature and each gate one that
passes and one that fails, with numbers near the thresholds, or as a comment to
fill in where these are not enough. An existing file is never overwritten; --print
prints such cases for what existing ones do not show yet.

If several plans share a folder, other.mxtest.hcl belongs to other.hcl alone.

Exit status: 0 all as expected, 2 a case came out differently, 1 nothing to run, or
a mistake in the plan or in a case.`,
		Example: "  mxflow test plan.hcl\n  mxflow test --run memory plan.hcl\n  mxflow test --write plan.hcl     # starter cases",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if r.path, err = a.planOf(args); err != nil {
				return err
			}
			switch {
			case (write || show) && r.name != "":
				return errors.New("--write and --print cover all rules, --run selects existing cases: use one of them")
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
	c.Flags().BoolVar(&write, "write", false, "write starter cases beside the plan")
	c.Flags().BoolVar(&show, "print", false, "print cases for what existing ones do not show")
	a.jsonFlag(c, "print cases, rules and reasons as JSON")
	return c
}

func (r *caseRun) run(vars []load.Given) error {
	loaded, _, err := r.load(r.path, load.Options{Inputs: vars})
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
		r.Outcomes = append(r.Outcomes, decided.Decide(loaded.Plan, c))
	}
	if r.name == "" {
		r.Coverage, r.Never = decided.Coverage(loaded.Plan, r.Outcomes), decided.NeverWhole(loaded.Plan, r.Outcomes)
	}
	if r.json {
		r.printJSON(r.JSON())
	} else {
		r.Print(r.screen())
	}
	for _, o := range r.Outcomes {
		if !o.OK() {
			r.exit = verdict.ExitFail
		}
	}
	return nil
}

// cases reads what stands beside the plan. Without any there is nothing that
// could come out otherwise, which is no success.
func (r *caseRun) cases(loaded *load.Result) ([]*cases.Case, error) {
	files, err := cases.Files(loaded)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no cases beside %s: no file whose name ends in .mxtest.hcl\nmxflow test --write %s writes %s with a passing and a failing case for each feature and gate", r.path, r.path, caseFileOf(r.path))
	}
	return r.read(loaded, files)
}

// read reads files of cases, and prints what is to be said of them.
func (r *caseRun) read(loaded *load.Result, files []string) ([]*cases.Case, error) {
	cases, found := cases.Load(loaded, files)
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
	dir := lang.FolderOf(plan)
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
		return nil, fmt.Errorf("--run %s: none of %s has that in its name.%s", text, tell.Count(len(all), "case"), lang.Suggest(text, names))
	}
	return chosen, nil
}

// template writes, or prints, cases for what those beside the plan do not show.
func (r *caseRun) template(vars []load.Given, write bool) error {
	loaded, _, err := r.load(r.path, load.Options{Inputs: vars})
	if err != nil {
		return err
	}
	path := caseFileOf(r.path)
	if _, err := os.Lstat(path); write && err == nil {
		return alreadyThere(r.path, path)
	}
	files, err := cases.Files(loaded)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		cases, err := r.read(loaded, files)
		if err != nil {
			return err
		}
		for _, c := range cases {
			r.Outcomes = append(r.Outcomes, decided.Decide(loaded.Plan, c))
		}
	}
	text, open := decided.Templates(loaded, r.Outcomes)
	switch {
	case text == "" && len(decided.Coverage(loaded.Plan, nil)) == 0:
		return errors.New("the plan has no rules to write cases for: add a criterion to a feature, or a gate to a phase")
	case text == "":
		return fmt.Errorf("nothing is missing: %s show each feature and gate able to pass and to fail", tell.Count(len(r.Outcomes), "case"))
	}
	formatted, problems := convert.Format(path, []byte(text))
	if problems != nil {
		return fmt.Errorf("cannot write the cases for %s: %w", r.path, problems.Diagnostics)
	}
	if open > 0 {
		fmt.Fprintf(r.stderr, "%s to fill in, marked by comments: numbers near the thresholds are not enough.\n", tell.Count(open, "case"))
	}
	if !write {
		_, err := r.stdout.Write(formatted)
		return err
	}
	formatted = append([]byte(fmt.Sprintf(caseFileHead, filepath.Base(r.path))), formatted...)
	return r.writeNew(path, formatted)
}

const caseFileHead = `# Given these measurements, this verdict is expected:
#
#   mxflow test %s
#
# The numbers lie near the thresholds. Replace them with your own measurements:
# ones that should pass, and ones that must not.

`

func alreadyThere(plan, path string) error {
	return fmt.Errorf("%s already exists and is not overwritten. mxflow test --print %s prints the cases it lacks", path, plan)
}

// writeNew writes a file that was not there.
func (r *caseRun) writeNew(path string, text []byte) error {
	switch err := files.Create(path, text); {
	case errors.Is(err, fs.ErrExist):
		return alreadyThere(r.path, path)
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	fmt.Fprintf(r.stdout, "Wrote %s. Run: mxflow test %s\n", path, r.path)
	return nil
}

// testedGates is what validate finds in the cases beside a plan.
type testedGates struct {
	files       int
	lacking     []string
	diagnostics []lang.DiagnosticJSON
}

// validateCases reads the cases beside a valid plan and warns of gates that lack
// some. They are not decided: that is for mxflow test. Without any file of cases
// nothing is printed here.
func validateCases(a *app, loaded *load.Result) (*testedGates, error) {
	files, err := cases.Files(loaded)
	if err != nil {
		return nil, err
	}
	out := &testedGates{files: len(files), lacking: []string{}}
	if len(files) == 0 {
		out.lacking = append(out.lacking, cases.UntestedGates(loaded.Plan, nil)...)
		return out, nil
	}
	list, found := cases.Load(loaded, files)
	if found.OK() {
		out.lacking = append(out.lacking, cases.UntestedGates(loaded.Plan, list)...)
		cases.WarnUntested(loaded, found, list)
	}
	if len(found.Diagnostics) > 0 {
		a.diagnostics(found)
	}
	if !found.OK() {
		return nil, errShown
	}
	out.diagnostics = found.DiagnosticsJSON()
	return out, nil
}
