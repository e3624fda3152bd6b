package tell

import (
	"math"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

func TestPilotInWords(t *testing.T) {
	slots := func(n, rounds int, v verdict.Verdict, change, low, high, spread, spreadHigh float64) verdict.Reason {
		return verdict.New(code.PilotSlots, verdict.Int("slots", n)).From(verdict.New(code.PilotChange,
			verdict.Int("at_once", 4), verdict.Int("rounds", rounds), verdict.Num("change", change, "ratio"), verdict.Num("low", low, "ratio"), verdict.Num("high", high, "ratio"),
			verdict.Num("within", 0.01, "spread"), verdict.Num("spread", spread, "times"), verdict.Num("spread_high", spreadHigh, "times"), verdict.Num("spread_within", 3, "times")).On("chat.tg").Is(v))
	}
	inf := math.Inf(1)
	for want, r := range map[string]verdict.Reason{
		"slots 4: 4 at once change chat.tg by -0.02% (allowed ±1.0%, bounds -0.3% to +0.4%; 12 rounds)":                                                                             slots(4, 12, verdict.Pass, -0.0002, -0.003, 0.004, 1.2, 2.1),
		"slots 1: 4 at once change chat.tg by -3.1% (allowed ±1.0%, bounds -3.9% to -2.2%; 6 rounds)":                                                                               slots(1, 6, verdict.Fail, -0.031, -0.039, -0.022, 1.2, 2.1),
		"slots 1: not shown that 4 at once leave chat.tg as it is: -0.6% (allowed ±1.0%, bounds -1.003% to -0.2%; 12 rounds)":                                                       slots(1, 12, verdict.Inconclusive, -0.006, -0.01003, -0.002, 1.2, 2.1),
		"slots 1: not shown that 4 at once leave chat.tg as it is: +0.1% (allowed ±1.0%, bounds -0.1% to +0.3%; launches vary 2.77× as much, perhaps 5.39×, allowed 3×; 12 rounds)": slots(1, 12, verdict.Inconclusive, 0.001, -0.001, 0.003, 2.77, 5.39),
		"slots 1: not shown that 4 at once leave chat.tg as it is: +0.0% (allowed ±1.0%, bounds -Inf to +Inf; launches vary +Inf as much, perhaps +Inf, allowed 3×; 12 rounds)":     slots(1, 12, verdict.Inconclusive, 0, -inf, inf, inf, inf),
	} {
		if got := Line(r); got != want {
			t.Errorf("\n  got  %q\n  want %q", got, want)
		}
	}
}
