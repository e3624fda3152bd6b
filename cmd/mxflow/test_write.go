package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps"
)

// skeleton writes, or prints, cases for what those beside the plan do not show.
func (r *caseRun) skeleton(vars []plans.Given, write bool) error {
	_, _, loaded, err := r.load(r.path, vars, "")
	if err != nil {
		return err
	}
	path := caseFileOf(r.path)
	if _, err := os.Lstat(path); write && err == nil {
		return alreadyThere(r.path, path)
	}
	files, err := loaded.CaseFiles()
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
	known := len(r.outcomes)
	text, left := steps.Skeleton(loaded, r.outcomes)
	for _, why := range tell.Lines(left) {
		fmt.Fprintf(r.stderr, "%s; write that case by hand.\n", why)
	}
	if text == "" {
		return nothingLacks(loaded.Plan, left, known)
	}
	formatted, problems := plans.Format(path, []byte(text))
	if problems != nil {
		return fmt.Errorf("the cases for %s cannot be written: %w", r.path, problems.Diagnostics)
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
# The numbers lie 10 %% beside the thresholds. Put your own measurements in their
# place: those that you would want to pass, and those that must not.

`

// nothingLacks says why there is nothing to write.
func nothingLacks(p *plans.Plan, left []verdict.Reason, known int) error {
	switch {
	case len(left) > 0:
		return errors.New("no case could be worked out for what is left")
	case len(steps.Coverage(p, nil)) == 0:
		return errors.New("the plan has no rules that a case could be written for: add a criterion to a feature, or a gate to a phase")
	}
	return fmt.Errorf("nothing is missing: %s show each rule able to pass and to fail", count(known, "case"))
}

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
