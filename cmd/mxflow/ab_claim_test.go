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
		{"ttft", "-10%", "bench.ttft.gain >= 0.1", "takes at least 10 % less time than A (x)", "takes less than 10 % less time than A (x)"},
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
