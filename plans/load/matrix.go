package load

import (
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// checkMatrices checks the combinations of knobs that steps measure, once all knobs are
// known.
func (c *planCheck) checkMatrices() {
	for _, ph := range c.plan.Phases {
		for _, b := range ph.Steps {
			if b.Kind != plans.MatrixStep {
				continue
			}
			for _, e := range c.plan.CheckMatrix(b) {
				c.Fail(lang.HCL(b.Range), e.Code, e.Summary, "%s", e.Detail)
			}
		}
	}
}
