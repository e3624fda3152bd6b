package main

import (
	"strings"
	"testing"
)

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		metric, text, rule, says, not string
	}{
		{"tg", "", "bench.tg.gain >= -0.03", "is at most 3 % slower than A (x)", "is more than 3 % slower than A (x)"},
		{"tg", "+10%", "bench.tg.gain >= 0.1", "is at least 10 % faster than A (x)", "is less than 10 % faster than A (x)"},
		{"tg", " -2.5 % ", "bench.tg.gain >= -0.025", "is at most 2.5 % slower than A (x)", "is more than 2.5 % slower than A (x)"},
		{"pp", "+0%", "bench.pp.gain >= 0", "is not slower than A (x)", "is slower than A (x)"},
		{"ttft", "", "bench.ttft.gain >= -0.03", "takes at most 3 % more time than A (x)", "takes more than 3 % more time than A (x)"},
		{"ttft", "-10%", "bench.ttft.gain >= 0.1", "takes at least 10 % less time than A (x)", "does not take 10 % less time than A (x)"},
		{"ttft", "+5%", "bench.ttft.gain >= -0.05", "takes at most 5 % more time than A (x)", "takes more than 5 % more time than A (x)"},
		{"e2e", "+0%", "bench.e2e.gain >= 0", "takes no more time than A (x)", "takes more time than A (x)"},
	} {
		got, err := parseClaim(c.metric, c.text)
		if err != nil || got.rule() != c.rule || got.says("x") != c.says || got.not("x") != c.not {
			t.Errorf("%s %q: %q, %q, %q (%v); want %q, %q, %q", c.metric, c.text, got.rule(), got.says("x"), got.not("x"), err, c.rule, c.says, c.not)
		}
	}
	for _, c := range [][3]string{
		{"tg", "10%", "write '+10%'"},
		{"tg", "+10", "write '+10%'"},
		{"tg", "+1x", "write"},
		{"tg", "+NaN%", "write"},
		{"tg", ">= 32", "write"},
		{"tg", "-95%", "out of reach"},
		{"tg", "+1e9%", "write"},
		{"tg", "+9999999999%", "out of reach"},
		{"ttft", "-100%", "out of reach"},
		{"watts", "+1%", "none of"},
	} {
		if got, err := parseClaim(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s %q: %v, %v; want %q", c[0], c[1], got, err, c[2])
		}
	}
}

// What is said beside the answer is true of the bounds.
func TestBesideTheAnswer(t *testing.T) {
	for _, c := range []struct {
		metric, claim string
		low, high     float64
		way, worse    string
	}{
		{"tg", "", -0.029, -0.01, " It is slower, by 2.9 % at most.", ""},
		{"tg", "", 0.011, 0.05, " It is faster, by 1.1 % at least.", ""},
		{"tg", "", -0.01, 0.05, " Whether it is faster stays open.", ""},
		{"ttft", "", 0.01, 0.025, " It is slower, by 2.5 % at most.", ""},
		{"tg", "+10%", -0.12, -0.07, "", " It is slower, by 7.0 % at least."},
		{"tg", "+10%", -0.02, 0.07, "", ""},
		{"ttft", "-10%", 0.3, 2.8, "", " It takes more, by 30.0 % at least."},
		{"ttft", "-10%", -0.08, 0.2, "", ""},
	} {
		claim, err := parseClaim(c.metric, c.claim)
		if err != nil {
			t.Fatal(err)
		}
		r := &abResult{Low: &c.low, High: &c.high}
		if got := r.worse(claim); got != c.worse {
			t.Errorf("%s %q [%v, %v]: %q, want %q", c.metric, c.claim, c.low, c.high, got, c.worse)
		}
		if got := r.whichWay(claim); c.claim == "" && got != c.way {
			t.Errorf("%s [%v, %v]: %q, want %q", c.metric, c.low, c.high, got, c.way)
		}
	}
}
