package steps

import (
	"slices"

	"github.com/mxflow/mxflow/plans"
)

// Candidates are all features that have a variant of their own: those of the
// phases, the alternatives among which they choose, and what confirms them.
func Candidates(p *plans.Plan) (all []*plans.Feature) {
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			all = append(all, f)
			all = append(all, slices.Concat(f.Alternatives, f.Confirm)...)
		}
	}
	return all
}
