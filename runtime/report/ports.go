package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Ports are the variants as they were last measured on the baseline's engine: the source of
// each number of a feature and of its text, for every page that has it.
type Ports struct {
	all   map[string]*Port
	names []string
	tests Tests
}

// Port is a variant beside what it was measured with; Parent and Root, the baseline, are nil
// without launches in its session.
type Port struct {
	*Arm
	Parent, Root *Arm
	ports        *Ports
}

// PortsOf are those of a state directory.
func PortsOf(st *store.Store) *Ports {
	ps := &Ports{all: map[string]*Port{}, tests: TestsOf(st)}
	parents := map[[2]string]string{} // by session and candidate
	for _, d := range compared(st) {
		for _, e := range d.Evidence {
			for _, id := range e.Candidate.Launches {
				if l, ok := st.LaunchByID(id); ok {
					parents[[2]string{l.Session, e.Candidate.Name}] = e.Parent.Name
				}
			}
		}
	}
	arms, block := Arms(st), baselineEngine(st)
	for _, a := range arms {
		if block != "" && a.Block != block {
			continue // a rival measured beside it is no configuration of it
		}
		p := &Port{Arm: a, ports: ps}
		for _, o := range arms {
			if o.Session != a.Session || o.Block != a.Block || o == a {
				continue
			}
			if o.Variant == ledger.Baseline {
				p.Root = o
			}
			if o.Variant == parents[[2]string{a.Session, a.Variant}] {
				p.Parent = o
			}
		}
		ps.all[a.Variant] = p // the newest is last
	}
	ps.names = slices.Sorted(maps.Keys(ps.all))
	return ps
}

// baselineEngine is the engine on which the baseline was last qualified.
func baselineEngine(st *store.Store) (block string) {
	for _, l := range st.Launches(store.LaunchFilter{Node: ledger.Baseline}) {
		block = cmp.Or(l.Block, block)
	}
	return block
}

// Of is the newest measurement of a variant; nil if there is none.
func (ps *Ports) Of(variant string) *Port { return ps.all[variant] }

// For is what a decision of a feature rests on: its own variant, or the alternative that it
// chose, or else the first that was measured.
func (ps *Ports) For(d *ledger.Decision) *Port {
	names := []string{d.Feature}
	for _, a := range d.Alternatives {
		if names = append(names, a.Name); a.Chosen {
			names = []string{a.Name}
			break
		}
	}
	for _, name := range names {
		if p := ps.all[name]; p != nil {
			return p
		}
	}
	return nil
}

// mostColumns limits the metrics of a table of all variants; all are in each one's own.
const mostColumns = 4

// Columns are the first metrics that people decide by of all variants, the last of them the
// memory if that was measured.
func (ps *Ports) Columns() (columns []Column) {
	var arms []*Arm
	for _, name := range ps.names {
		arms = append(arms, ps.all[name].Arm)
	}
	var memory []Column
	for _, c := range Headlines(arms) {
		measured := slices.ContainsFunc(arms, func(a *Arm) bool { _, has := a.Of(c.Address(""), c.Stat); return has })
		switch {
		case !measured:
		case c.Metric == "memory_gb" && c.Cell != "host" || c.Metric == "memory_in_use_gb":
			memory = append(memory, c)
		default:
			columns = append(columns, c)
		}
	}
	memory = memory[:min(1, len(memory))]
	return append(columns[:min(mostColumns-len(memory), len(columns))], memory...)
}

// Setup is what was measured: the engine, its machine, and what was sent in each cell.
func (ps *Ports) Setup() string {
	var sent, on []string
	for _, name := range ps.names {
		launches := ps.all[name].Launches
		machine := cmp.Or(Entries(launches, "gpu"), Entries(launches, "cpu"), "an unknown machine")
		if engine := ps.all[name].Block + " on " + machine; !slices.Contains(on, engine) {
			on = append(on, engine)
		}
		for _, cell := range cellsOf(launches) {
			if text := cell + " is " + Sent(launches, cell); !slices.Contains(sent, text) {
				sent = append(sent, text)
			}
		}
	}
	if len(on) == 0 {
		return "Nothing was measured yet."
	}
	return "Measured " + strings.Join(append(on, sent...), "; ") + "."
}

// Measured is a metric of a port beside its parent's, by the launches that its change is by.
type Measured struct {
	Comparison
	// Root is the change from the baseline, "≈" before it if no session measured both.
	Root string
}

// Row is a metric of the port; false if it has none.
func (p *Port) Row(c Column) (m Measured, has bool) {
	m = Measured{Comparison{Column: c}, "–"}
	own, has := p.Of(c.Address(""), c.Stat)
	if !has {
		return m, false
	}
	m.New, m.Unit = own, own.Unit
	if p.Parent != nil {
		if d := Compare(p.Arm, p.Parent, c, p.ports.tests); d.Change != nil {
			if m.Comparison = d; d.Decided > 0 { // the launches that the rule decided by
				m.Old, m.New = d.Old.first(d.Decided), d.New.first(d.Decided)
			}
		}
	}
	if change, measured := p.fromBaseline(c, len(p.ports.all)); measured {
		m.Root = "≈ " + verdict.Faster(change)
		if p.Root != nil {
			m.Root = Compare(p.Arm, p.Root, c, p.ports.tests).Brief()
		}
	}
	return m, true
}

// Before and After are the means, "–" without one.
func (m Measured) Before() string { return m.Old.Brief() }
func (m Measured) After() string  { return m.New.Brief() }

// Interval is the 95% interval of the change; a rule that decided has bounds of its own.
func (m Measured) Interval() string {
	switch {
	case m.Decided > 0:
		return "see the rule"
	case m.Low == nil || m.Absolute:
		return "–"
	}
	return verdict.Faster(*m.Low) + " to " + verdict.Faster(*m.High)
}

// FromTo is both means, "29 → 34 tok/s", or the one that there is.
func (m Measured) FromTo() string {
	if m.Old.N() == 0 {
		return m.After()
	}
	before := m.Before()
	if m.Unit != "" && strings.HasSuffix(m.After(), m.Unit) {
		before = strings.TrimSuffix(before, " "+m.Unit)
	}
	return before + " → " + m.After()
}

// Step is the change in a sentence: "decode +9% (29 → 34 tok/s)".
func (m Measured) Step() string {
	text := verdict.Faster(*m.Change)
	if m.Absolute {
		text = verdict.Short(*m.Change, m.Unit)
	}
	return fmt.Sprintf("%s %s (%s)", MetricWord(m.Metric), text, m.FromTo())
}

// fromBaseline is how a metric differs from the baseline's: as measured beside it, or else
// the product of the steps from it, each measured in its own session.
func (p *Port) fromBaseline(c Column, steps int) (change float64, ok bool) {
	beside := cmp.Or(p.Root, p.Parent)
	if beside == nil || steps == 0 {
		return 0, false
	}
	d := Compare(p.Arm, beside, c, p.ports.tests)
	if d.Change == nil || d.Absolute {
		return 0, false
	}
	if beside.Variant == ledger.Baseline {
		return *d.Change, true
	}
	for _, name := range p.ports.names {
		o := p.ports.all[name]
		if o != p && o.Variant != beside.Variant && maps.Equal(o.Launches[0].Knobs, beside.Launches[0].Knobs) {
			below, ok := o.fromBaseline(c, steps-1)
			return (1+below)*(1+*d.Change) - 1, ok
		}
	}
	return 0, false
}

// Lead is the metric of the rule that decided the verdict of a feature, or else the first that
// people decide by.
func (p *Port) Lead(d *ledger.Decision) (m Measured, has bool) {
	columns := Headlines([]*Arm{p.Arm})
	if r := Deciding(d); r != nil {
		for _, c := range columns {
			if slices.ContainsFunc(r.Comparisons, func(of ledger.Comparison) bool {
				return of.Test != nil && of.Test.Metric == c.Address("") && of.Test.Stat == c.Stat
			}) {
				return p.Row(c)
			}
		}
	}
	if len(columns) == 0 {
		return m, false
	}
	return p.Row(columns[0])
}

// Table is the port beside its parent, a row a metric that it has.
func (p *Port) Table() Table {
	t := Table{Head: []string{"Metric", "Before", p.Variant, "Change", "95% CI", "From the baseline"}}
	if p.Parent != nil {
		t.Head[1] = p.Parent.Variant
	}
	if p.Parent != nil && p.Parent.Variant == ledger.Baseline {
		t.Head = t.Head[:5]
	}
	for _, c := range Headlines([]*Arm{p.Arm}) {
		if m, has := p.Row(c); has {
			t.Rows = append(t.Rows, []string{c.Name(), m.Before(), m.After(), m.Brief(), m.Interval(), m.Root}[:len(t.Head)])
		}
	}
	return t
}
