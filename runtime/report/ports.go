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

// Port is a variant beside what it was measured with; Parent and Root, the baseline, are nil
// without launches in its session. It is the source of each number of a feature and of its text.
type Port struct {
	*Arm
	Parent, Root *Arm
	of           *Summary
}

// portsOf are the variants as they were last measured on the baseline's engine, and on those that
// confirm a feature ("gemm@production").
func (s *Summary) portsOf(decisions []*ledger.Decision) map[string]*Port {
	ports, parents := map[string]*Port{}, map[[2]string]string{} // by session and candidate
	for _, d := range decisions {
		for _, e := range d.Evidence {
			for _, id := range e.Candidate.IDs() {
				if l, ok := s.Store.LaunchByID(id); ok {
					parents[[2]string{l.Session, e.Candidate.Name}] = e.Parent.Name
				}
			}
		}
	}
	for _, a := range s.Arms {
		if s.engine != "" && a.Block != s.engine && !strings.Contains(a.Variant, "@") {
			continue // a rival measured beside it is no configuration of it
		}
		p := &Port{Arm: a, of: s}
		for _, o := range s.Arms {
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
		// The newest is last; what a matrix measures beside its cells comes after what features were
		// measured beside.
		if was := ports[a.Variant]; was == nil || ofFeature(a) || !ofFeature(was.Arm) {
			ports[a.Variant] = p
		}
	}
	return ports
}

func ofFeature(a *Arm) bool { return strings.HasPrefix(a.Launches[0].Node, "feature.") }

// Measured are the variants that were, by name, and Port one of them, or else one that does not
// count; nil if it was not measured.
func (s *Summary) Measured() []string { return slices.Sorted(maps.Keys(s.ports)) }

func (s *Summary) Port(variant string) *Port {
	for _, p := range s.uncounted {
		if p.Variant == variant {
			return p
		}
	}
	return s.ports[variant]
}

// Launched are the arms, and those that do not count.
func (s *Summary) Launched() []*Arm {
	all := slices.Clone(s.Arms)
	for _, p := range s.uncounted {
		all = append(all, p.Arm)
	}
	return all
}

// PortOf is what a decision of a feature rests on: its own variant, or the alternative that it
// chose, or else the first that was measured.
func (s *Summary) PortOf(d *ledger.Decision) *Port {
	names := []string{d.Feature}
	for _, a := range d.Alternatives {
		if names = append(names, a.Name); a.Chosen {
			names = []string{a.Name}
			break
		}
	}
	for _, name := range names {
		if p := s.ports[name]; p != nil {
			return p
		}
	}
	return nil
}

// Setup is what was measured: the engine, its machine, and what was sent in each cell.
func (s *Summary) Setup() string {
	var sent, on []string
	for _, name := range s.Measured() {
		launches := s.ports[name].Launches
		machine := cmp.Or(Entries(launches, "gpu"), Entries(launches, "cpu"), "an unknown machine")
		if engine := s.ports[name].Block + " on " + machine; !slices.Contains(on, engine) {
			on = append(on, engine)
		}
		for _, cell := range cellsOf(launches) {
			if text := cell + " is " + Sent(launches, cell); !slices.Contains(sent, text) {
				sent = append(sent, text)
			}
		}
	}
	switch made := s.Store.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark, OK: true}); {
	case len(on) > 0:
	case len(made) > 0:
		return fmt.Sprintf("No measurement stands: %s on record count for no decision.", verdict.Launches(len(made)))
	default:
		return "Nothing was measured yet."
	}
	return "Measured " + strings.Join(append(on, sent...), "; ") + "."
}

// Value is a column's of the port, beside its parent's.
func (p *Port) Value(c Column) Value { return p.of.portRow(p, Line{}).value(shownAs(c, ""), p.of) }

// Step is the change in a sentence: "decode +9% (29 → 34 tok/s)".
func (v Value) Step() string {
	return fmt.Sprintf("%s %s (%s)", MetricWord(v.Metric), v.Amount(), v.FromTo())
}

// fromBaseline is how a metric differs from the baseline's: as measured beside it, or else
// the product of the steps from it, each measured in its own session.
func (p *Port) fromBaseline(c Column, steps int) (change float64, ok bool) {
	beside := cmp.Or(p.Root, p.Parent)
	if beside == nil || steps == 0 {
		return 0, false
	}
	d := Compare(p.Arm, beside, c, p.of.tests)
	if d.Change == nil || d.Absolute {
		return 0, false
	}
	if beside.Variant == ledger.Baseline {
		return *d.Change, true
	}
	for _, name := range p.of.Measured() {
		o := p.of.ports[name]
		if o != p && o.Block == p.Block && o.Variant != beside.Variant &&
			maps.Equal(o.Launches[0].Knobs, beside.Launches[0].Knobs) {
			below, ok := o.fromBaseline(c, steps-1)
			return (1+below)*(1+*d.Change) - 1, ok
		}
	}
	return 0, false
}

// Lead is the metric of the rule that decided the verdict of a feature, or else the first that
// people decide by; without a value if it was not measured.
func (s *Summary) Lead(d *ledger.Decision) (v Value) {
	p := s.PortOf(d)
	if p == nil {
		return v
	}
	columns := Headlines(p.Launches)
	if r := Deciding(d); r != nil {
		for _, c := range columns {
			if slices.ContainsFunc(r.Comparisons, func(of verdict.Comparison) bool {
				return of.Test != nil && of.Test.Metric == c.Address() && of.Test.Stat == c.Stat
			}) {
				return p.Value(c)
			}
		}
	}
	if len(columns) > 0 {
		v = p.Value(columns[0])
	}
	return v
}

// own are the values of a port beside its parent's: of each column of the plan, and with all of each other
// metric that people decide by.
func (s *Summary) own(p *Port, all bool) (columns []Shown, values []Value) {
	r, known := s.portRow(p, Line{}), s.Columns()
	if others := Headlines(p.Launches); all || len(known) == 0 {
		for _, c := range others {
			known = addColumns(known, shownAs(c, ""))
		}
	}
	for _, c := range known {
		if v := r.value(c, s); v.Has() && !v.alone {
			columns, values = append(columns, c), append(values, v)
		}
	}
	return columns, values
}

// Own is a port beside its parent: a row for each of its values, see own.
func (s *Summary) Own(p *Port, all bool) Table {
	t := Table{Head: []string{"Metric", p.Variant}}
	if p.Parent != nil {
		t.Head = []string{"Metric", p.Parent.Variant, p.Variant, "Change", "From the baseline"}
		if p.Parent.Variant == ledger.Baseline {
			t.Head = t.Head[:4]
		}
	}
	columns, values := s.own(p, all)
	for i, v := range values {
		line := []string{cmp.Or(columns[i].Heading, columns[i].Path), cmp.Or(v.Word, v.marked(v.New.Text()))}
		if p.Parent != nil {
			line = append(slices.Insert(line, 1, v.Old.Text()), v.Changed(), cmp.Or(v.Root, "–"))
		}
		t.Rows = append(t.Rows, line[:len(t.Head)])
	}
	return t
}
