package load

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/planstest"
)

func TestEvaluateLeavesThePlanAlone(t *testing.T) {
	res := Bytes("rules.hcl", []byte(planstest.RulePlan), planstest.Registry(), Options{})
	before := planstest.Text(&res.Findings)
	for range 3 {
		if _, diags := res.Evaluate("var.none"); len(diags) != 1 || diags[0].Subject.Filename != consoleFile {
			t.Errorf("%v", diags)
		}
		if text, diags := res.Evaluate("{ a = [1, workload.chat], b = null }"); text != "{\n  a = [1, workload.chat]\n  b = null\n}" {
			t.Errorf("%s %v", text, diags)
		}
	}
	if planstest.Text(&res.Findings) != before {
		t.Errorf("the plan's own diagnostics are now\n%s", planstest.Text(&res.Findings))
	}
}

func TestCompileRuleOfTheConsole(t *testing.T) {
	res := Bytes("rules.hcl", []byte(planstest.RulePlan), planstest.Registry(), Options{})
	for _, c := range []struct {
		src, feature, wrong string
		address             bool
	}{
		{"chat.tg.gain >= 0.1", "first", "", false},
		{"chat.tg.gain >= 0.1", "", "Whose value?", false},
		{`feature["fourth"].chat.tg`, "", "", true},
		{"abs(chat.tg.delta) * 2", "first", "", true},
		{"levels.kernels", "second", "", true},
		{`feature["fourth"].accepted`, "", "", false},
		{"chat.ttft.p99 <= 500", "first", "", false},
		{"1 + 1", "", "Rule reads nothing", true},
		{"", "", "Empty rule", false},
		{strings.Repeat("(", 200), "", "Rule nested too deeply", false},
	} {
		rule, address, diags := res.CompileRule(c.src, c.feature)
		got := ""
		for _, d := range diags {
			got += d.Summary
		}
		if c.wrong != "" && (got == "" || rule.Program != nil) || c.wrong == "" && (got != "" || rule.Program == nil || address != c.address) {
			t.Errorf("%s: %q, an address %v, program %v", c.src, got, address, rule.Program != nil)
		}
	}
}

func TestHostileLinesOfTheConsole(t *testing.T) {
	res := Bytes("rules.hcl", []byte(planstest.RulePlan), planstest.Registry(), Options{})
	for _, src := range []string{
		"", " ", "\x00", "\xff", "${", `"${`, "<<EOT", strings.Repeat("[", 5000), strings.Repeat("x", 20000),
		`[for a in range(1000) : [for b in range(1000) : b]]`, "feature", "var", "engine", "workload[0]", `file("/etc/passwd")`,
	} {
		IsExpression(src)
		if _, diags := res.Evaluate(src); src != "feature" && src != "engine" && !diags.HasErrors() {
			t.Errorf("%.40q is fine", src)
		}
		_, _, _ = res.CompileRule(src, "")
	}
}

// What is merely shown need not have a form that statistics decide; a rule must.
func TestConsoleShowsWhatIsNotDecided(t *testing.T) {
	res := Bytes("rules.hcl", []byte(planstest.RulePlan), planstest.Registry(), Options{})
	for _, src := range []string{"chat.tg / chat.pp", "max(chat.tg, chat.pp)", "abs(chat.tg.delta)", "feature.first.chat.tg - feature.second.chat.tg"} {
		rule, address, diags := res.CompileRule(src, "first")
		if diags.HasErrors() || !address || planstest.ClaimsOf(rule.Program) != "exact" {
			t.Errorf("%s: %v", src, diags)
		}
		if _, _, diags = res.CompileRule("("+src+") > 1", "first"); !diags.HasErrors() {
			t.Errorf("%s is decided", src)
		}
	}
}
