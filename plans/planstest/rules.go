package planstest

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/plans"
)

// RulePlan declares one of everything that a rule can address.
//
//go:embed testdata/rules.hcl
var RulePlan string

// ChoosePlan has a feature that chooses and is confirmed on another engine, and features
// that build on it.
//
//go:embed testdata/choose.hcl
var ChoosePlan string

// SharedPlan has two features that share the launches of their parent.
//
//go:embed testdata/shared.hcl
var SharedPlan string

// RulePlanWith is RulePlan with another criterion for feature first.
func RulePlanWith(attribute string) []byte {
	const old = `criterion "decode" { rule = "chat.tg.gain >= 0.1" }`
	return []byte(strings.Replace(RulePlan, old, "criterion \"decode\" {\n"+attribute+"\n}", 1))
}

// ClaimText shows a claim: its form, then "input op threshold".
func ClaimText(c *plans.Claim) string {
	if c == nil {
		return "none"
	}
	if c.Input == nil {
		return string(c.Form)
	}
	op := "<"
	if c.More {
		op = ">"
	}
	if !c.Strict {
		op += "="
	}
	return fmt.Sprintf("%s: %s %s %v", c.Form, c.Input.Path, op, c.Threshold)
}

// ClaimsOf shows the claims of all comparisons.
func ClaimsOf(p *plans.Program) string {
	var list []string
	for _, l := range p.Leaves {
		list = append(list, ClaimText(l.Claim))
	}
	return strings.Join(list, "; ")
}
