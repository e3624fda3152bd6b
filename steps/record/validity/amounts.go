package validity

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// unequalTokens per answer, and unequalWork of the requested output, is how much more or
// less one arm may have generated than the other. Servers may count the token that ends a
// text, or not; beyond that, they did not do the same work. The hundredth of a token is
// for rounding.
const (
	unequalTokens = 1.01
	unequalWork   = 0.01
)

// unequalAmounts compares what arms generated of output whose length was enforced. If neither arm
// counts its tokens there is nothing to compare, nor any speed to decide by.
func unequalAmounts(parent, candidate []*ledger.Launch, parentName, name string) verdict.Reason {
	if len(parent) == 0 || len(candidate) == 0 {
		return verdict.Reason{}
	}
	for _, run := range parent[0].Cells {
		if !run.ExactOutput {
			continue
		}
		tokens, mine, ok := generatedShare(candidate, run.Of())
		others, theirs, known := generatedShare(parent, run.Of())
		switch {
		case ok != known:
			counted, not := name, parentName
			if known {
				counted, not = parentName, name
			}
			return verdict.Say("work.count_unknown",
				"{subject}: {counted} reports the tokens it generated in every launch, {not} does not: unknown "+
					"whether they did the same work",
				verdict.Text("counted", counted), verdict.Text("not", not)).On(run.Of())
		case ok && math.Abs(tokens-others) > unequalTokens && math.Abs(mine-theirs) > unequalWork:
			return verdict.Say("work.unequal",
				"{subject}: {one} generated {generated:4} of the requested tokens, {other} {other_generated:4}: "+
					"they did not do the same work",
				verdict.Text("one", name), verdict.Num("generated", mine, "share"), verdict.Text("other", parentName),
				verdict.Num("other_generated", theirs, "share")).On(run.Of())
		}
	}
	return verdict.Reason{}
}

// generatedShare is how many more tokens than requested came in a cell, per answer, and the
// share that came of those requested, over launches.
func generatedShare(launches []*ledger.Launch, cell string) (beyond, share float64, ok bool) {
	var came, missing, answers float64
	for _, launch := range launches {
		lost, has := launch.Metrics[cell+".shortfall"]
		out, generated := launch.Metrics[cell+".output_tokens"]
		if !has || !generated {
			return 0, 0, false
		}
		came += out.Stats["mean"] * float64(out.N)
		missing += lost.Stats["mean"] * float64(lost.N)
		answers += float64(lost.N)
	}
	if came+missing <= 0 {
		return 0, 0, false
	}
	return -missing / answers, came / (came + missing), true
}

// mixedTokenCounts reports if the tokens of some launches are the engine's and those of
// others stream events: their speeds are not comparable.
func mixedTokenCounts(parent, candidate []*ledger.Launch, parentName, name string) verdict.Reason {
	seen := map[string]bool{}
	for _, launch := range slices.Concat(parent, candidate) {
		for _, run := range launch.Cells {
			if seen[run.Of()] {
				continue
			}
			seen[run.Of()] = true
			mine, n := byEvents(candidate, run.Of())
			theirs, of := byEvents(parent, run.Of())
			counted, not := name, parentName
			if len(mine) > 0 {
				counted, not = parentName, name
			}
			switch {
			case len(mine)+len(theirs) == 0, len(mine)+len(theirs) == n+of:
			case len(mine) == 0 || len(theirs) == 0:
				return verdict.Say("work.counted_apart",
					"{subject}: tokens of {counted} were counted by the engine, some of {not} as stream events, "+
						"which may hold many each: not comparable",
					verdict.Text("counted", counted), verdict.Text("not", not)).On(run.Of())
			default:
				return verdict.Say("work.counted_mixed",
					"{subject}: tokens were counted by the engine in some launches, as stream events, which may "+
						"hold many each, in {launches:and}: not comparable",
					verdict.List("launches", slices.Concat(theirs, mine))).On(run.Of())
			}
		}
	}
	return verdict.Reason{}
}

// byEvents are the launches in which a cell's tokens were counted as stream events, among
// those that sent it.
func byEvents(launches []*ledger.Launch, cell string) (ids []string, of int) {
	for _, l := range launches {
		i := slices.IndexFunc(l.Cells, func(c measure.CellRun) bool { return c.Of() == cell })
		if i < 0 {
			continue
		}
		if of++; slices.ContainsFunc(l.Cells, func(c measure.CellRun) bool { return c.Of() == cell && c.ByEvents }) {
			ids = append(ids, l.ID)
		}
	}
	return ids, of
}

// unequalClocks is how much the SM clocks of arms may differ, and cappedShare the part of
// the measured time at the power limit above which they may differ more.
const (
	unequalClocks = 0.01
	cappedShare   = 0.01
)

// clocks compares the SM clocks of arms. At the power limit a port that draws more has a
// lower clock, which is its own doing; otherwise somebody set them, or the machine
// changed. If a GPU's clock was not read there is nothing to compare.
func clocks(parent, candidate []*ledger.Launch, parentName, name string) (why, note verdict.Reason) {
	theirs, known := meanOf(parent, "gpu.clock_mhz")
	mine, ok := meanOf(candidate, "gpu.clock_mhz")
	if !known || !ok || theirs <= 0 || math.Abs(mine/theirs-1) <= unequalClocks {
		return why, note
	}
	fact := func(c code.Fact) verdict.Reason {
		return verdict.New(c, verdict.Text("other", parentName), verdict.Num("clock", mine, "MHz"),
			verdict.Num("other_clock", theirs, "MHz"), verdict.Num("apart", math.Abs(mine/theirs-1), "share")).On(name)
	}
	one, seen := meanOf(parent, "gpu.power_capped_share")
	other, looked := meanOf(candidate, "gpu.power_capped_share")
	if !seen || !looked || max(one, other) > cappedShare {
		return why, fact(code.Of("gpu.clocks_follow",
			"the SM clock was {clock} for {subject} and {other_clock} for {other} ({apart:2} apart): caused by "+
				"the power limit, according to the driver"))
	}
	return fact(code.Of("gpu.clocks_apart",
		"the SM clock was {clock} for {subject} and {other_clock} for {other} ({apart:2} apart), not because of "+
			"a power limit: lock the clocks (nvidia-smi -lgc) and measure again")), note
}

// meanOf is the mean of a metric that all launches have once.
func meanOf(launches []*ledger.Launch, address string) (mean float64, known bool) {
	var values []float64
	for _, l := range launches {
		m, ok := l.Metrics[address]
		if !ok {
			return 0, false
		}
		values = append(values, m.Stats["median"])
	}
	mean, err := stats.ArithmeticMean(values)
	return mean, err == nil
}
