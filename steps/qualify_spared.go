package steps

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// nothingUnderTest says why launches of a candidate would show nothing: it comes out
// as the variant that it is compared with. No fact where it does not, and where
// nothing is compared.
func (l *Lab) nothingUnderTest(s *runtime.Scope, f *plans.Feature) (verdict.Reason, error) {
	if f == nil || !decide.Benchmarked(l.Plan, f) {
		return verdict.Reason{}, nil
	}
	a, err := l.armsOf(s, f)
	if err != nil || a.candidate.Key != a.parent.Key {
		return verdict.Reason{}, err
	}
	return nothingUnderTest(a), nil
}

func nothingUnderTest(a arms) verdict.Reason {
	return verdict.New(code.NothingUnderTest, verdict.Text("parent", a.parent.Name))
}

// spared says why nothing is launched, because it could show nothing.
func (q *qualify) spared(s *runtime.Scope, candidate *variant.Variant) (verdict.Reason, error) {
	if why, err := q.lab.confirmsNothing(s, q.feature, candidate); !why.IsZero() || err != nil {
		return why, err
	}
	return q.lab.nothingUnderTest(s, q.feature)
}

// confirmsNothing says why a confirmation could only repeat what is known: with its
// knobs the other engine comes out as the first one, so that its launches would be
// the very same. No fact where it is another one, and for what is no confirmation.
func (l *Lab) confirmsNothing(s *runtime.Scope, f *plans.Feature, candidate *variant.Variant) (verdict.Reason, error) {
	if f == nil || f.Engine == "" {
		return verdict.Reason{}, nil
	}
	first, err := l.armsOf(s, l.Plan.Feature(f.Of))
	if err != nil || first.candidate.Key != candidate.Key {
		return verdict.Reason{}, err
	}
	return verdict.New(code.ConfirmsNothing, verdict.Text("engine", f.Engine), verdict.Text("first", first.candidate.Engine)).On(first.candidate.Name), nil
}
