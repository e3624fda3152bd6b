package gates

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

const (
	// leastWorse is how much worse a metric must get to be worth a line.
	leastWorse = 0.01
	// farWorse is the same with fewer launches than decide a rule: more than the gap
	// between the two speeds at which engines have been seen to start.
	farWorse = 0.1
	// mostWorse limits how many such metrics are shown with a verdict.
	mostWorse = 5
)

// Findings returns what no rule reads but a reader of the verdicts should know: for each
// cell that rules read, the metrics that contradict each other; for each measured cell,
// the metrics that got demonstrably worse, worst first. They change no verdict. decided
// are the decided rules, whose own refutations are not repeated.
func Findings(rules []*plans.Rule, decided []verdict.Rule, ev *Evidence, s Settings) (found []verdict.Reason) {
	d := &decider{rules: rules, ev: ev, settings: s}
	var worse []worsened
	tests := 0
	read := d.cells()
	for _, of := range append(read, d.beside(read)...) {
		if of.machine() {
			continue
		}
		if slices.Contains(read, of) {
			sure := slices.DeleteFunc(slices.Clone(d.contradictions(of)), func(x contradiction) bool { return x.alone })
			found = append(found, unsaid(sure, decided)...)
		}
		worse = append(worse, d.besides(of)...)
	}
	for _, w := range worse {
		if !w.read {
			tests++
		}
	}
	worse = slices.DeleteFunc(worse, func(w worsened) bool { return !w.shown(tests) })
	slices.SortStableFunc(worse, func(a, b worsened) int { return cmp.Compare(b.worsens(), a.worsens()) })
	worse = onePerFacet(worse)
	for _, w := range worse[:min(len(worse), mostWorse)] {
		found = append(found, w.reason())
	}
	if slices.ContainsFunc(decided, ofTwo) {
		found = append(found, verdict.New(code.NotCompared))
	}
	return append(found, unread(ev)...)
}

// unread reports workloads whose answers a plan declares not to be text, so only their
// speed is known.
func unread(ev *Evidence) (found []verdict.Reason) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(ev.Features)) {
		for _, l := range ev.Features[name].Candidate.Launches {
			for _, w := range l.Unread {
				if !slices.Contains(names, w) {
					names = append(names, w)
					found = append(found, verdict.New(code.Unlooked).On(w))
				}
			}
		}
	}
	return found
}

// ofTwo reports whether two launches per arm decided a rule, and there are no more: too
// few to show that any metric got worse.
func ofTwo(r verdict.Rule) bool {
	return slices.ContainsFunc(r.Comparisons, func(c verdict.Comparison) bool {
		return c.Test != nil && c.Verdict != verdict.Inconclusive && c.Test.Clear() && len(c.Test.Values) == stats.Clear
	})
}

// unsaid returns contradictions that no rule reports, one per facet and kind.
func unsaid(all []contradiction, decided []verdict.Rule) (out []verdict.Reason) {
	type way struct {
		of   measure.Facet
		code code.Code
	}
	said := map[way]bool{}
	wayOf := func(x contradiction) way { return way{facetOf("", x.metric), x.reason.Code} }
	for _, x := range all {
		said[wayOf(x)] = said[wayOf(x)] || noted(decided, x.reason)
	}
	for _, x := range all {
		if w := wayOf(x); !said[w] {
			said[w] = true
			out = append(out, x.reason)
		}
	}
	return out
}

// noted reports whether a rule has a fact among those of its tests.
func noted(rules []verdict.Rule, fact verdict.Reason) bool {
	return slices.ContainsFunc(rules, func(r verdict.Rule) bool {
		return slices.ContainsFunc(r.Comparisons, func(c verdict.Comparison) bool { return c.Test != nil && c.Test.Note.Equal(fact) })
	})
}

// cells are those of workloads that the rules read, if launches of both arms can be
// compared: not those of a server that was already running.
func (d *decider) cells() (all []contested) {
	for _, r := range d.rules {
		if r == nil {
			continue
		}
		for _, in := range r.Inputs() {
			of, f := contested{feature: in.Feature, cell: in.Cell}, d.feature(in)
			if in.Kind != plans.InputMetric || f == nil || f.Broken != "" || f.Candidate.stale() != "" || f.Parent.stale() != "" || slices.Contains(all, of) {
				continue
			}
			all = append(all, of)
		}
	}
	return all
}

// beside are the other cells in which the same features were measured.
func (d *decider) beside(read []contested) (all []contested) {
	for _, of := range read {
		for _, l := range d.ev.Features[of.feature].Candidate.Launches {
			for address := range l.Metrics {
				cell, _ := measure.SplitAddress(address)
				of := contested{feature: of.feature, cell: cell}
				if !of.machine() && !slices.Contains(read, of) && !slices.Contains(all, of) {
					all = append(all, of)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b contested) int {
		return cmp.Or(cmp.Compare(a.feature, b.feature), cmp.Compare(a.cell, b.cell))
	})
	return all
}

// machine reports whether it is not a cell of a workload.
func (of contested) machine() bool {
	return slices.Contains([]string{"", "engine", string(measure.PerGPU), string(measure.PerHost)}, of.cell) || strings.HasPrefix(of.cell+".", plans.FoundRoot)
}

// worsened is a metric compared with the parent; read is set if a rule already reports
// it, or one of its facet.
type worsened struct {
	versus
	facet facet
	read  bool
}

// facet is what a metric tells about a cell; its tail is a facet of its own.
type facet struct {
	cell string
	of   measure.Facet
	tail bool
}

// besides returns the metrics of a cell, whether rules read them or not.
func (d *decider) besides(of contested) (all []worsened) {
	f := d.ev.Features[of.feature]
	for _, m := range metricsOf(f, of.cell) {
		for _, stat := range []string{"median", tail} {
			at := facet{of.cell, facetOf(of.cell, m.Name), stat == tail}
			if at.of == "" || at.tail && (m.Scope != measure.PerRequest || m.Better != measure.Lower) {
				continue
			}
			if v, ok := d.versus(f, f.Parent, metricOf(of.feature, of.cell, m.Name, stat, m.Better)); ok {
				read := d.reads(of, func(in *plans.Input) bool {
					return facetOf(of.cell, in.Metric) == at.of && beyondMedian(in.Stat) == at.tail
				})
				all = append(all, worsened{v, at, read})
			}
		}
	}
	return all
}

// facetOf is the facet of a metric in a cell; each metric that a command prints has its
// own.
func facetOf(cell, metric string) measure.Facet {
	if measure.OfCommand(cell) {
		return measure.Facet(metric)
	}
	m, _ := measure.LookupIn(metric, measure.PerRequest, measure.PerCell)
	return m.Facet
}

// metricsOf lists the metrics that a cell may have, in catalogue order; of a command,
// those that it printed and for which the plan says which way is better.
func metricsOf(f *Feature, cell string) (all []measure.Metric) {
	if !measure.OfCommand(cell) {
		return slices.DeleteFunc(measure.Catalogue(), func(m measure.Metric) bool { return m.Facet == "" })
	}
	if len(f.Candidate.Launches) == 0 {
		return nil
	}
	for address, s := range f.Candidate.Launches[0].Metrics {
		if at, name := measure.SplitAddress(address); at == cell && s.Better != measure.Neither {
			all = append(all, measure.Metric{Name: name, Better: s.Better})
		}
	}
	slices.SortFunc(all, func(a, b measure.Metric) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// level is the chance that one of that many tests reports a change that is none.
func (w worsened) level(tests int) float64 { return w.pass / float64(max(1, tests)) }

// shown reports whether it is demonstrably worse, by enough to be worth a line.
func (w worsened) shown(tests int) bool {
	least := leastWorse
	if w.n < w.first {
		least = farWorse
	}
	return !w.alone() && w.worsens() >= least && w.most(w.level(tests)) < 0
}

// improved is shown in the other direction.
func (w worsened) improved(tests int) bool {
	other := w
	other.gain, other.base, other.own = -w.gain, w.own, w.base
	return other.shown(tests)
}

// onePerFacet keeps one of the metrics that tell the same: the first in the catalogue,
// unless another got far worse. The worst come first.
func onePerFacet(all []worsened) (out []worsened) {
	const alike = 0.8
	order := measure.Catalogue()
	place := func(w worsened) int {
		return slices.IndexFunc(order, func(m measure.Metric) bool { return m.Name == w.in.Metric })
	}
	for _, w := range all {
		i := slices.IndexFunc(out, func(o worsened) bool { return o.facet == w.facet })
		switch {
		case i < 0:
			out = append(out, w)
		case w.worsens() >= alike*out[i].worsens() && place(w) < place(out[i]):
			out[i] = w
		}
	}
	// A tail is reported if it got worse by more than the rest.
	all = slices.Clone(out)
	return slices.DeleteFunc(out, func(w worsened) bool {
		rest := facet{w.facet.cell, w.facet.of, false}
		return w.read || w.facet.tail && slices.ContainsFunc(all, func(o worsened) bool { return o.facet == rest && alike*w.worsens() <= o.worsens() })
	})
}

// reason is the metric with how much worse it got; for one that may be zero, the values
// before and after.
func (w worsened) reason() verdict.Reason {
	args := []verdict.Arg{verdict.Num("was", w.base, w.in.Unit), verdict.Num("is", w.own, w.in.Unit)}
	if w.logs {
		args = []verdict.Arg{verdict.Num("change", w.change(w.gain), plans.RatioUnit)}
		if low, high := w.interval(); low != nil {
			args = append(args, verdict.Span("bounds", *low, *high, plans.RatioUnit))
		}
	}
	return verdict.New(code.GotWorse, args...).On(w.in.Path)
}

// Movement is a metric of a workload that a candidate demonstrably changed.
type Movement struct {
	// Metric is its address, with the statistic if that is not the median.
	Metric string  `json:"metric"`
	Unit   string  `json:"unit,omitempty"`
	Parent float64 `json:"parent"`
	Own    float64 `json:"candidate"`
	Better bool    `json:"better"`
	// Comparison is relative, absent for a number that may be zero. If a rule decided by
	// this gain, Decided is set, and estimate and bounds are that decision's.
	stats.Comparison
	Decided bool `json:"decided,omitempty"`
}

// Moved returns all workload metrics in which a feature's candidate demonstrably differs
// from its parent, for better or worse, by the test of Findings, whether rules read them
// or not.
func Moved(name string, f *Feature, s Settings) (moved []Movement) {
	if f.Broken != "" || f.Candidate.stale() != "" || f.Parent.stale() != "" {
		return nil
	}
	d := &decider{ev: &Evidence{Features: map[string]*Feature{name: f}}, settings: s}
	var all []worsened
	for _, of := range d.beside([]contested{{feature: name}}) {
		all = append(all, d.besides(of)...)
	}
	for _, w := range all {
		worse := w.shown(len(all))
		if !worse && !w.improved(len(all)) {
			continue
		}
		m := Movement{Metric: w.in.Path, Unit: w.in.Unit, Parent: w.base, Own: w.own, Better: !worse}
		if w.logs {
			change := w.change(w.gain)
			m.Change = &change
			m.Low, m.High = w.interval()
		}
		moved = append(moved, m)
	}
	return moved
}
