package report

import (
	"slices"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// ModelsTitle is the title of ModelsTable.
const ModelsTitle = "Decode speed of the accepted stack, by configuration and model; × is relative to the baseline of its session."

// ModelsTable has a row per cell and a column per engine that features were decided on:
// the speed of what is accepted there, and its speed-up over the baseline. It has no rows
// if features were decided on fewer than two engines.
func ModelsTable(st *store.Store) (t Table) {
	var now, then []*Arm
	engines, accepted := tips(st)
	if len(engines) < 2 {
		return t
	}
	t.Head = []string{"Configuration"}
	var measured []*ledger.Launch
	for _, e := range engines {
		a := accepted[e]
		if a == nil {
			a = baselineOn(st, e, "")
		}
		t.Head = append(t.Head, e)
		now, then, measured = append(now, a), append(then, baselineOn(st, e, a.session())), append(measured, a.launches()...)
	}
	for _, cell := range cellsOf(measured) {
		row := []string{cell}
		for i := range engines {
			row = append(row, speedSince(now[i], then[i], cell+".tg"))
		}
		if slices.ContainsFunc(row[1:], func(text string) bool { return text != "–" }) {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func (a *Arm) session() string {
	if a == nil {
		return ""
	}
	return a.Session
}

func (a *Arm) launches() []*ledger.Launch {
	if a == nil {
		return nil
	}
	return a.Launches
}

// speedSince is a metric of an arm, with its ratio to another's.
func speedSince(now, then *Arm, address string) string {
	if now == nil {
		return "–"
	}
	v, ok := now.Of(address, "median")
	if !ok {
		return "–"
	}
	text := Measured(v)
	if then != nil {
		if was, ok := then.Of(address, "median"); ok && was.Mean > 0 {
			text += " (" + tell.Number(v.Mean/was.Mean, "times") + ")"
		}
	}
	return text
}

// tips are the engines that features were decided on, in order, and what was accepted
// there last.
func tips(st *store.Store) (engines []string, last map[string]*Arm) {
	accepted := map[string]bool{}
	var decided []*ledger.Decision
	for _, r := range st.Records() {
		d := r.Decision
		if d == nil || d.Kind != ledger.KindFeature && d.Kind != ledger.KindCriteria {
			continue
		}
		if d.Kind == ledger.KindFeature {
			accepted[d.Feature] = d.Accepted && d.Verdict.Unlocks()
		}
		decided = append(decided, d)
	}
	last = map[string]*Arm{}
	for _, d := range decided {
		arm := evidenceOf(d).Candidate
		launches := Counted(sideOfArm(st, arm).byVariant[arm.Name])
		if len(launches) == 0 {
			continue
		}
		on := launches[0].Block
		if !slices.Contains(engines, on) {
			engines = append(engines, on)
		}
		if accepted[d.Feature] && d.Verdict == verdict.Pass {
			last[on] = &Arm{Session: launches[0].Session, Variant: arm.Name, Block: on, Launches: launches}
		}
	}
	return engines, last
}

// baselineOn is the newest baseline of an engine, in the given session if it has one; nil
// if there is none.
func baselineOn(st *store.Store, engine, session string) (newest *Arm) {
	for _, r := range st.Records() {
		l := r.Launch
		if l == nil || l.Purpose != ledger.ForBenchmark || l.Variant != ledger.Baseline || l.Block != engine || session != "" && l.Session != session || len(Counted([]*ledger.Launch{l})) == 0 {
			continue
		}
		if newest == nil || newest.Session != l.Session {
			newest = &Arm{Session: l.Session, Variant: l.Variant, Block: engine}
		}
		newest.Launches = append(newest.Launches, l)
	}
	if newest == nil && session != "" {
		return baselineOn(st, engine, "")
	}
	return newest
}

func (p *page) models() {
	if t := ModelsTable(p.st); len(t.Rows) > 0 {
		p.para("## Models")
		p.para("%s", ModelsTitle)
		p.table(t)
	}
}
