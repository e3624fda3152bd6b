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

// spared says why nothing is launched, because it could show nothing, and in what
// words the key of the node has that: the variant that it is compared with, or the
// first engine, may be another one some day.
func (q *qualify) spared(s *runtime.Scope, candidate *variant) (why, inKey string, err error) {
	if why, err = q.lab.confirmsNothing(s, q.feature, candidate); why != "" || err != nil {
		return why, "confirms nothing", err
	}
	why, err = q.lab.nothingUnderTest(s, q.feature)
	return why, "nothing under test", err
}
