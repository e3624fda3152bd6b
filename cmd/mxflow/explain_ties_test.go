package main

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Two arms whose launches are all equal are not equal to each other.
func TestTiesAreWithinAnArm(t *testing.T) {
	two := verdict.Test{Form: verdict.Difference, Metric: "chat.tg", Unit: "tok/s", Against: "baseline", Arm: "kv_cache", Base: []float64{3, 3, 3, 3}, Values: []float64{5, 5, 5}, Resolution: 1}
	one := two
	one.Values = []float64{5, 6, 5}
	floored := two
	floored.Floor = 2
	for want, test := range map[string]verdict.Test{
		"All 4 launches of baseline are equal, and so are all 3 of kv_cache: their spread is taken as that of rounding,": two,
		"All 4 launches of baseline are equal: their spread is taken as that of rounding,":                               one,
		"All 4 launches of baseline are equal, and so are all 3 of kv_cache: their spread is taken as that on record.":   floored,
	} {
		if got := tiesSaid(&test); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
