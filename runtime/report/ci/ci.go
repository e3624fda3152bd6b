// Package ci writes the contents of a state directory for continuous integration: as
// JUnit XML, and as Markdown for GitHub. It decides nothing.
package ci

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// newest is the newest run.
func newest(st *store.Store) (*store.RunView, error) {
	if len(st.Runs()) == 0 {
		return nil, fmt.Errorf("nothing was applied here, so there is nothing to report")
	}
	return st.Run("latest")
}

// broken is why the newest run did not end normally, whatever it decided before; empty if
// it did.
func broken(st *store.Store, run *store.RunView) string {
	switch {
	case !run.Done && report.WorkOn(st).State == report.UnderWay:
		return "run " + run.ID + " is under way"
	case !run.Done:
		return "run " + run.ID + " did not finish (killed?): apply resumes it"
	case run.Reason.Kind != code.Finished.Kind:
		return run.Reason.String()
	}
	return ""
}

// command is the command that repeats the run's apply. What is sensitive is not on record:
// "…" stands for it.
func command(run *store.RunView) string {
	before, words := "", "mxflow apply"
	if run.Start != nil && run.Start.Inputs != nil {
		in := run.Start.Inputs
		for _, name := range slices.Sorted(maps.Keys(in.Env)) {
			before += name + "=" + shell.Quote(in.Env[name]) + " "
		}
		for _, name := range slices.Sorted(maps.Keys(in.Sealed)) {
			before += strings.Replace(strings.TrimPrefix(name, "env."), "var.", "MXFLOW_VAR_", 1) + "=… "
		}
		if in.Suite != "" {
			words += " --suite " + shell.Quote(in.Suite)
		}
		for _, name := range slices.Sorted(maps.Keys(in.Variables)) {
			value := in.Variables[name]
			if text, err := strconv.Unquote(value); err == nil { // --var takes text as it is
				value = strings.NewReplacer("$${", "${", "%%{", "%{").Replace(text)
			}
			words += " --var " + shell.Quote(name+"="+value)
		}
	}
	return before + words + " " + shell.Quote(run.PlanFile)
}
