package load

import (
	"regexp"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var planDoc = block(plans.Plan{}, lang.BlockDoc{Type: "plan", Times: plans.Once, Doc: "Names the plan."})

// planName also becomes part of file names, so it is limited to characters that are safe
// in every file system.
var planName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// decodePlan reads the plan block, of which there is exactly one.
func decodePlan(s *eval.Scope, p *plans.Plan, blocks hcl.Blocks) {
	if len(blocks) == 0 {
		s.Fail(s.Start(), "missing-block", "Missing plan block",
			"A plan file has one plan block, which names it. Add: %s.", lang.Beginning(s.Start().Filename))
		return
	}
	b := s.Single(blocks)
	s.Read(b, planDoc, p)
	if !planName.MatchString(p.Name) {
		s.Fail(b.LabelRanges[0], "invalid-name", "Invalid plan name",
			"A plan's name becomes part of file names: up to 64 letters, digits, underscores, hyphens and dots.")
	}
}
