package main

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Ranks are the reference's: p99 of 500 values lies between the 490th and the last,
// p95 of 100 between the 90th and the last; p99 of 300 has no upper end.
func TestRanksSaid(t *testing.T) {
	for _, c := range []struct {
		stat     string
		requests int
		want     string
	}{
		{"p99", 1500, "p99 of about 500 requests: within a launch it lies between the 490th and the 500th"},
		{"p95", 300, "between the 90th and the 100th"},
		{"p99", 900, "p99 of about 300 requests, of which an interval within the launch takes 368"},
		{"median", 300, ""},
		{"mean", 300, ""},
	} {
		test := &verdict.Test{Stat: c.stat, Metric: "chat.ttft", Values: []float64{1, 2, 3}}
		got := ranksSaid(test, verdict.Rule{Inputs: []verdict.Input{{Path: "levels.kernels"}, {Path: "chat.ttft." + c.stat, NRequests: c.requests}}})
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s of %d: %q, want %q", c.stat, c.requests, got, c.want)
		}
	}
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 113: "113th", 121: "121st"} {
		if got := nth(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}
