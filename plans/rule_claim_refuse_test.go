package plans

import (
	"regexp"
	"strings"
	"testing"
)

// TestNearestForms: who is refused is told what to write, and that is accepted.
func TestNearestForms(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, summary, form string }{
		{"chat.tg == 31.5", "Equal to a measurement", "chat.tg >= 30.87 and chat.tg <= 32.13"},
		{"chat.tg.gain == 0", "Equal to a measurement", "chat.tg.gain >= -0.02 and chat.tg.gain <= 0.02"},
		{"-2 * chat.tg == -63", "Equal to a measurement", "chat.tg >= 30.87 and chat.tg <= 32.13"},
		{"chat.tg.base == chat.tg", "Equal to a measurement", "chat.tg.change >= -0.02 and chat.tg.change <= 0.02"},
		{"chat.ttft.p99 == chat.ttft.base.p99", "Equal to a measurement", "chat.ttft.p99 >= 0.98 * chat.ttft.base.p99 and chat.ttft.p99 <= 1.02 * chat.ttft.base.p99"},
		{"chat.tg in [31.5, 30]", "Equal to a measurement", "chat.tg >= 30 and chat.tg <= 31.5"},
		{"chat.tg not in [31.5, 30]", "Equal to a measurement", "(chat.tg >= 30 and chat.tg <= 31.5)"},
		{"chat.error_rate == 0", "Equal to a measurement", "chat.errors == 0"},
		{"chat.queue == 0", "Equal to a measurement", "chat.queue <= 0.02"},
		{"gpu.throttled_share == 1", "Equal to a measurement", "gpu.throttled_share >= 0.98"},
		{"engine.memory_gb == 80", "Equal to a measurement", "engine.memory_gb >= 80 and engine.memory_gb <= 80"},
		{"abs(chat.tg.change) <= 0.02", "Function of a measurement", "chat.tg.change >= -0.02 and chat.tg.change <= 0.02"},
		{"2 < abs(chat.tg - chat.tg.base)", "Function of a measurement", "(chat.tg - chat.tg.base < -2 or chat.tg - chat.tg.base > 2)"},
		{"not (abs(chat.tg.delta) > 2)", "Function of a measurement", "(chat.tg.delta < -2 or chat.tg.delta > 2)"},
		{"max(chat.ttft, chat.e2e) <= 500", "Function of a measurement", "chat.ttft <= 500 and chat.e2e <= 500"},
		{"500 < max(chat.ttft, chat.e2e)", "Function of a measurement", "(chat.ttft > 500 or chat.e2e > 500)"},
		{"min(chat.tg, chat.pp) >= 1.1 * target.llamacpp.chat.tg", "Function of a measurement", "chat.tg >= 1.1 * target.llamacpp.chat.tg and chat.pp >= 1.1 * target.llamacpp.chat.tg"},
		{"min(chat.ttft, chat.e2e) < 5", "Function of a measurement", "(chat.ttft < 5 or chat.e2e < 5)"},
	} {
		_, errs := r.compile(c.rule, "criterion")
		if len(errs) != 1 || errs[0].summary != c.summary || !strings.HasSuffix(errs[0].detail, " Write in its place: "+c.form+".") {
			t.Errorf("%s: %v, want %s", c.rule, errs, c.form)
			continue
		}
		if _, errs := r.compile(c.form, "criterion"); len(errs) > 0 {
			t.Errorf("%s is refused as well: %v", c.form, errs)
		}
	}
}

// shownForms are the rules that a message gives as examples.
var shownForms = regexp.MustCompile(`(?:feature\["[a-z]+"\]\.)?[a-z_]+(?:\.[a-z_0-9]+)+ [<>]= -?[0-9.]*[0-9]`)

// Where no form means the same, the message names addresses of the rule with
// which one can go on.
func TestNextBestForms(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, rule, summary, says string }{
		{"criterion", "chat.tg / chat.pp > 2", "Different measurements compared", "chat.tg.gain >= 0.05 and chat.pp.gain >= 0.05"},
		{"criterion", "chat.prompt_tokens.cv > chat.tg.cv", "Different measurements compared", "chat.prompt_tokens.change >= 0.05 and chat.tg.gain >= 0.05"},
		{"criterion", "chat.tg * chat.pp > 2", "Product of measurements", "chat.tg.gain >= 0.05 and chat.pp.gain >= 0.05"},
		{"criterion", "chat.tg.gain * chat.tg.base >= 2", "Product of measurements", "chat.tg.gain >= 0.05, or with a number"},
		{"criterion", "chat.tg / (1 - chat.error_rate) >= 30", "Product of measurements", "which may be zero"},
		{"criterion", "min(chat.tg, 5) > 3", "Function of a measurement", "by itself"},
		{"criterion", "chat.tg >= 0.9 * chat.tg.base + 5", "Relative and absolute in one comparison", "chat.tg.change >= -0.1, or with a number, as in chat.tg.delta >= 5"},
		{"criterion", "chat.tg.base >= chat.tg.root", "Nothing of the candidate", "chat.tg.root.change, against its parent chat.tg.change"},
		{"criterion", "chat.tg > 30 + engine.crashes * 0.5", "Units do not match", "count"},
		{"criterion", "chat.errors / chat.tg.n_requests < 0.1 * chat.tg.n_requests", "One launch against all in one comparison", "error_rate"},
		{"criterion", "chat.tg / (1 + engine.crashes) > 30", "Counted and measured in one comparison", "engine.crashes is counted"},
		{"three", `feature["first"].chat.tg > feature["second"].chat.tg`, "Features compared", `feature["first"].chat.tg.gain >= 0.05 and feature["second"].chat.tg.gain >= 0.05`},
		{"criterion", "chat.tg.gain <= -1", "Comparison can never hold", "more than -1"},
		{"criterion", "chat.ttft.gain >= 10", "Comparison can never hold", "less than 1"},
		{"criterion", "gpu.memory_gb.gain >= 1", "Comparison can never hold", "less than 1"},
		{"criterion", "not (chat.ttft.gain < 1)", "Comparison can never hold", "less than 1"},
		{"criterion", "chat.tg.change > -2", "Comparison always holds", "more than -1"},
		{"criterion", "chat.tg + chat.tg.base > 60", "Different measurements compared", "chat.tg.gain >= 0.05"},
		{"criterion", "chat.tg > -2 * chat.tg.base", "Comparison always holds", "more than -1"},
		{"criterion", "chat.tg - chat.tg > 2", "Comparison reads nothing", "cancels out"},
		{"criterion", "0 * chat.tg > 2", "Comparison reads nothing", "cancels out"},
		{"criterion", "chat.tg / 0 > 2", "Not a number", "divides by zero"},
	} {
		_, errs := r.compile(c.rule, c.place)
		if len(errs) != 1 || errs[0].summary != c.summary || !strings.Contains(errs[0].detail, c.says) {
			t.Errorf("%s: %v, want %s: …%s…", c.rule, errs, c.summary, c.says)
			continue
		}
		if strings.Contains(errs[0].summary, "hold") {
			continue // it quotes the rule
		}
		for _, form := range shownForms.FindAllString(strings.ReplaceAll(errs[0].detail, c.rule, ""), -1) {
			if _, errs := r.compile(strings.TrimSuffix(form, "."), c.place); len(errs) > 0 && form != "chat.tg.gain >= 0.10" {
				t.Errorf("%s: shows %s, which is refused: %v", c.rule, form, errs)
			}
		}
	}
}
