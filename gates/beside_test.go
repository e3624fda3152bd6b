package gates

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Ranks are the reference's: p99 of 500 values is between the 490th and the last, p95 of
// 100 between the 90th and the last; p99 of 300 has no upper end.
func TestWithinLaunch(t *testing.T) {
	for _, c := range []struct {
		stat     string
		requests int
		want     string
	}{
		{"p99", 1500, "beside.ranks 500 490 500 0"},
		{"p95", 300, "beside.ranks 100 90 100 0"},
		{"p99", 900, "beside.ranks_lacking 300 0 0 368"},
		{"median", 300, " 0 0 0 0"},
		{"mean", 300, " 0 0 0 0"},
	} {
		r := &reading{Input: verdict.Input{NRequests: c.requests}, own: taken{values: []float64{1, 2, 3}}}
		got := withinLaunch(&verdict.Test{Stat: c.stat}, r)
		number := func(name string) float64 {
			if v := got.Args[name].Number; v != nil {
				return *v
			}
			return 0
		}
		if text := fmt.Sprint(got.Code, " ", number("requests"), number("low"), number("high"), number("takes")); text != c.want {
			t.Errorf("%s of %d: %s, want %s", c.stat, c.requests, text, c.want)
		}
	}
}

// Two arms, each with equal launches, differ from each other, and the spread is that of
// rounding unless more is on record.
func TestTied(t *testing.T) {
	test := verdict.Test{Form: verdict.Difference, Unit: "tok/s", Against: "baseline", Arm: "kv", Base: []float64{3, 3, 3, 3}, Values: []float64{5, 5, 5}, Resolution: 1}
	if arms := tied(&test); !slices.Equal(arms, []string{"baseline", "kv"}) {
		t.Error(arms)
	}
	if r := spreadOf(&test, scale{}, tied(&test)); r.Code != code.TiedRounded || tell.Line(r) != "all launches of baseline are equal, and so are those of kv: their spread is taken to be that of rounding, 1 tok/s/√12" {
		t.Error(r.Code, tell.Line(r))
	}
	test.Values = []float64{5, 6, 5}
	test.Floor = 2
	if r := spreadOf(&test, scale{}, tied(&test)); r.Code != code.TiedFloored || tell.Line(r) != "all launches of baseline are equal: their spread is taken to be the one on record" {
		t.Error(r.Code, tell.Line(r))
	}
	test.Base = test.Base[:1]
	if arms := tied(&test); arms != nil {
		t.Error(arms)
	}
}
