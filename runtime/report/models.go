package report

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// ModelsTitle is the title of ModelsTable.
const ModelsTitle = "Decode speed of the accepted stack, by configuration and model, and its change from the baseline of its session."

// ModelsTable has a row per cell and a column per engine that features were decided on:
// the speed of what is accepted there, and its change from the baseline, if one session
// launched both. It has no rows if features were decided on fewer than two engines.
func ModelsTable(st *store.Store) (t Table) {
	engines, accepted := tips(st)
	if len(engines) < 2 {
		return t
	}
	arms, by := Arms(st), TestsOf(st)
	t.Head = append([]string{"Configuration"}, engines...)
	var measured []*ledger.Launch
	for _, e := range engines {
		if accepted[e] == nil {
			for _, a := range arms {
				if a.Block == e && a.Variant == ledger.Baseline {
					accepted[e] = a
				}
			}
		}
		if accepted[e] != nil {
			measured = append(measured, accepted[e].Launches...)
		}
	}
	for _, cell := range cellsOf(measured) {
		row := []string{cell}
		for _, e := range engines {
			row = append(row, speedOn(accepted[e], arms, by, cell))
		}
		if slices.ContainsFunc(row[1:], func(text string) bool { return text != "–" }) {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// speedOn is an arm's decode speed in a cell, and its change from its session's baseline.
func speedOn(a *Arm, arms []*Arm, by Tests, cell string) string {
	if a == nil {
		return "–"
	}
	v, ok := a.Of(cell+".tg", "median")
	if !ok {
		return "–"
	}
	base := slices.IndexFunc(arms, func(b *Arm) bool { return b.Session == a.Session && b.Block == a.Block && b.Variant == ledger.Baseline })
	switch {
	case a.Variant == ledger.Baseline:
		return v.Text()
	case base < 0:
		return v.Text() + "\n" + NotTogether
	}
	return v.Text() + "\n" + Compare(a, arms[base], Column{Cell: cell, Metric: "tg", Stat: "median"}, by).ChangeText()
}

// tips are the engines that features were decided on, in order, and what was accepted
// there last.
func tips(st *store.Store) (engines []string, last map[string]*Arm) {
	accepted := map[string]bool{}
	for _, d := range Standing(st) {
		if d.Kind == ledger.KindFeature {
			accepted[d.Feature] = inStack(d.Decision)
		}
	}
	last = map[string]*Arm{}
	for _, d := range compared(st) {
		if d.Kind != ledger.KindFeature && d.Kind != ledger.KindCriteria {
			continue
		}
		for _, a := range ArmsOf(st, d) {
			if a.Variant != EvidenceOf(d).Candidate.Name {
				continue
			}
			if !slices.Contains(engines, a.Block) {
				engines = append(engines, a.Block)
			}
			if accepted[d.Feature] && d.Verdict == verdict.Pass {
				last[a.Block] = a
			}
		}
	}
	return engines, last
}

func (p *page) models() {
	if t := ModelsTable(p.st); len(t.Rows) > 0 {
		p.para("## Models")
		p.para("%s", ModelsTitle)
		p.table(t)
	}
}
