package load

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/planstest"
)

func TestCompileRule(t *testing.T) {
	res := Bytes("rules.hcl", []byte(planstest.RulePlan), planstest.Registry(), Options{})
	before := planstest.Text(&res.Findings)
	for _, c := range []struct{ src, feature, wrong string }{
		{"chat.tg.gain >= 0.1", "first", ""},
		{"chat.tg.gain >= 0.1", "", "Whose value?"},
		{`feature["fourth"].chat.tg >= 1`, "", ""},
		{`feature["fourth"].accepted`, "", ""},
		{"chat.ttft.p99 <= 500", "first", ""},
		{"levels.kernels", "second", "Not a yes or no"},
		{"1 + 1", "", "Arithmetic in a rule"},
		{"", "", "Empty rule"},
		{strings.Repeat("(", 200), "", "Rule nested too deeply"},
		{strings.Repeat("x", 20000), "", "Rule too long"},
		{"\x00", "", "Invalid rule"},
		{"\xff", "", "Invalid rule"},
	} {
		rule, diags := res.CompileRule(c.src, c.feature)
		got := ""
		for _, d := range diags {
			got += d.Summary
		}
		if (c.wrong == "") != (got == "") || !strings.Contains(got, c.wrong) || (rule.Cond == nil) != (got != "") {
			t.Errorf("%.40s: %q, want %q; program %t", c.src, got, c.wrong, rule.Cond != nil)
		}
	}
	if planstest.Text(&res.Findings) != before {
		t.Errorf("the plan's own diagnostics are now\n%s", planstest.Text(&res.Findings))
	}
}
