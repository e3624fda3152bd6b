// Package ci writes the contents of a state directory for continuous integration: as
// JUnit XML, and as Markdown for GitHub. It decides nothing.
package ci

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// newest is the newest run.
func newest(st *store.Store) (*ledger.RunView, error) {
	if len(st.Runs()) == 0 {
		return nil, fmt.Errorf("nothing was applied here, so there is nothing to report")
	}
	return st.Run("latest")
}

// broken is why the newest run did not end normally, whatever it decided before; empty if
// it did.
func broken(st *store.Store, run *ledger.RunView) string {
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
