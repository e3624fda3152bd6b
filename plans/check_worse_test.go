package plans

import (
	"fmt"
	"strings"
	"testing"
)

// slips loads a plan with one criterion and, where expect is not empty, a
// hypothesis on chat.ttft, and returns what is said of what passes on a loss.
func slips(t *testing.T, criterion, expect string) (said []string, res *Result) {
	t.Helper()
	const plain = "    criterion \"decode\" { rule = \"chat.tg.gain >= 0.1\" }\n"
	text := fmt.Sprintf("    criterion \"decode\" { rule = %q }\n", criterion)
	if expect != "" {
		text += fmt.Sprintf("    hypothesis {\n      metric = \"chat.ttft\"\n      expect = %q\n      because = \"of it\"\n    }\n", expect)
	}
	res = LoadBytes("plan.hcl", []byte(strings.Replace(rulePlan, plain, text, 1)), testRegistry(), Options{})
	if !res.OK() {
		t.Fatalf("%q %q: %s", criterion, expect, res.text())
	}
	for _, d := range res.Diagnostics {
		if CodeOf(d) == "only-when-worse" {
			said = append(said, d.Summary+": "+d.Detail)
		}
	}
	return said, res
}

func TestPassesOnlyWhenWorse(t *testing.T) {
	for _, c := range []struct{ rule, says string }{
		{"chat.ttft.gain <= -0.05", "chat.ttft is worse than that of its base, by at least 5 %|A gain with a plus is better|become better, write chat.ttft.gain >= 0.05;|so much and no more, chat.ttft.gain >= -0.05.|write not (chat.ttft.gain > -0.05)"},
		{"-0.05 > chat.ttft.gain", "write chat.ttft.gain >= 0.05;|no more, -0.05 < chat.ttft.gain."},
		{"chat.e2e.change >= 0.1", "of e2e less is better|write chat.e2e.change <= -0.1;|no more, chat.e2e.change <= 0.1."},
		{"chat.e2e.change > 1", "write chat.e2e.change <= -0.5;"},
		{"chat.ttft >= 1.1 * chat.ttft.base", "write chat.ttft.change <= -0.1;|no more, chat.ttft <= 1.1 * chat.ttft.base."},
		{"chat.ttft.max >= 1.1 * chat.ttft.base.max", "worse by so much and no more, write chat.ttft.max <= 1.1 * chat.ttft.base.max."},
		{"chat.ttft.delta >= 30", "by at least 30 ms|write chat.ttft.delta <= -30;"},
		{"chat.tg <= 0.9 * chat.tg.base", "of tg more is better|write chat.tg.change >= 0.1;"},
		{"chat.tg.root.change <= -0.1", "than that of the root, by|write chat.tg.root.change >= 0.1;"},
		{"chat.tg.gain < 0", "is worse than that of its base. A gain|become better, write chat.tg.gain > 0."},
		{"chat.tg.gain <= 0", "become better, write chat.tg.gain >= 0."},
		{"engine.memory_gb.delta >= 1", "by at least 1 GB"},
		{"chat.errors.delta == 1", "worse than that of its base, by at least 1|so much and no more, write chat.errors.delta <= 1.|write not (chat.errors.delta < 1)."},
		{"2 == chat.errors.delta", "write chat.errors.delta <= 2.|write not (chat.errors.delta < 2)."},
		{"chat.errors.delta in [2, 1]", "write chat.errors.delta <= 2.|write not (chat.errors.delta < 1)."},
		{"chat.pp.gain >= 0 and chat.tg.gain <= -0.05", "chat.tg.gain <= -0.05 passes only"},
	} {
		said, res := slips(t, c.rule, "")
		if len(said) != 1 {
			t.Errorf("%s: %q", c.rule, said)
			continue
		}
		for _, part := range strings.Split(c.says, "|") {
			if !strings.Contains(said[0], part) {
				t.Errorf("%s: no %q in\n%s", c.rule, part, said[0])
			}
		}
		if res.Plan.Feature("first").Criteria[0].Program.OnlyWorse == "" {
			t.Errorf("%s: the rule itself does not carry it", c.rule)
		}
	}
}

// What a plan may well mean is not warned of: such a warning costs trust.
func TestPassesOnlyWhenWorseSilent(t *testing.T) {
	for _, rule := range []string{
		"chat.ttft.gain >= -0.05", "chat.ttft.change <= 0.1", "chat.tg.gain <= 0.02", "chat.tg.gain >= -0.02 and chat.tg.gain <= 0.02",
		"not (chat.ttft.gain > -0.05)", "not (chat.ttft.gain < -0.05)", "chat.tg.gain >= 0.1 or chat.ttft.gain <= -0.05", "engine.memory_gb.delta >= 0",
		"chat.ttft <= 1.1 * chat.ttft.base", "chat.ttft >= 30", "chat.tg.gain >= 0",
	} {
		if said, _ := slips(t, rule, ""); len(said) > 0 {
			t.Errorf("%s: %q", rule, said)
		}
	}
}

// A hypothesis may foresee a loss where a criterion allows for it.
func TestHypothesisExpectsALoss(t *testing.T) {
	for _, c := range []struct{ rule, expect, says string }{
		{"chat.ttft.gain >= 0.1", "+100%", `criterion "decode"|wants chat.ttft.gain >= 0.1|of ttft, + is worse|write "-50%"`},
		{"chat.ttft.change <= 0.05", "+20%", `write "-20%"`},
		{"chat.tg.gain >= 0.1", "+20%", "no criterion allows for that loss"},
		{"chat.ttft.change <= 0.2", "+10%", ""},
		{"chat.ttft <= 300", "+10%", ""},
		{"not (chat.ttft.change < 0.1)", "+10%", ""},
		{"chat.ttft.gain >= 0.1", "-10%", ""},
		{"chat.ttft.gain >= 0.1", "<= 300", ""},
	} {
		said, _ := slips(t, c.rule, c.expect)
		if (c.says == "") != (len(said) == 0) {
			t.Errorf("%s, %s: %q", c.rule, c.expect, said)
			continue
		}
		for _, part := range strings.Split(c.says, "|") {
			if part != "" && !strings.Contains(said[0], part) {
				t.Errorf("%s, %s: no %q in\n%s", c.rule, c.expect, part, said[0])
			}
		}
	}
}
