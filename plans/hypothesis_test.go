package plans

import (
	"strings"
	"testing"
)

// claimPlan is rulePlan with a claim in the first feature.
func claimPlan(metric, expect string) []byte {
	block := "    hypothesis {\n      metric  = \"" + metric + "\"\n      expect  = \"" + expect + "\"\n      because = \"of the kernel\"\n    }\n"
	return []byte(strings.Replace(rulePlan, `feature "first" {`+"\n", `feature "first" {`+"\n"+block, 1))
}

func TestHypothesesAreRules(t *testing.T) {
	for _, c := range []struct{ metric, expect, rule, claim string }{
		{"chat.tg", "+10%", "chat.tg.change >= 0.1", "ratio: chat.tg.change >= 0.1"},
		{"chat.tg", "-5%", "chat.tg.change <= -0.05", "ratio: chat.tg.change <= -0.05"},
		{"chat.ttft", "-7%", "chat.ttft.change <= -0.07", "ratio: chat.ttft.change <= -0.07"},
		{"chat.tg", "+0%", "chat.tg.change >= 0", "ratio: chat.tg.change >= 0"},
		{"chat.tg", "-0%", "chat.tg.change <= 0", "ratio: chat.tg.change <= 0"},
		{"chat.tg", ">= 32", "chat.tg >= 32", "log level: chat.tg >= 32"},
		{"chat.tg", "<32.5", "chat.tg <32.5", "log level: chat.tg < 32.5"},
		{"chat.ttft.p90", "-12.5%", "chat.ttft.p90 <= 0.875 * chat.ttft.base.p90", "ratio: chat.ttft.p90.change <= -0.125"},
		{"outs.o32.tg", "+10%", "outs.o32.tg.change >= 0.1", "ratio: outs.o32.tg.change >= 0.1"},
		{"outs.tg64", "+10%", "outs.o64.tg.change >= 0.1", "ratio: outs.o64.tg.change >= 0.1"},
		{"engine.startup_s", "-20%", "engine.startup_s.change <= -0.2", "ratio: engine.startup_s.change <= -0.2"},
		{"gpu.memory_gb", "+3%", "gpu.memory_gb.change >= 0.03", "range: gpu.memory_gb.change >= 0.03"},
		{"gpu.power_w", "<= 300", "gpu.power_w <= 300", "log level: gpu.power_w <= 300"},
		{"engine.crashes", "<= 0", "engine.crashes <= 0", "exact"},
	} {
		res := LoadBytes("p.hcl", claimPlan(c.metric, c.expect), testRegistry(), Options{})
		if !res.OK() {
			t.Errorf("%s %s: %s", c.metric, c.expect, res.text())
			continue
		}
		probe := res.Plan.Feature("first").Hypothesis.Probe
		if probe == nil || probe.Expr != c.rule || claimsOf(probe.Program) != c.claim {
			t.Errorf("%s %s is %+v", c.metric, c.expect, probe)
			if probe != nil {
				t.Log(claimsOf(probe.Program))
			}
		}
	}
	for _, c := range []struct{ metric, expect, want string }{
		{"chat.tg", "-100%", "Comparison can never hold"},
		{"chat.tg", "-250%", "Comparison can never hold"},
		{"chat.tgg", "+1%", "Unknown metric"},
		{"chat.tg.gain", "+1%", "Hypothesis without a metric"},
	} {
		res := LoadBytes("p.hcl", claimPlan(c.metric, c.expect), testRegistry(), Options{})
		if res.OK() || res.Diagnostics[0].Summary != c.want || res.Plan.Feature("first").Hypothesis.Probe != nil {
			t.Errorf("%s %s: %s", c.metric, c.expect, res.text())
		}
	}
}

func TestHypothesisDigest(t *testing.T) {
	h := Hypothesis{Metric: "chat.tg", Expect: "+10%", Because: "of it"}
	digest := h.Digest()
	if len(digest) != 64 {
		t.Fatal(digest)
	}
	same := h
	same.Because, same.Range = " of it\n", Range{File: "elsewhere.hcl"}
	if same.Digest() != digest {
		t.Error("white space or the place counts")
	}
	for _, other := range []Hypothesis{
		{Metric: "chat.pp", Expect: "+10%", Because: "of it"},
		{Metric: "chat.tg", Expect: "+11%", Because: "of it"},
		{Metric: "chat.tg", Expect: "+10%", Because: "of that"},
		{Metric: "chat.tg+10%", Because: "of it"},
	} {
		if other.Digest() == digest {
			t.Errorf("%+v has the same digest", other)
		}
	}
}
