package steps

import (
	"fmt"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// nothingUnderTest says why launches of a candidate would show nothing: it comes out
// as the variant that it is compared with. Empty where it does not, and where
// nothing is compared.
func (l *Lab) nothingUnderTest(s *runtime.Scope, f *plans.Feature) (string, error) {
	if f == nil || !l.benchmarked(f) {
		return "", nil
	}
	a, err := l.armsOf(s, f)
	if err != nil || a.candidate.key != a.parent.key {
		return "", err
	}
	return fmt.Sprintf("the candidate is the same variant as %s, so there is nothing under test", a.parent.name), nil
}

// spared says why nothing is launched: it could show nothing.
func (q *qualify) spared(s *runtime.Scope, candidate *variant) (string, error) {
	if why, err := q.lab.confirmsNothing(s, q.feature, candidate); why != "" || err != nil {
		return why, err
	}
	return q.lab.nothingUnderTest(s, q.feature)
}
