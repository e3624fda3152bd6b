package main

import "github.com/mxflow/mxflow/plans"

// testedGates is what validate finds in the cases beside a plan.
type testedGates struct {
	files       int
	lacking     []string
	diagnostics []plans.DiagnosticJSON
}

// validateCases reads the cases beside a valid plan and warns of gates that lack
// some. They are not decided: that is for mxflow test. Without any file of cases
// nothing is printed here.
func (a *app) validateCases(loaded *plans.Result) (*testedGates, error) {
	files, err := loaded.CaseFiles()
	if err != nil {
		return nil, err
	}
	out := &testedGates{files: len(files), lacking: []string{}}
	if len(files) == 0 {
		out.lacking = append(out.lacking, loaded.Plan.UntestedGates(nil)...)
		return out, nil
	}
	list, found := loaded.LoadCases(files)
	if found.OK() {
		out.lacking = append(out.lacking, loaded.Plan.UntestedGates(list)...)
		loaded.WarnUntested(found, list)
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
