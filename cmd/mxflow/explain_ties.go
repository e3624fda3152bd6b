package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// tiesSaid says where a spread comes from that no launch shows: of arms whose
// launches are all equal.
func tiesSaid(t *verdict.Test) string {
	spread := t.Resolution / math.Sqrt(12)
	if t.Resolution <= 0 || len(t.Values) == 0 {
		return ""
	}
	var equal []string
	for _, arm := range []struct {
		name   string
		values []float64
	}{{t.Against, t.Base}, {t.Arm, t.Values}} {
		if n := len(arm.values); n > 1 && slices.Min(arm.values) == slices.Max(arm.values) {
			if len(equal) == 0 {
				equal = append(equal, fmt.Sprintf("all %d launches of %s are equal", n, arm.name))
			} else { // to each other, not to those of the other arm
				equal = append(equal, fmt.Sprintf("so are all %d of %s", n, arm.name))
			}
		}
	}
	if len(equal) == 0 {
		return ""
	}
	if spread < t.Floor {
		return sentence(strings.Join(equal, ", and ") + ": their spread is taken as that on record")
	}
	tick := t.Resolution
	if t.Form == verdict.Ratio || t.Form == verdict.LogLevel {
		tick *= slices.Min(slices.Concat(t.Values, t.Base))
	}
	text := rawText(t, tick)
	if t.Unit == "ms" && tick < 1e-3 {
		text = fmt.Sprintf("%.2g ns", 1e6*tick)
	}
	return sentence(fmt.Sprintf("%s: their spread is taken as that of rounding, %s/√12", strings.Join(equal, ", and "), text))
}
