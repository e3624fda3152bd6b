package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// planCheck looks at a plan that is free of mistakes for what would cost time on
// a GPU and show nothing. Most of what it finds are warnings: the plan does what
// it says, but hardly what was meant.
type planCheck struct {
	l     *evalScope
	plan  *Plan
	ns    *namespace
	files map[string]*hcl.File
	diags hcl.Diagnostics
}

// checkSense runs all checks on a plan without errors: what is missing or unused in
// one with errors may be so because of them.
func checkSense(plan *Plan, ns *namespace, scope *evalScope) hcl.Diagnostics {
	c := &planCheck{l: scope, plan: plan, ns: ns, files: scope.files()}
	for _, ph := range plan.Phases {
		for _, f := range ph.Features {
			c.rules("criterion", f.Criteria)
			c.hypothesis(f)
			c.expectsLoss(f)
		}
		if ph.Gate != nil {
			c.rules("rule", ph.Gate.Rules)
			c.kernelsAsked(ph)
		}
	}
	c.engineLimits()
	c.launches()
	c.rivals()
	c.gatesThatLockNothing()
	c.evidence()
	c.qualified()
	c.unused()
	return c.diags
}

// warn reports something of the plan.
func (c *planCheck) warn(at Range, summary, format string, args ...any) {
	c.diags = append(c.diags, &hcl.Diagnostic{
		Severity: hcl.DiagWarning, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: at.hcl().Ptr(),
	})
}

// leaf reports something of one comparison of a rule.
func (c *planCheck) leaf(r *Rule, leaf *Leaf, severity hcl.DiagnosticSeverity, summary, format string, args ...any) {
	d := c.about(r, leaf, wrong(summary, format, args...))
	d.Severity = severity
	c.diags = append(c.diags, d)
}

// about is a mistake with the place of a comparison.
func (c *planCheck) about(r *Rule, leaf *Leaf, e *ruleError) *hcl.Diagnostic {
	e.at, e.length = leaf.At, leaf.Length
	return e.diagnostic(r.ExprRange, r.Expr, c.files)
}

// decisive are the criteria that decide over a feature.
func decisive(f *Feature) map[string]bool {
	names := map[string]bool{}
	for _, name := range f.Accept {
		names[name] = true
	}
	return names
}

// features are all features in the order of the plan.
func (c *planCheck) features() (list []*Feature) {
	for _, ph := range c.plan.Phases {
		list = append(list, ph.Features...)
	}
	return list
}
