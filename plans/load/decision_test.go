package load

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/planstest"
)

func TestDecision(t *testing.T) {
	for _, c := range []struct {
		text string
		want plans.Decision
	}{
		{"", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 8}},
		{"decision {}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 8}},
		{"decision {\n false_pass = 0.001\n false_fail = 0.1\n launches = { min = 4, max = 12 }\n}", plans.Decision{FalsePass: 0.001, FalseFail: 0.1, Min: 4, Max: 12}},
		{"decision {\n launches = { max = 6 }\n}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 6}},
		{"decision {\n launches = { max = 1 }\n}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 1, Max: 1}},
		{"decision {\n launches = { min = 10 }\n}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 10, Max: 10}},
		{"decision {\n launches = null\n false_pass = null\n}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 8}},
		{"variable \"most\" { default = 6 }\ndecision {\n launches = { max = var.most }\n}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 6}},
	} {
		res := loadText("plan \"p\" {}\n" + c.text + "\n")
		if !res.OK() || *res.Plan.Decision != c.want {
			t.Errorf("%s\nis %+v\n%s", c.text, res.Plan.Decision, planstest.Text(&res.Findings))
		}
	}
	if Bytes("p.hcl", []byte("plan {"), nil, Options{}).Plan.Decision == nil {
		t.Error("a broken plan has no decision")
	}
	res := loadYAML("plan:\n  p: {}\ndecision:\n  false_pass: 0.001\n  launches: {min: 4, max: 6}\n")
	if d := res.Plan.Decision; !res.OK() || *d != (plans.Decision{FalsePass: 0.001, FalseFail: 0.05, Min: 4, Max: 6}) {
		t.Errorf("YAML: %+v\n%s", d, planstest.Text(&res.Findings))
	}
	res = loadText("plan \"p\" {}\ndecision {\n false_pass = 0.03\n}\n")
	if res.OK() || !strings.Contains(res.Diagnostics[0].Detail, "0.01") {
		t.Errorf("what is offered is not said: %s", planstest.Text(&res.Findings))
	}
}

func TestLaunchesOf(t *testing.T) {
	for _, c := range []struct {
		decision, benchmark string
		least, most         int
	}{
		{"", "", 2, 5}, // the registry of these tests has a default of 5
		{"", "launches = 8", 2, 8},
		{"", "launches = 1", 1, 1},
		{"decision {\n launches = { min = 4, max = 6 }\n}", "launches = 12", 4, 12},
		{"decision {\n launches = { min = 4, max = 6 }\n}", "launches = 3", 3, 3},
	} {
		const sent = "workloads = [workload.chat, workload.outs, workload.lens]"
		text := strings.Replace(planstest.RulePlan, sent, sent+"\n"+c.benchmark, 1)
		p := loadText(c.decision + "\n" + text).Plan
		if least, most := p.LaunchesOf("first"); least != c.least || most != c.most {
			t.Errorf("%+v: %d to %d", c, least, most)
		}
	}
	reg := planstest.Registry()
	bench := reg.Levels["benchmark"]
	bench.Attrs[2].Default = nil
	reg.Levels["benchmark"] = bench
	p := Bytes("p.hcl", []byte("decision {\n launches = { min = 4, max = 6 }\n}\n"+planstest.RulePlan), reg, Options{}).Plan
	if least, most := p.LaunchesOf("first"); least != 4 || most != 6 {
		t.Errorf("without launches: %d to %d", least, most)
	}
	for _, name := range []string{"first[routed]", "first@production"} {
		if least, most := p.LaunchesOf(name); least != 4 || most != 6 {
			t.Errorf("of %s: %d to %d", name, least, most)
		}
	}
	if least, most := p.LaunchesOf("nobody"); least != 0 || most != 0 {
		t.Errorf("of nobody: %d to %d", least, most)
	}
}

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
