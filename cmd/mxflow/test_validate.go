package main

import (
	"github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
)

// testedGates is what validate finds in the cases beside a plan.
type testedGates struct {
	files       int
	lacking     []string
	diagnostics []lang.DiagnosticJSON
}

// validateCases reads the cases beside a valid plan and warns of gates that lack
// some. They are not decided: that is for mxflow test. Without any file of cases
// nothing is printed here.
func (a *app) validateCases(loaded *load.Result) (*testedGates, error) {
	files, err := cases.CaseFiles(loaded)
	if err != nil {
		return nil, err
	}
	out := &testedGates{files: len(files), lacking: []string{}}
	if len(files) == 0 {
		out.lacking = append(out.lacking, cases.UntestedGates(loaded.Plan, nil)...)
		return out, nil
	}
	list, found := cases.LoadCases(loaded, files)
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
