package validity

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// unequalWork is the share of requested output that one arm may have generated less than
// the other: beyond that, they did not do the same work.
const unequalWork = 0.01

// unequal compares the shortfall of arms in output whose length was enforced. If neither
// arm counts its tokens there is nothing to compare, nor any speed to decide by.
func unequal(parent, candidate []*ledger.Launch, parentName, name string) verdict.Reason {
	if len(parent) == 0 || len(candidate) == 0 {
		return verdict.Reason{}
	}
	for _, run := range parent[0].Cells {
		if !run.ExactOutput {
			continue
		}
		mine, ok := lacking(candidate, run.Cell)
		theirs, known := lacking(parent, run.Cell)
		switch {
		case ok != known:
			counted, not := name, parentName
			if known {
				counted, not = parentName, name
			}
			return verdict.New(code.CountUnknown, verdict.Text("counted", counted), verdict.Text("not", not)).On(run.Cell)
		case ok && (mine-theirs > unequalWork || theirs-mine > unequalWork):
			return verdict.New(code.UnequalWork, verdict.Text("one", name), verdict.Num("lacks", mine, "share"), verdict.Text("other", parentName), verdict.Num("other_lacks", theirs, "share")).On(run.Cell)
		}
	}
	return verdict.Reason{}
}

// lacking is the share of a cell's output that did not come, over launches.
func lacking(launches []*ledger.Launch, cell string) (share float64, ok bool) {
	var came, missing float64
	for _, launch := range launches {
		lost, has := launch.Metrics[cell+".shortfall"]
		out, generated := launch.Metrics[cell+".output_tokens"]
		if !has || !generated {
			return 0, false
		}
		came += out.Stats["mean"] * float64(out.N)
		missing += lost.Stats["mean"] * float64(lost.N)
	}
	if came+missing == 0 {
		return 0, false
	}
	return missing / (came + missing), true
}

// countedApart reports if the tokens of some launches are the engine's and those of
// others stream events: their speeds are not comparable.
func countedApart(parent, candidate []*ledger.Launch, parentName, name string) verdict.Reason {
	seen := map[string]bool{}
	for _, launch := range slices.Concat(parent, candidate) {
		for _, run := range launch.Cells {
			if seen[run.Cell] {
				continue
			}
			seen[run.Cell] = true
			mine, n := byEvents(candidate, run.Cell)
			theirs, of := byEvents(parent, run.Cell)
			counted, not := name, parentName
			if len(mine) > 0 {
				counted, not = parentName, name
			}
			switch {
			case len(mine)+len(theirs) == 0, len(mine)+len(theirs) == n+of:
			case len(mine) == 0 || len(theirs) == 0:
				return verdict.New(code.CountedApart, verdict.Text("counted", counted), verdict.Text("not", not)).On(run.Cell)
			default:
				return verdict.New(code.CountedMixed, verdict.List("launches", slices.Concat(theirs, mine))).On(run.Cell)
			}
		}
	}
	return verdict.Reason{}
}

// byEvents are the launches in which a cell's tokens were counted as stream events, among
// those that sent it.
func byEvents(launches []*ledger.Launch, cell string) (ids []string, of int) {
	for _, l := range launches {
		i := slices.IndexFunc(l.Cells, func(c measure.CellRun) bool { return c.Cell == cell })
		if i < 0 {
			continue
		}
		if of++; l.Cells[i].ByEvents {
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
	fact := func(c code.Code) verdict.Reason {
		return verdict.New(c, verdict.Text("other", parentName), verdict.Num("clock", mine, "MHz"), verdict.Num("other_clock", theirs, "MHz"), verdict.Num("apart", math.Abs(mine/theirs-1), "share")).On(name)
	}
	one, seen := meanOf(parent, "gpu.power_capped_share")
	other, looked := meanOf(candidate, "gpu.power_capped_share")
	if !seen || !looked || max(one, other) > cappedShare {
		return why, fact(code.ClocksFollow)
	}
	return fact(code.ClocksApart), note
}

// meanOf is the mean of a metric that all launches have once.
func meanOf(launches []*ledger.Launch, address string) (mean float64, known bool) {
	for _, l := range launches {
		m, ok := l.Metrics[address]
		if !ok {
			return 0, false
		}
		mean += m.Stats["median"] / float64(len(launches))
	}
	return mean, len(launches) > 0
}
