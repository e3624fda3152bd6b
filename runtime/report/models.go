package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// ModelsTitle is the title of ModelsTable.
func ModelsTitle(since *Milestone) string {
	if since == nil {
		return "Decode speed of the accepted stack, by configuration and model; × is relative to the baseline of its session."
	}
	return fmt.Sprintf("Decode speed of the accepted stack, by configuration and model; × is relative to milestone %s.", since.Name)
}

// ModelsTable has a row per cell and a column per engine that features were decided on:
// the speed of what is accepted there, and its speed-up over what was accepted at a
// milestone, or without one over the baseline. It has no rows if features were decided on
// fewer than two engines.
func ModelsTable(st *store.Store, since *Milestone) (t Table) {
	var now, then []*Arm
	engines, accepted := tips(st, math.MaxInt)
	if len(engines) < 2 {
		return t
	}
	var before map[string]*Arm
	if since != nil {
		_, before = tips(st, since.Record)
	}
	t.Head = []string{"Configuration"}
	var measured []*ledger.Launch
	for _, e := range engines {
		a, was := accepted[e], before[e]
		if a == nil {
			a = baselineOn(st, e, "", math.MaxInt)
		}
		if since == nil {
			was = baselineOn(st, e, a.session(), math.MaxInt)
		} else if was == nil {
			was = baselineOn(st, e, "", since.Record)
		}
		t.Head = append(t.Head, e)
		now, then, measured = append(now, a), append(then, was), append(measured, a.launches()...)
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

// tips are the engines that features were decided on up to a record, in order, and what
// was accepted there last.
func tips(st *store.Store, until int) (engines []string, last map[string]*Arm) {
	accepted := map[string]bool{}
	var decided []*ledger.Decision
	for i, r := range st.Records() {
		d := r.Decision
		if i > until || d == nil || d.Kind != ledger.KindFeature && d.Kind != ledger.KindCriteria {
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

// baselineOn is the newest baseline of an engine up to a record, in the given session if
// it has one; nil if there is none.
func baselineOn(st *store.Store, engine, session string, until int) (newest *Arm) {
	for i, r := range st.Records() {
		l := r.Launch
		if i > until || l == nil || l.Purpose != ledger.ForBenchmark || l.Variant != ledger.Baseline || l.Block != engine || session != "" && l.Session != session || len(Counted([]*ledger.Launch{l})) == 0 {
			continue
		}
		if newest == nil || newest.Session != l.Session {
			newest = &Arm{Session: l.Session, Variant: l.Variant, Block: engine}
		}
		newest.Launches = append(newest.Launches, l)
	}
	if newest == nil && session != "" {
		return baselineOn(st, engine, "", until)
	}
	return newest
}

// NewestMilestone is the last of all; nil if there is none.
func NewestMilestone(st *store.Store) *Milestone {
	all := Milestones(st)
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1]
}

func (p *page) models() {
	since := NewestMilestone(p.st)
	if t := ModelsTable(p.st, since); len(t.Rows) > 0 {
		p.para("## Models")
		p.para("%s", ModelsTitle(since))
		p.table(t)
	}
}
