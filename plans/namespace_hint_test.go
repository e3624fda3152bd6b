package plans

import (
	"strings"
	"testing"
)

// TestRulesSayWhatWasMeant: each is what somebody wrote who knew what they wanted.
func TestRulesSayWhatWasMeant(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, says string }{
		{"chat.tg >= baseline.chat.tg", "write chat.tg.base."},
		{"chat.tg.p50 >= base.chat.tg.p50", "write chat.tg.base.p50."},
		{"chat.tg >= root.chat.tg", "write chat.tg.root."},
		{"baseline.ttft <= chat.ttft", "write chat.ttft.base."},
		{"root.ttft.p90 <= chat.ttft.p90", "write chat.ttft.root.p90."},
		{"baseline.engine.memory_gb <= 80", "write engine.memory_gb.base."},
		{"baseline.memory_gb <= 80", "write engine.memory_gb.base."},
		{"baseline.gpu.utilization <= 80", "write gpu.utilization.base."},
		{"baseline.chat <= 80", "behind the metric: put .base there."},
		{"root.tps <= 80", "behind the metric: put .root there."},
		{"candidate.chat.tg >= 30", "write chat.tg."},
		{"tg.gain >= 0.1", "write chat.tg.gain."},
		{"memory_gb <= 80", "write engine.memory_gb."},
		{"utilization >= 0.5", "write gpu.utilization."},
		{"chat.tps >= 30", `Did you mean "tg"?`},
		{"chat.decode.gain >= 0.1", `Did you mean "tg"?`},
		{"chat.latency <= 300", `Did you mean "e2e"?`},
		{"chat.tg.gain >= '5%'", "Write 0.05, without quotes"},
		{"'5%' <= chat.tg.gain", "Write 0.05, without quotes"},
		{"chat.error_rate <= '5%'", "Write 0.05, without quotes"},
		{"chat.tg >= '5%'", "5% of what? Compare a .gain or a .change with 0.05, without quotes, or write a number in tok/s."},
		{"engine.crashes <= '5%'", "5% of what?"},
		{"chat.tg.gain >= '0.1'", "Write 0.1, without quotes"},
		{"chat.tg.gain >= 0,05", "with a point"},
		{"(chat.tg.gain >= 0,05 or chat.pp.gain >= 1)", "with a point"},
		{"chat.errors in [0,1] and chat.tg.gain >= 0,05", "with a point"},
		{"chat.errors in [0,1] and chat.tg => 30", "Write >="},
		{"chat.errors in [0,1", "closing bracket"},
		{"max(1,2) <= chat.tg and", "missing behind the last word"},
		{"chat.tg >= max(1,2", "closing bracket"},
		{"chat.tg.gain >= 0.1 or", "missing behind the last word"},
		{"chat.tg.gain >=", "missing behind the last sign"},
		{"(chat.tg.gain >= 0.1", "closing bracket"},
		{"chat.tg >= target.llama.chat.tg", "llamacpp"},
		{"chat.tg >= target.other.chat.tg", "There is llamacpp."},
	} {
		_, errs := r.compile(c.rule, "criterion")
		if len(errs) != 1 || !strings.Contains(errs[0].detail, c.says) {
			t.Errorf("%s: no %q in", c.rule, c.says)
			for _, e := range errs {
				t.Errorf("  %s: %s", e.summary, e.detail)
			}
		}
	}
}

func TestReferenceInQuotes(t *testing.T) {
	text := strings.Replace(rulePlan, "feature \"first\" {\n", "feature \"first\" {\n    builds_on = \"accepted\"\n", 1)
	res := LoadBytes("plan.hcl", []byte(text), testRegistry(), Options{})
	if len(res.Diagnostics) == 0 || !strings.Contains(res.Diagnostics[0].Detail, "Write accepted, without quotes.") {
		t.Errorf("%s", res.text())
	}
}
