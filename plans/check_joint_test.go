package plans

import (
	"fmt"
	"strings"
	"testing"
)

// judged loads a plan whose first feature has these criteria and whose first gate
// has these rules, and returns what is said of those that stand beside each other.
func judged(t *testing.T, settings string, criteria, gate []string) (said []string) {
	t.Helper()
	const plain = "    criterion \"decode\" { rule = \"chat.tg.gain >= 0.1\" }\n  }\n}\n"
	var b strings.Builder
	b.WriteString(settings)
	for i, rule := range criteria {
		fmt.Fprintf(&b, "    criterion \"c%d\" { rule = %q }\n", i, rule)
	}
	b.WriteString("  }\n  gate {\n    rule \"kernels\" { expr = \"feature[\\\"first\\\"].levels.kernels == 'pass'\" }\n")
	for i, rule := range gate {
		fmt.Fprintf(&b, "    rule \"r%d\" { expr = %q }\n", i, rule)
	}
	b.WriteString("  }\n}\n")
	res := LoadBytes("plan.hcl", []byte(strings.Replace(rulePlan, plain, b.String(), 1)), testRegistry(), Options{})
	if !res.OK() {
		t.Fatalf("%q %q: %s", criteria, gate, res.text())
	}
	for _, d := range res.Diagnostics {
		if code := CodeOf(d); code == "never-holds" || code == "only-inconclusive" {
			said = append(said, d.Summary+": "+d.Detail)
		}
	}
	return said
}

// TestRulesThatNeverPassTogether: what is said has to name all of it.
func TestRulesThatNeverPassTogether(t *testing.T) {
	for _, c := range []struct {
		name           string
		criteria, gate []string
		settings, says string
	}{
		{"two rules", nil, []string{"chat.tg.gain >= 0.05", "chat.tg.gain <= 0.03"}, "", `rule "r0" (plan.hcl:61) asks for chat.tg.gain >= 0.05, and rule "r1" (plan.hcl:62) for chat.tg.gain <= 0.03|chat.tg.gain cannot be at least 0.05 and at most 0.03 at once|remove it`},
		{"one rule", nil, []string{"chat.tg.gain >= 0.05 and chat.tg.gain <= 0.03"}, "", "cannot both hold|write or between them"},
		{"two forms", nil, []string{"chat.tg >= 1.05 * chat.tg.base", "chat.tg.gain <= 0.03"}, "", "chat.tg.change cannot be at least 0.05 and at most 0.03"},
		{"a gain of less", nil, []string{"chat.ttft.gain >= 0.05", "chat.ttft >= 0.97 * chat.ttft.base"}, "", "chat.ttft.change cannot be at most -0.05 and at least -0.03"},
		{"no loss of less", nil, []string{"chat.ttft.gain >= 0", "chat.ttft.change > 0.02"}, "", "chat.ttft.change cannot be at most 0 and more than 0.02"},
		{"gains of less", nil, []string{"chat.ttft.gain >= 0.05", "0.03 > chat.ttft.gain"}, "", "chat.ttft.gain cannot be at least 0.05 and less than 0.03"},
		{"memory", nil, []string{"engine.memory_gb < 80", "engine.memory_gb > 90"}, "", "engine.memory_gb cannot be less than 80 and more than 90"},
		{"memory against its base", nil, []string{"engine.memory_gb.gain >= 0.1", "engine.memory_gb.change >= 0"}, "", "change cannot be at most -0.1 and at least 0"},
		{"a level in two units", nil, []string{"1000 / chat.tpot > 30", "chat.tpot >= 40"}, "", "chat.tpot cannot be less than 33.3333333333 and at least 40"},
		{"against a target", nil, []string{"chat.tg >= target.llamacpp.chat.tg", "chat.tg <= 0.9 * target.llamacpp.chat.tg"}, "", "at least 57.85 and at most 52.065"},
		{"the bounds that collide", nil, []string{"chat.tg >= 40", "chat.tg <= 100", "chat.pp >= 3", "chat.tg <= 30"}, "", `"r0" (plan.hcl:61) asks for chat.tg >= 40, and rule "r3" (plan.hcl:64)`},
		{"a feature by its name", nil, []string{`feature["first"].chat.tg.gain >= 0.05`, "chat.tg.gain <= 0.03"}, "", `feature["first"].chat.tg.gain >= 0.05, and rule "r1"`},
		{"counts", []string{"chat.errors == 0", "chat.errors >= 1"}, nil, "", `criterion "c0" (plan.hcl:57)|chat.errors cannot be exactly 0 and at least 1`},
		{"a count of several", []string{"chat.errors in [0, 1]", "chat.errors > 1"}, nil, "", "chat.errors cannot be at least 0 and at most 1 and more than 1 at once"},
		{"levels", nil, []string{"levels.kernels != 'pass'"}, "", `rule "kernels" (plan.hcl:60)|feature["first"].levels.kernels == 'pass'|levels.kernels cannot be pass and other than pass`},
		{"words", []string{"levels.smoke in ['pass', 'fail']", "levels.smoke == 'inconclusive'"}, nil, "", "one of pass, fail and inconclusive"},
		{"yes and no", nil, []string{`feature["first"].accepted`, `not feature["first"].accepted`}, "", `not (feature["first"].accepted)|cannot be true and false`},
		{"two sides", []string{"chat.tg.gain >= 0.05", "chat.pp.gain >= 0", "chat.tg.gain <= 0.03 or chat.pp.gain < -0.1"}, nil, "", `No side of the or|chat.tg.gain <= 0.03 contradicts chat.tg.gain >= 0.05 of criterion "c0" (plan.hcl:57) and chat.pp.gain < -0.1 contradicts`},
		{"sides within sides", []string{"chat.tg.gain >= 0.05", "chat.tg.gain <= 0.03 or (chat.pp.gain >= 0 and (chat.tg.gain < 0 or chat.pp.gain < -0.5))"}, nil, "", "No side of the or"},
		{"a side that is denied", []string{"chat.tg.gain >= 0.05", "not (chat.tg.gain > 0.03 and not (chat.tg.change < 0))"}, nil, "", "No side of the or|not (chat.tg.gain > 0.03) contradicts"},
		{"one side by itself", []string{"(chat.tg >= 40 and chat.tg <= 30) or chat.pp.gain >= 0"}, nil, "", "chat.tg >= 40 and chat.tg <= 30 cannot both hold"},
		{"a criterion by itself", []string{"chat.tg.gain >= 0", "chat.pp >= 9 and chat.pp <= 8"}, nil, "    accept = [\"c0\"]\n", "chat.pp >= 9 and chat.pp <= 8 cannot both hold"},
		{"a feature that has to have passed", []string{"chat.tg.gain >= 0.05"}, []string{`feature["first"].verdict == 'pass'`, "chat.tg.gain <= 0.03"}, "", `criterion "c0" of feature "first" (plan.hcl:57)|do not ask for feature "first" to have passed`},
		{"one that is accepted", []string{"chat.tg.gain >= 0.05"}, []string{`chat.tg.gain <= 0.03 and feature["first"].accepted`}, "", `criterion "c0" of feature "first"`},
		{"room for no test", nil, []string{"chat.tg.gain >= 0.05", "chat.tg <= 1.05 * chat.tg.base"}, "", `inconclusive: rule "r0" (plan.hcl:61) asks for|leave|between the bounds`},
		{"room for no test in one rule", nil, []string{"chat.tg.gain >= 0.05 and chat.tg.gain <= 0.05"}, "", "leave one number"},
	} {
		if c.criteria == nil {
			c.criteria = []string{"chat.e2e.gain >= 0"}
		}
		said := judged(t, c.settings, c.criteria, c.gate)
		if len(said) != 1 {
			t.Errorf("%s: %q", c.name, said)
			continue
		}
		for _, part := range strings.Split(c.says, "|") {
			if !strings.Contains(said[0], part) {
				t.Errorf("%s: no %q in\n%s", c.name, part, said[0])
			}
		}
	}
}

// TestRulesThatPassTogether: nothing is said where something can hold, or where it
// is not the same quantity.
func TestRulesThatPassTogether(t *testing.T) {
	for _, c := range []struct {
		name           string
		criteria, gate []string
		settings       string
	}{
		{"a range", nil, []string{"chat.tg.gain >= 0.03", "chat.tg.gain <= 0.05"}, ""},
		{"a range of a gain of less", nil, []string{"chat.ttft.gain >= 0.03", "chat.ttft >= 0.95 * chat.ttft.base"}, ""},
		{"memory may be one number", nil, []string{"engine.memory_gb >= 80", "engine.memory_gb <= 80"}, ""},
		{"so may a count", []string{"chat.errors >= 2", "chat.errors <= 2", "chat.errors == 2", "chat.errors in [1, 3]"}, nil, ""},
		{"other statistics", nil, []string{"chat.ttft.max >= 500", "chat.ttft <= 300"}, ""},
		{"other bases", nil, []string{"chat.tg.gain <= 0.03", "chat.tg.root.gain >= 0.05"}, ""},
		{"other relations", nil, []string{"chat.tg.delta >= 2", "chat.tg.gain <= 0.03", "chat.tg >= 50"}, ""},
		{"the parent", nil, []string{"chat.tg >= 50", "chat.tg.base <= 40"}, ""},
		{"other metrics", nil, []string{"chat.tg.gain >= 0.05", "chat.pp.gain <= 0.03"}, ""},
		{"other cells", nil, []string{"outs.o32.tg.gain >= 0.05", "outs.o64.tg.gain <= 0.03"}, ""},
		{"one of two", nil, []string{"chat.tg.gain >= 0.05 or chat.tg.gain <= 0.03"}, ""},
		{"the other of two", []string{"chat.tg.gain >= 0.05", "chat.tg.gain <= 0.03 or chat.pp.gain >= 0.1"}, nil, ""},
		{"denied", nil, []string{"not (chat.tg.gain >= 0.05 and chat.tg.gain <= 0.03)"}, ""},
		{"a side that leaves one number", []string{"chat.tg.gain >= 0.05", "chat.tg.gain <= 0.05 or chat.pp.gain >= 0.1"}, nil, ""},
		{"a criterion that need not hold", []string{"chat.tg.gain >= 0.05", "chat.tg.gain <= 0.03"}, nil, "    accept = [\"c0\"]\n"},
		{"two that need not", []string{"chat.pp.gain >= 0", "chat.tg.gain >= 0.05", "chat.tg.gain <= 0.03"}, nil, "    accept = [\"c0\"]\n"},
		{"a gate decides for itself", []string{"chat.tg.gain >= 0.05"}, []string{"chat.tg.gain <= 0.03"}, ""},
		{"also where a feature may have failed", []string{"chat.tg.gain >= 0.05"}, []string{`feature["first"].verdict in ['pass', 'fail']`, "chat.tg.gain <= 0.03"}, ""},
		{"or has to have", []string{"chat.tg.gain >= 0.05"}, []string{`feature["first"].verdict != 'pass'`, `not feature["first"].accepted`, "chat.tg.gain <= 0.03"}, ""},
		{"or is one way", []string{"chat.tg.gain >= 0.05"}, []string{`feature["first"].accepted or chat.pp.gain >= 0`, "chat.tg.gain <= 0.03"}, ""},
		{"words", []string{"levels.smoke in ['pass', 'inconclusive']", "levels.smoke != 'inconclusive'", "chat.tg > 0.1 and knob.moe == 'routed' and knob.moe != 'all'"}, nil, ""},
	} {
		if c.criteria == nil {
			c.criteria = []string{"chat.e2e.gain >= 0"}
		}
		if said := judged(t, c.settings, c.criteria, c.gate); len(said) > 0 {
			t.Errorf("%s: %q", c.name, said)
		}
	}
}
