package report

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// stackSessions are the launches by which the stack, or the baseline while it is
// empty, was measured on the engine that the baseline has, by session, newest first:
// its knob values are those of the launch, whatever the arm was called.
func stackSessions(st *store.Store, stack Stack) (name string, sessions [][]*ledger.Launch) {
	name = stackVariant
	if len(stack.Features) == 0 {
		name = ledger.Baseline
	}
	block := baselineBlock(st)
	bySession := map[string][]*ledger.Launch{}
	var order []string
	for _, l := range st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark, OK: true}) {
		if l.Knobs == nil || !maps.Equal(l.Knobs, stack.Knobs) || len(l.Invalid) > 0 || block != "" && l.Block != block {
			continue
		}
		bySession[l.Session] = append(bySession[l.Session], l)
		order = append(order, l.Session)
	}
	// By place in the ledger and not by clock, which may be set back.
	for _, session := range slices.Backward(order) {
		if launches := bySession[session]; launches != nil {
			sessions = append(sessions, launches)
			delete(bySession, session)
		}
	}
	return name, sessions
}

// newestOf are the launches of the newest session that measured something. One that
// was sent the workload counts, whatever came of it; a feature's own protocol may
// send another. Where none did, it is the newest.
func newestOf(sessions [][]*ledger.Launch, address string) []*ledger.Launch {
	for _, launches := range sessions {
		if slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return measures(l, address) }) {
			return launches
		}
	}
	if len(sessions) > 0 {
		return sessions[0]
	}
	return nil
}

func measures(l *ledger.Launch, address string) bool {
	cell, _ := measure.SplitAddress(address)
	_, has := l.Metrics[address]
	return has || slices.ContainsFunc(l.Cells, func(run measure.CellRun) bool { return run.Cell == cell })
}

// lacks says that a launch does not have a statistic, and why.
func lacks(l *ledger.Launch, address, stat string) verdict.Reason {
	why := measure.WhyAbsent(l.Metrics, address)
	if s, has := l.Metrics[address]; has {
		why = s.Lacks(stat)
	}
	return verdict.New(code.LaunchLacks, verdict.Text("address", address), verdict.Text("stat", stat), verdict.Text("why", why)).On(l.ID)
}

// baselineBlock is the engine that the baseline was qualified on last.
func baselineBlock(st *store.Store) (block string) {
	for _, l := range st.Launches(store.LaunchFilter{Node: ledger.Baseline}) {
		if l.Block != "" {
			block = l.Block
		}
	}
	return block
}
