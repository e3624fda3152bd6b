package lint_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
)

// TestWarningsPointAtTheComparison covers lines on which a fixture cannot have comments.
func TestWarningsPointAtTheComparison(t *testing.T) {
	for _, c := range []struct{ attribute, want string }{
		{
			"  rule = <<-EOT\n    levels.kernels == 'pass'\n      and chat.ttft > 0\n  EOT",
			"60:11-24 Comparison always holds",
		},
		{
			`  rule = "chat.tg > 0 and \u0063hat.ttft < 0"`,
			"58:11-22 Comparison always holds; 58:27-45 Comparison can never hold",
		},
		{`  rule = "chat.tg > ${0}"`, "58:11-25 Comparison always holds"},
	} {
		res := load.Bytes("plan.hcl", planstest.RulePlanWith(c.attribute), planstest.Registry(), load.Options{})
		must.Equal(t, c.attribute, places(res), c.want)
	}
}

// warnedPlan has rules in several styles of YAML.
//
//go:embed testdata/warned.yaml
var warnedPlan string

// TestWarningsInYAML: the places are those of the YAML file.
func TestWarningsInYAML(t *testing.T) {
	broken := load.Bytes("plan.yaml", []byte(warnedPlan), planstest.Registry(), load.Options{})
	if got := places(broken); got != "20:51-61 Level not in the protocol" {
		t.Errorf("got %s\n%s", got, planstest.Text(&broken.Findings))
	}
	sound := load.Bytes("plan.yaml", []byte(strings.Replace(warnedPlan, "levels['x'] == 1 ", "chat.tg < 0", 1)),
		planstest.Registry(), load.Options{})
	if got := places(sound); got != "19:49-62 Comparison always holds; 20:51-62 Comparison can never hold; 22:19-20 "+
		"Comparison always holds" {
		t.Errorf("got %s\n%s", got, planstest.Text(&sound.Findings))
	}
}

func places(r *load.Result) string {
	var list []string
	for _, d := range r.Diagnostics {
		if d.Summary == "Nothing is qualified" {
			continue
		}
		list = append(list,
			fmt.Sprintf("%d:%d-%d %s", d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.End.Column, d.Summary))
	}
	return strings.Join(list, "; ")
}

// warnings loads a plan with one criterion, and returns the warnings with a code.
func warnings(t *testing.T, criterion, code string) (said string) {
	t.Helper()
	text := planstest.RulePlanWith(fmt.Sprintf("rule = %q", criterion))
	res := load.Bytes("plan.hcl", text, planstest.Registry(), load.Options{})
	if !res.OK() {
		t.Fatalf("%q: %s", criterion, planstest.Text(&res.Findings))
	}
	for _, d := range res.Diagnostics {
		if lang.CodeOf(d) == code {
			said += d.Summary + ": " + d.Detail + "\n"
		}
	}
	return said
}

// TestPassesOnlyWhenWorse: there is no warning about what a plan may well mean: such a warning costs trust.
func TestPassesOnlyWhenWorse(t *testing.T) {
	for _, c := range []struct{ rule, says string }{
		{"chat.ttft.gain <= -0.05", "chat.ttft.gain <= -0.05 passes only if ttft is worse|a positive gain is better"},
		{"-0.05 > chat.ttft.gain", "-0.05 > chat.ttft.gain passes only"},
		{"chat.e2e.change >= 0.1", "a change or delta has the sign of the number"},
		{"chat.ttft >= 1.1 * chat.ttft.base", "passes only if ttft is worse"},
		{"chat.ttft.max >= 1.1 * chat.ttft.base.max", "passes only if ttft is worse"},
		{"chat.ttft.delta >= 30", "passes only if ttft is worse"},
		{"chat.tg <= 0.9 * chat.tg.base", "passes only if tg is worse"},
		{"chat.tg.root.change <= -0.1", "passes only if tg is worse"},
		{"chat.tg.gain < 0", "passes only if tg is worse"},
		{"chat.tg.gain <= 0", "passes only if tg is worse"},
		{"engine.memory_gb.delta >= 1", "passes only if memory_gb is worse"},
		{"chat.errors.delta >= 1", "passes only if errors is worse"},
		{"chat.pp.gain >= 0 and chat.tg.gain <= -0.05", "chat.tg.gain <= -0.05 passes only"},
	} {
		said := warnings(t, c.rule, "only-when-worse")
		for _, part := range strings.Split(c.says, "|") {
			if strings.Count(said, "\n") != 1 || !strings.Contains(said, part) {
				t.Errorf("%s: no %q in\n%s", c.rule, part, said)
			}
		}
	}
	for _, rule := range []string{
		"chat.ttft.gain >= -0.05", "chat.ttft.change <= 0.1", "chat.tg.gain <= 0.02",
		"chat.tg.gain >= -0.02 and chat.tg.gain <= 0.02",
		"not (chat.ttft.gain > -0.05)", "not (chat.ttft.gain < -0.05)",
		"chat.tg.gain >= 0.1 or chat.ttft.gain <= -0.05", "engine.memory_gb.delta >= 0",
		"chat.ttft <= 1.1 * chat.ttft.base", "chat.ttft >= 30", "chat.tg.gain >= 0",
	} {
		must.Equal(t, rule, warnings(t, rule, "only-when-worse"), "")
	}
}
