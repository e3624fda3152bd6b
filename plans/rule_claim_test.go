package plans

import (
	"fmt"
	"strings"
	"testing"
)

// claimText shows a claim: its form, then "input op threshold".
func claimText(c *Claim) string {
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

func claimsOf(p *Program) string {
	var list []string
	for _, l := range p.Leaves {
		list = append(list, claimText(l.Claim))
	}
	return strings.Join(list, "; ")
}

func TestClaims(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want string }{
		// A number of the plan, on either side, moved about and scaled.
		{"chat.tg.gain >= 0.10", "ratio: chat.tg.gain >= 0.1"},
		{"0.10 <= chat.tg.gain", "ratio: chat.tg.gain >= 0.1"},
		{"not (chat.tg.gain < 0.10)", "ratio: chat.tg.gain >= 0.1"},
		{"not (not (chat.tg.gain > 0.10))", "ratio: chat.tg.gain > 0.1"},
		{"1 + chat.tg.gain >= 1.1", "ratio: chat.tg.gain >= 0.1"},
		{"-chat.tg.gain <= -0.1", "ratio: chat.tg.gain >= 0.1"},
		{"100 * chat.tg.gain >= 10", "ratio: chat.tg.gain >= 0.1"},
		{"2 * (chat.tg.gain - 0.3) / 4 + 0.1 >= 0", "ratio: chat.tg.gain >= 0.1"},
		{"chat.ttft.gain > 0.2", "ratio: chat.ttft.gain > 0.2"},
		{"chat.ttft.change < 0.05", "ratio: chat.ttft.change < 0.05"},
		{"chat.tg.root.gain >= 1.5", "ratio: chat.tg.root.gain >= 1.5"},
		{"2 * chat.ttft.delta < 30", "difference: chat.ttft.delta < 15"},
		{"chat.error_rate.delta <= 0.01", "difference: chat.error_rate.delta <= 0.01"},
		{"chat.accept_rate.change >= -0.1", "ratio: chat.accept_rate.change >= -0.1"},
		{"0 < chat.tg.gain < 1", "ratio: chat.tg.gain > 0; ratio: chat.tg.gain < 1"},
		// A metric and its own base.
		{"chat.tg / chat.tg.base >= 1.1", "ratio: chat.tg.change >= 0.1"},
		{"chat.tg >= 1.1 * chat.tg.base", "ratio: chat.tg.change >= 0.1"},
		{"0.97 * chat.tg.base <= chat.tg", "ratio: chat.tg.change >= -0.03"},
		{"chat.tg.base / chat.tg <= 0.8", "ratio: chat.tg.change >= 0.25"},
		{"(chat.tg - chat.tg.base) / chat.tg.base > 0.1", "ratio: chat.tg.change > 0.1"},
		{"chat.tg.delta >= 0.1 * chat.tg.base", "ratio: chat.tg.change >= 0.1"},
		{"chat.tg.base + chat.tg.delta >= 1.1 * chat.tg.base", "ratio: chat.tg.change >= 0.1"},
		{"chat.tg > chat.tg.base", "ratio: chat.tg.change > 0"},
		{"not (chat.ttft.p50 > 1.05 * chat.ttft.base)", "ratio: chat.ttft.change <= 0.05"},
		{"chat.ttft.max <= 1.05 * chat.ttft.base.max", "ratio: chat.ttft.max.change <= 0.05"},
		{"chat.tg >= 2 * chat.tg.root", "ratio: chat.tg.root.change >= 1"},
		{"chat.tg - chat.tg.base >= 2", "difference: chat.tg.delta >= 2"},
		{"chat.ttft.max <= chat.ttft.base.max + 5", "difference: chat.ttft.max.delta <= 5"},
		{"chat.tg.root + 0.5 < chat.tg", "difference: chat.tg.root.delta > 0.5"},
		{"chat.error_rate <= chat.error_rate.base", "difference: chat.error_rate.delta <= 0"},
		{"chat.error_rate <= 0.5 * chat.error_rate.base", "ratio: chat.error_rate.change <= -0.5"},
		{"chat.tg.cv <= chat.tg.base.cv", "difference: chat.tg.cv.delta <= 0"},
		// Levels.
		{"chat.tg >= 32", "log level: chat.tg >= 32"},
		{"chat.tg >= 1.05 * target.llamacpp.chat.tg", "log level: chat.tg >= 60.7425"},
		{"chat.tg / target.llamacpp.chat.tg >= 2", "log level: chat.tg >= 115.7"},
		{"chat.tg >= max(target.llamacpp.chat.tg, 60)", "log level: chat.tg >= 60"},
		{"chat.ttft.p95 < 0.5 * 600", "log level: chat.ttft.p95 < 300"},
		{"1000 / chat.tpot > 30", "log level: chat.tpot < 33.3333333333"},
		{"10 / (5 / chat.tg) >= 60", "log level: chat.tg >= 30"},
		{"chat.tg.base >= 30", "log level: chat.tg.base >= 30"},
		{"chat.tg.root.mean >= 30", "log level: chat.tg.root.mean >= 30"},
		{"gpu.power_w <= 300", "log level: gpu.power_w <= 300"},
		{"chat.error_rate <= 0.01", "level: chat.error_rate <= 0.01"},
		{"chat.queue < 5", "level: chat.queue < 5"},
		{"chat.tg.cv <= 0.05", "level: chat.tg.cv <= 0.05"},
		{"chat.tg > -1", "level: chat.tg > -1"},
		{"chat.accept_length >= 2", "level: chat.accept_length >= 2"},
		// What a launch has once.
		{"engine.memory_gb <= 80", "range: engine.memory_gb <= 80"},
		{"engine.memory_gb.delta <= 1", "range: engine.memory_gb.delta <= 1"},
		{"gpu.memory_gb <= 1.05 * gpu.memory_gb.base", "range: gpu.memory_gb.change <= 0.05"},
		{"gpu.memory_gb.gain >= 0.1", "range: gpu.memory_gb.gain >= 0.1"},
		{"gpu.memory_gb - gpu.memory_gb.base < 0.5", "range: gpu.memory_gb.delta < 0.5"},
		// What is counted, words and outcomes.
		{"engine.crashes == 0", "exact"},
		{"chat.errors <= 0.5 * chat.errors.base + 1", "exact"},
		{"chat.tg.n_requests < 10 * chat.tg.base.n_requests", "exact"},
		{"chat.cached_tokens == 0 and chat.tg.n >= 4", "exact; exact"},
		{"max(chat.errors, chat.retry_count) in [0, 1]", "exact"},
		{"levels.smoke in ['pass'] and knob.moe != 'all'", "exact; exact"},
	} {
		p, errs := r.compile(c.rule, "criterion")
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.rule, errs)
		} else if got := claimsOf(p); got != c.want {
			t.Errorf("%s\nwant %s\ngot  %s", c.rule, c.want, got)
		}
	}
}

// What a gate reads of a feature is claimed of that feature.
func TestClaimsOfOtherFeatures(t *testing.T) {
	r := newRules(t)
	p, errs := r.compile(`feature["second"].chat.tg >= 1.1 * feature["second"].chat.tg.base and feature["first"].chat.tg.gain > 0`, "three")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if got, want := claimsOf(p), `ratio: feature["second"].chat.tg.change >= 0.1; ratio: feature["first"].chat.tg.gain > 0`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	in := p.Leaves[0].Claim.Input
	if in.Feature != "second" || in.Relation != Change || in.Unit != "" || in.Stat != "median" || in.Metric != "tg" || in.Cell != "chat" || in.Root {
		t.Errorf("made up %+v", in)
	}
	for _, known := range p.Inputs {
		if known == in {
			t.Error("what is made up is none of the rule's inputs")
		}
	}
}
