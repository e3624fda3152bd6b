package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/convert"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// template writes, or prints, cases for what those beside the plan do not show.
func (r *caseRun) template(vars []load.Given, write bool) error {
	_, _, loaded, err := r.load(r.path, vars, "")
	if err != nil {
		return err
	}
	path := caseFileOf(r.path)
	if _, err := os.Lstat(path); write && err == nil {
		return alreadyThere(r.path, path)
	}
	files, err := cases.CaseFiles(loaded)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		cases, err := r.read(loaded, files)
		if err != nil {
			return err
		}
		for _, c := range cases {
			r.outcomes = append(r.outcomes, steps.DecideCase(loaded.Plan, c))
		}
	}
	text, open := steps.CaseTemplates(loaded, r.outcomes)
	switch {
	case text == "" && len(steps.Coverage(loaded.Plan, nil)) == 0:
		return errors.New("the plan has no rules that a case could be written for: add a criterion to a feature, or a gate to a phase")
	case text == "":
		return fmt.Errorf("nothing is missing: %s show each feature and gate able to pass and to fail", count(len(r.outcomes), "case"))
	}
	formatted, problems := convert.Format(path, []byte(text))
	if problems != nil {
		return fmt.Errorf("the cases for %s cannot be written: %w", r.path, problems.Diagnostics)
	}
	if open > 0 {
		fmt.Fprintf(r.stderr, "%s to fill in: a comment each, since numbers beside the thresholds are not enough.\n", count(open, "case"))
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
# The numbers lie beside the thresholds. Put your own measurements in their place:
# those that you would want to pass, and those that must not.

`

func alreadyThere(plan, path string) error {
	return fmt.Errorf("%s is there already and is not overwritten. mxflow test --print %s prints what it does not show yet", path, plan)
}

// writeNew writes a file that was not there.
func (r *caseRun) writeNew(path string, text []byte) error {
	// O_EXCL, so that nothing is overwritten whatever else happens meanwhile.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return alreadyThere(r.path, path)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("%s is not whole: %w", path, err)
	}
	fmt.Fprintf(r.stdout, "Wrote %s. Run: mxflow test %s\n", path, r.path)
	return nil
}
