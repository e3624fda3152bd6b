package tell

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// TestRules are the sentences for what rules come to, as gates decides them.
func TestRules(t *testing.T) {
	want := map[string]string{}
	for _, c := range []struct{ rule, sentence string }{
		{"chat.tg.gain >= 0.10", "chat.tg.gain is +21.5%, as wanted (>= +10.0%): at least +20.3% shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"chat.tg.gain >= 1.0", "chat.tg.gain is +21.5%, wanted >= +100.0%: shown to be at most +22.2%, 4 launches an arm, p < 0.000001 ≤ 0.015"},
		{"1 <= chat.tg.gain", "chat.tg.gain is +21.5%, wanted >= +100.0%: shown to be at most +22.2%, 4 launches an arm, p < 0.000001 ≤ 0.015"},
		{"chat.tg.gain > 0.2154", "chat.tg.gain is +21.52%, wanted > +21.54%: between +20.3% and +22.2%: 4 launches an arm, and a chance of 1.1% that more would tell"},
		{"chat.ttft.gain >= 0.10", "chat.ttft.gain is +17.7%, as wanted (>= +10.0%): at least +16.9% shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"chat.ttft.change <= 0.05", "chat.ttft.change is -17.7%, as wanted (<= +5.0%): at most -16.9% shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"chat.tg.delta > 5", "chat.tg.delta is 6.818 tok/s, as wanted (> 5 tok/s): at least 6.509 tok/s shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"chat.tg.root.change > 0.5", "chat.tg.root.change is +92.5%, as wanted (> +50.0%): at least +77.6% shown, 4 launches an arm, p = 0.000066 ≤ 0.002"},
		{"chat.tg >= 38", "chat.tg is 38.5 tok/s, as wanted (>= 38 tok/s): at least 38.17 tok/s shown, 4 launches, p = 0.000575 ≤ 0.002"},
		{"chat.tg.base < 30", "chat.tg.base is 31.68 tok/s, wanted < 30 tok/s: shown to be at least 31.48 tok/s, 4 launches, p = 0.00003 ≤ 0.015"},
		{"chat.tg.root.max < 50", "chat.tg.root.max is 39.99 tok/s, as wanted (< 50 tok/s): at most 43.42 tok/s shown, 4 launches, p = 0.000105 ≤ 0.002"},
		{"chat.tg.cv <= 0.05", "chat.tg.cv is 10.0%, wanted <= 5.0%: shown to be at least 10.0%, 4 launches, p < 0.000001 ≤ 0.015"},
		{"chat.tg.n >= 3", "chat.tg.n is 4 launches, as wanted (>= 3 launches), n = 4 launches"},
		{"chat.tg.n_requests > 100", "chat.tg.n_requests is 40 requests, wanted > 100 requests, n = 4 launches: there may be up to 8 launches"},
		{"chat.tg.n_requests < 40", "chat.tg.n_requests is 40 requests, wanted < 40 requests, n = 4 launches"},
		{"chat.tg > target.other.chat.tg", "chat.tg is 38.5 tok/s, wanted > 57.85 tok/s of target.other.chat.tg: shown to be at most 38.66 tok/s, 4 launches, p < 0.000001 ≤ 0.015"},
		{"chat.tg >= 0.5 * target.other.chat.tg", "chat.tg is 38.5 tok/s, as wanted (>= 28.93 tok/s of 0.5 * target.other.chat.tg): at least 38.17 tok/s shown, 4 launches, p < 0.000001 ≤ 0.002"},
		{"chat.tg / target.other.chat.tg > 0.5", "chat.tg / target.other.chat.tg is 0.6655, as wanted (> 0.5): chat.tg at least 38.17 tok/s shown, 4 launches, p < 0.000001 ≤ 0.002"},
		{"chat.tg > chat.tg.base", "chat.tg is 38.5 tok/s, as wanted (> 31.68 tok/s of chat.tg.base): chat.tg.change at least +20.3% shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"engine.crashes == 0", "engine.crashes is 0, as wanted, n = 4 launches, which shows less than 53% (95% confidence)"},
		{"engine.crashes in [1, 2]", "engine.crashes is 0, wanted one of 1, 2, n = 4 launches: 0 of 4 starts crashed"},
		{"engine.memory_gb.delta <= 2", "engine.memory_gb.delta is 0 GB, as wanted (<= 2 GB): at most 0 GB of any two launches, 4 launches an arm"},
		{"chat.output_tokens.min == 8", "chat.output_tokens.min is 8 tokens, as wanted, n = 4 launches"},
		{"levels.kernels == 'pass'", "levels.kernels is pass, as wanted"},
		{"'fail' == levels.kernels", "levels.kernels is pass, wanted fail"},
		{"levels.kernels != 'fail'", "levels.kernels is pass, as wanted (anything but fail)"},
		{"not (levels.kernels != 'pass')", "levels.kernels is pass, as wanted (pass)"},
		{"levels.kernels in ['pass', 'inconclusive']", "levels.kernels is pass, as wanted (one of pass, inconclusive)"},
		{"levels.kernels not in ['pass']", "levels.kernels is pass, wanted none of pass"},
		{"not (chat.tg >= 30)", "chat.tg is 38.5 tok/s, wanted not >= 30 tok/s: shown to be at least 38.34 tok/s, 4 launches, p < 0.000001 ≤ 0.015"},
		{`feature["f"].verdict == 'pass'`, `feature["f"].verdict is pass, as wanted`},
		{`feature["f"].accepted`, `feature["f"].accepted is true`},
		{`not feature["f"].accepted`, `feature["f"].accepted is true`},
		{`feature["f"].accepted == true and feature["f"].decided`, `feature["f"].accepted is true, as wanted; feature["f"].decided is true`},
		{"knob.moe == 'routed' and chat.tg < 1", "knob.moe is routed, as wanted; chat.tg is 38.5 tok/s, wanted < 1 tok/s: shown to be at least 38.34 tok/s, 4 launches, p < 0.000001 ≤ 0.015"},
	} {
		want[c.rule] = c.sentence
	}
	data, err := os.ReadFile("../testdata/facts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c struct {
			Rule    string           `json:"rule"`
			Reasons []verdict.Reason `json:"reasons"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if got := Joined(c.Reasons); got != want[c.Rule] {
			t.Errorf("%s:\ngot  %s\nwant %s", c.Rule, got, want[c.Rule])
		}
		delete(want, c.Rule)
	}
	for rule := range want {
		t.Errorf("gates records no facts of %s", rule)
	}
}
