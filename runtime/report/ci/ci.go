// Package ci writes the contents of a state directory for continuous integration: as
// JUnit XML, and as Markdown for GitHub. It decides nothing.
package ci

import (
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/report"
)

// broken is why the newest run did not end normally, whatever it decided before; empty if
// it did.
func broken(s *report.Summary) string {
	switch run := s.Run; {
	case !run.Done && report.WorkOn(s.Store).State == report.UnderWay:
		return "run " + run.ID + " is under way"
	case !run.Done:
		return "run " + run.ID + " did not finish (killed?): apply resumes it"
	case run.Reason.Kind != code.Finished.Kind:
		return run.Reason.String()
	}
	return ""
}
