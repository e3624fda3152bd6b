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

// CompareText shows a comparison as it is decided: its form, then "metric op threshold".
func CompareText(c *plans.Compare) string {
	if c.Form == "exact" {
		return string(c.Form)
	}
	op := "<"
	if c.AtLeast {
		op = ">"
	}
	if !c.Strict {
		op += "="
	}
	return fmt.Sprintf("%s: %s %s %v", c.Form, c.Metric.Path, op, c.Threshold)
}

// ComparesOf shows all comparisons of a condition.
func ComparesOf(cond *plans.Cond) string {
	var list []string
	for _, c := range cond.Compares() {
		list = append(list, CompareText(c))
	}
	return strings.Join(list, "; ")
}
