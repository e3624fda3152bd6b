package tell

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// TestRules checks the sentences for the results of rules, as gates decides them.
func TestRules(t *testing.T) {
	want := map[string]string{}
	for _, c := range []struct{ rule, sentence string }{
		{"chat.tg.gain >= 0.10", "chat.tg.gain +21.5% (required ≥ +10%, lower bound +13.9%, 4 launches per arm)"},
		{"chat.tg.gain >= 1.0", "chat.tg.gain +21.5% (required ≥ +100%, upper bound +27.8%, 4 launches per arm)"},
		{"1 <= chat.tg.gain", "chat.tg.gain +21.5% (required ≥ +100%, upper bound +27.8%, 4 launches per arm)"},
		{"chat.tg.gain > 0.2154", "chat.tg.gain +21.52% (required > +21.54%, bounds +13.9% to +27.8%, 4 launches per arm: undecided, more had a 1.1% chance of deciding)"},
		{"chat.ttft.gain >= 0.10", "chat.ttft.gain +17.7% (required ≥ +10%, lower bound +12.2%, 4 launches per arm)"},
		{"chat.ttft.change <= 0.05", "chat.ttft.change -17.7% (required ≤ +5%, upper bound -12.2%, 4 launches per arm)"},
		{"chat.tg.delta > 4", "chat.tg.delta 6.818 tok/s (required > 4 tok/s, lower bound 4.192 tok/s, 4 launches per arm)"},
		{"chat.tg.root.change > 0.5", "chat.tg.root.change +92.5% (required > +50%, lower bound +77.6%, 4 launches per arm)"},
		{"chat.tg >= 35", "chat.tg 38.5 tok/s (required ≥ 35 tok/s, lower bound 36.07 tok/s, 4 launches)"},
		{"chat.tg.base < 29", "chat.tg.base 31.68 tok/s (required < 29 tok/s, lower bound 30.13 tok/s, 4 launches)"},
		{"chat.tg.root.max < 50", "chat.tg.root.max 39.99 tok/s (required < 50 tok/s, upper bound 43.42 tok/s, 4 launches)"},
		{"chat.tg.cv <= 0.05", "chat.tg.cv 10.0% (required ≤ 5%, lower bound 9.5%, 4 launches)"},
		{"chat.tg.n >= 3", "chat.tg.n 4 launches (required ≥ 3 launches, 4 launches)"},
		{"chat.tg.n_requests > 100", "chat.tg.n_requests 40 requests (required > 100 requests, 4 launches, up to 8 allowed: undecided)"},
		{"chat.tg.n_requests < 40", "chat.tg.n_requests 40 requests (required < 40 requests, 4 launches)"},
		{"chat.tg > target.other.chat.tg", "chat.tg 38.5 tok/s (required > target.other.chat.tg = 57.85 tok/s, upper bound 40.48 tok/s, 4 launches)"},
		{"chat.tg >= 0.5 * target.other.chat.tg", "chat.tg 38.5 tok/s (required ≥ 0.5 * target.other.chat.tg = 28.93 tok/s, lower bound 36.07 tok/s, 4 launches)"},
		{"2 * chat.tg > target.other.chat.tg", "2 * chat.tg 77 tok/s (required > target.other.chat.tg = 57.85 tok/s, chat.tg lower bound 36.07 tok/s, 4 launches)"},
		{"chat.tg > chat.tg.base", "chat.tg 38.5 tok/s (required > chat.tg.base = 31.68 tok/s, chat.tg.change lower bound +13.9%, 4 launches per arm)"},
		{"engine.crashes == 0", "engine.crashes 0 (as required, 4 launches, crash rate below 53% with 95% confidence)"},
		{"engine.crashes in [1, 2]", "engine.crashes 0 (required one of 1, 2, 4 launches, 0 of 4 starts crashed)"},
		{"engine.memory_gb.delta <= 2", "engine.memory_gb.delta 0 GB (required ≤ 2 GB, upper bound 0 GB over all pairs of launches, 4 launches per arm)"},
		{"chat.output_tokens.min == 8", "chat.output_tokens.min 8 tokens (as required, 4 launches)"},
		{"levels.kernels == 'pass'", "levels.kernels pass (as required)"},
		{"'fail' == levels.kernels", "levels.kernels pass (required fail)"},
		{"levels.kernels != 'fail'", "levels.kernels pass (required anything but fail)"},
		{"not (levels.kernels != 'pass')", "levels.kernels pass (required pass)"},
		{"levels.kernels in ['pass', 'inconclusive']", "levels.kernels pass (required one of pass, inconclusive)"},
		{"levels.kernels not in ['pass']", "levels.kernels pass (required none of pass)"},
		{"not (chat.tg >= 30)", "chat.tg 38.5 tok/s (required < 30 tok/s, lower bound 36.61 tok/s, 4 launches)"},
		{`feature["f"].verdict == 'pass'`, `feature["f"].verdict pass (as required)`},
		{`feature["f"].accepted`, `feature["f"].accepted is true`},
		{`not feature["f"].accepted`, `feature["f"].accepted is true`},
		{`feature["f"].accepted == true and feature["f"].decided`, `feature["f"].accepted true (as required); feature["f"].decided is true`},
		{"knob.moe == 'routed' and chat.tg < 1", "knob.moe routed (as required); chat.tg 38.5 tok/s (required < 1 tok/s, lower bound 36.61 tok/s, 4 launches)"},
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

func TestInput(t *testing.T) {
	value := func(f float64, unit string) verdict.Input {
		return verdict.Input{Path: "x", Value: &f, Unit: unit, N: 3}
	}
	for want, in := range map[string]verdict.Input{
		"x = 99.5%  n = 3 launches":        value(0.995, "share"),
		"x = 0.995 ms  n = 3 launches":     value(0.995, "ms"),
		"x = 0.995  n = 3 launches":        value(0.995, ""),
		"x = missing: not a finite number": {Path: "x", Missing: verdict.New(code.NotFinite)},
	} {
		if got := Input(in, verdict.Rule{}.Estimate(in)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
