package gates

import (
	"math"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// The sentences are what people read in reports, and what the ledger keeps.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		rule    string
		verdict verdict.Verdict
		want    string
	}{
		{"chat.tg.gain >= 0.10", "pass", "chat.tg.gain is +21.5 %, as wanted (>= +10.0 %): at least +20.3 % shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"chat.tg.gain >= 1.0", "fail", "chat.tg.gain is +21.5 %, wanted >= +100.0 %: shown to be at most +22.2 %, 4 launches an arm, p < 0.000001 ≤ 0.015"},
		{"1 <= chat.tg.gain", "fail", "chat.tg.gain is +21.5 %, wanted >= +100.0 %: shown to be at most +22.2 %, 4 launches an arm, p < 0.000001 ≤ 0.015"},
		{"chat.tg.gain > 0.2154", "inconclusive", "chat.tg.gain is +21.52 %, wanted > +21.54 %: between +20.3 % and +22.2 %: 4 launches an arm, and a chance of 1.1 % that more would tell"},
		{"chat.ttft.gain >= 0.10", "pass", "chat.ttft.gain is +17.7 %, as wanted (>= +10.0 %): at least +16.9 % shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"chat.ttft.change <= 0.05", "pass", "chat.ttft.change is -17.7 %, as wanted (<= +5.0 %): at most -16.9 % shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"chat.tg.delta > 5", "pass", "chat.tg.delta is 6.818 tok/s, as wanted (> 5 tok/s): at least 6.509 tok/s shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"chat.tg.root.change > 0.5", "pass", "chat.tg.root.change is +92.5 %, as wanted (> +50.0 %): at least +77.6 % shown, 4 launches an arm, p = 0.000066 ≤ 0.002"},
		{"chat.tg >= 38", "pass", "chat.tg is 38.5 tok/s, as wanted (>= 38 tok/s): at least 38.17 tok/s shown, 4 launches, p = 0.000575 ≤ 0.002"},
		{"chat.tg.base < 30", "fail", "chat.tg.base is 31.68 tok/s, wanted < 30 tok/s: shown to be at least 31.48 tok/s, 4 launches, p = 0.00003 ≤ 0.015"},
		{"chat.tg.root.max < 50", "pass", "chat.tg.root.max is 39.99 tok/s, as wanted (< 50 tok/s): at most 43.42 tok/s shown, 4 launches, p = 0.000105 ≤ 0.002"},
		{"chat.tg.cv <= 0.05", "fail", "chat.tg.cv is 10.0 %, wanted <= 5.0 %: shown to be at least 10.0 %, 4 launches, p < 0.000001 ≤ 0.015"},
		{"chat.tg.n >= 3", "pass", "chat.tg.n is 4 launches, as wanted (>= 3 launches), n = 4 launches"},
		{"chat.tg.n_requests > 100", "inconclusive", "chat.tg.n_requests is 40 requests, wanted > 100 requests, n = 4 launches: there may be up to 8 launches"},
		{"chat.tg.n_requests < 40", "fail", "chat.tg.n_requests is 40 requests, wanted < 40 requests, n = 4 launches"},
		{"chat.tg > target.other.chat.tg", "fail", "chat.tg is 38.5 tok/s, wanted > 57.85 tok/s of target.other.chat.tg: shown to be at most 38.66 tok/s, 4 launches, p < 0.000001 ≤ 0.015"},
		{"chat.tg >= 0.5 * target.other.chat.tg", "pass", "chat.tg is 38.5 tok/s, as wanted (>= 28.93 tok/s of 0.5 * target.other.chat.tg): at least 38.17 tok/s shown, 4 launches, p < 0.000001 ≤ 0.002"},
		{"chat.tg / target.other.chat.tg > 0.5", "pass", "chat.tg / target.other.chat.tg is 0.6655, as wanted (> 0.5): chat.tg at least 38.17 tok/s shown, 4 launches, p < 0.000001 ≤ 0.002"},
		{"chat.tg > chat.tg.base", "pass", "chat.tg is 38.5 tok/s, as wanted (> 31.68 tok/s of chat.tg.base): chat.tg.change at least +20.3 % shown, 4 launches an arm, p < 0.000001 ≤ 0.002"},
		{"engine.crashes == 0", "pass", "engine.crashes is 0, as wanted, n = 4 launches, which shows less than 53 % (95 % confidence)"},
		{"engine.crashes in [1, 2]", "fail", "engine.crashes is 0, wanted one of 1, 2, n = 4 launches: 0 of 4 starts crashed"},
		{"engine.memory_gb.delta <= 2", "pass", "engine.memory_gb.delta is 0 GB, as wanted (<= 2 GB): at most 0 GB of any two launches, 4 launches an arm"},
		{"chat.output_tokens.min == 8", "pass", "chat.output_tokens.min is 8 tokens, as wanted, n = 4 launches"},
		{"levels.kernels == 'pass'", "pass", "levels.kernels is pass, as wanted"},
		{"'fail' == levels.kernels", "fail", "levels.kernels is pass, wanted fail"},
		{"levels.kernels != 'fail'", "pass", "levels.kernels is pass, as wanted (anything but fail)"},
		{"not (levels.kernels != 'pass')", "pass", "levels.kernels is pass, as wanted (pass)"},
		{"levels.kernels in ['pass', 'inconclusive']", "pass", "levels.kernels is pass, as wanted (one of pass, inconclusive)"},
		{"levels.kernels not in ['pass']", "fail", "levels.kernels is pass, wanted none of pass"},
		{"not (chat.tg >= 30)", "fail", "chat.tg is 38.5 tok/s, wanted not >= 30 tok/s: shown to be at least 38.34 tok/s, 4 launches, p < 0.000001 ≤ 0.015"},
		{`feature["f"].verdict == 'pass'`, "pass", `feature["f"].verdict is pass, as wanted`},
		{`feature["f"].accepted`, "pass", `feature["f"].accepted is true`},
		{`not feature["f"].accepted`, "fail", `feature["f"].accepted is true`},
		{`feature["f"].accepted == true and feature["f"].decided`, "pass", `feature["f"].accepted is true, as wanted; feature["f"].decided is true`},
		{"knob.moe == 'routed' and chat.tg < 1", "fail", "knob.moe is routed, as wanted; chat.tg is 38.5 tok/s, wanted < 1 tok/s: shown to be at least 38.34 tok/s, 4 launches, p < 0.000001 ≤ 0.015"},
	} {
		got := decided(compiled(t, c.rule), full())
		if reasons := strings.Join(got.Reasons, "; "); got.Verdict != c.verdict || reasons != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.rule, got.Verdict, reasons, c.want)
		}
	}
}

func TestComparisons(t *testing.T) {
	got := decided(compiled(t, "chat.tg.gain >= 0.1 and levels.smoke in ['fail']"), full())
	want := []verdict.Comparison{
		{Text: "chat.tg.gain >= 0.1", Left: "+21.5 %", Op: ">=", Right: "+10.0 %", Holds: true, Verdict: verdict.Pass},
		{Text: "levels.smoke in ['fail']", Left: "pass", Op: "in", Right: "fail", Holds: false, Verdict: verdict.Fail},
	}
	if len(got.Comparisons) != len(want) {
		t.Fatalf("%+v", got.Comparisons)
	}
	for i, c := range got.Comparisons {
		if c.Test == nil {
			t.Errorf("%s does not say how it was decided", c.Text)
		}
		if c.Test = nil; c != want[i] {
			t.Errorf("%+v, want %+v", c, want[i])
		}
	}
	if got.Name != "r" || got.Expr != "chat.tg.gain >= 0.1 and levels.smoke in ['fail']" || got.Source != "plan.hcl:40:14" || !got.Decides {
		t.Errorf("%+v", got)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		f    float64
		unit string
		want string
	}{
		{0, "GB", "0 GB"},
		{math.Copysign(0, -1), "", "0"},
		{0.00004369, "GB", "4.369e-05 GB"},
		{-0.00004369, "GB", "-4.369e-05 GB"},
		{0.001, "s", "0.001 s"},
		{0.0123456, "s", "0.01235 s"},
		{0.5, "s", "0.5 s"},
		{31.677, "tok/s", "31.68 tok/s"},
		{31, "tok/s", "31 tok/s"},
		{999.96, "ms", "1000 ms"},
		{2449.83, "tok/s", "2450 tok/s"},
		{11849.37, "tok/s", "11849 tok/s"},
		{131072, "tokens", "131072 tokens"},
		{1234567.8, "ms", "1234568 ms"},
		{12345678.9, "ms", "1.235e+07 ms"},
		{123456789, "tokens", "123456789 tokens"},
		{1e300, "ms", "1e+300 ms"},
		{3, "count", "3"},
		{1, "share", "100 %"},
		{0.29, "share", "29 %"},
		{2.0 / 3, "share", "66.67 %"},
		{-0.05, "share", "-5 %"},
		{0.1, "ratio", "+10.0 %"},
		{-0.0001, "ratio", "-0.01 %"},
		{31.59, "ratio", "+3159.0 %"},
		{1e9, "ratio", "+1.0e+11 %"},
	} {
		if got := format(c.f, c.unit, 0); got != c.want {
			t.Errorf("%v %s: got %q, want %q", c.f, c.unit, got, c.want)
		}
	}
	for _, c := range []struct {
		a, b float64
		unit string
		want string
	}{
		{0.0996, 0.1, "ratio", "+9.96 % and +10.00 %"},
		{0.1, 0.1, "ratio", "+10.0 % and +10.0 %"},
		{-0.00001, 0, "ratio", "-0.001 % and +0.0 %"},
		{0.98999, 0.99, "share", "98.999 % and 99 %"},
		{31.999, 32, "tok/s", "31.999 tok/s and 32 tok/s"},
		{1.5, 1.5 + 4e-14, "s", "1.5 s and 1.50000000000004 s"},
		{100, math.Nextafter(100, 101), "tok/s", "100 tok/s and 100 tok/s"},
	} {
		a, b := apart(c.a, c.b, c.unit)
		if got := a + " and " + b; got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestMeasured: what a hypothesis claims is read like the input of a rule, and
// nothing is said where nothing can be read.
func TestMeasured(t *testing.T) {
	if got := Measured(nil, &Evidence{}); got != "" {
		t.Errorf("without a probe: %q", got)
	}
	rule := compiled(t, "chat.tg.change > 0")
	if got := Measured(rule, &Evidence{}); got != "" {
		t.Errorf("without evidence: %q", got)
	}
	if got := Measured(rule, full()); !strings.Contains(got, "%, n = 4 against 4 launches") {
		t.Errorf("measured: %q", got)
	}
}

// TestCrashBound: each crash that a launch counts was a start besides the launches
// that count, and a bound is written as a number.
func TestCrashBound(t *testing.T) {
	for _, c := range []struct {
		crashes []float64
		rule    string
		want    string
	}{
		{[]float64{0, 0, 0, 0}, "engine.crashes == 0", "less than 53 % "},
		{[]float64{0, 0}, "engine.crashes <= 2", "less than 78 % "},
		{[]float64{3, 0, 0, 0}, "engine.crashes <= 3", "less than 77 % "},
		{[]float64{1, 1}, "engine.crashes <= 2", "less than 90 % "},
		{[]float64{200, 0}, "engine.crashes <= 200", "less than 100 % "},
	} {
		ev := with(func(f *Feature) {
			f.Candidate.Launches = f.Candidate.Launches[:len(c.crashes)]
			for i, n := range c.crashes {
				set(&f.Candidate, i, "engine.crashes", "median", n)
			}
		})
		got := decided(compiled(t, c.rule), ev)
		if got.Verdict != verdict.Pass || !strings.Contains(got.Reasons[0], c.want) {
			t.Errorf("%v: %s %q, wanted %q", c.crashes, got.Verdict, got.Reasons, c.want)
		}
	}
}
