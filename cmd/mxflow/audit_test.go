package main

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

func TestInputLine(t *testing.T) {
	value := func(f float64, unit string) verdict.Input {
		return verdict.Input{Path: "x", Value: &f, Unit: unit, N: 3}
	}
	for want, in := range map[string]verdict.Input{
		"x = 99.5 %  n = 3 launches":    value(0.995, "share"),
		"x = 0.995 ms  n = 3 launches":  value(0.995, "ms"),
		"x = 0.995  n = 3 launches":     value(0.995, ""),
		"x = missing: nothing was sent": {Path: "x", Missing: "nothing was sent"},
	} {
		if got := inputLine(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
