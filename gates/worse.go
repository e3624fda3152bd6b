package gates

import (
	"cmp"
	"maps"
	"math"
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
	// certain is the false positive rate of what is compared whether a rule asks or not,
	// whatever a plan allows its rules.
	certain = 0.01
	// tail is the statistic that shows how the slowest tokens and requests fare.
	tail = "p99"
)

// shift is how a metric of a workload differs between a candidate and another arm, in one
// statistic: a single look at all launches that ran side by side, by the test of rules.
type shift struct {
	in    *plans.Input
	facet facet
	// logs is set if gain and se are in logs; else they have the metric's unit.
	logs bool
	// gain is how much better the candidate is, with its standard error and degrees of
	// freedom. With two launches per arm se is 0: they do not show how certain it is.
	gain, se, df float64
	// pairs are the launches, own and base the means of the two arms.
	pairs     pairs
	own, base float64
	// level is the p at which a look decides, first the fewest launches per arm for one
	// that does, and n those there are.
	level    float64
	first, n int
}

// facet is what a metric tells about a cell; its tail is a facet of its own.
type facet struct {
	cell string
	of   measure.Facet
	tail bool
}

// facetOf is the facet of a metric in a cell; each metric that a command prints has its
// own.
func facetOf(cell, metric, stat string) facet {
	of := measure.Facet(metric)
	if !measure.OfCommand(cell) {
		m, _ := measure.LookupIn(metric, measure.PerRequest, measure.PerCell)
		of = m.Facet
	}
	p, _ := measure.Percentile(stat)
	return facet{cell, of, p > 0.5 || stat == "max"}
}

// shift compares a feature's candidate with an arm in one statistic of a metric; nil if a
// launch lacks it, or too few ran side by side to show anything.
func (d *decider) shift(feature, cell, metric, stat string, better measure.Better, base Arm) *shift {
	in := &plans.Input{
		Kind: plans.InputMetric, Feature: feature, Cell: cell, Metric: metric, Stat: stat, Better: string(better),
		Relation: plans.Gain, Type: plans.NumberInput,
	}
	if in.Path = in.LaunchAddress(); stat != "median" {
		in.Path += "." + stat
	}
	own, why := collect(d.ev.Features[feature].Candidate, in)
	if why != nil {
		return nil
	}
	other, why := collect(base, in)
	if why != nil || own.incomparable(other, in) != nil {
		return nil
	}
	in.Unit = own.unit
	claim := &plans.Compare{Form: verdict.Ratio, Metric: in, AtLeast: true}
	zero := func(x float64) bool { return !(x > 0) }
	if in.MayBeZero() || slices.ContainsFunc(own.values, zero) || slices.ContainsFunc(other.values, zero) {
		claim.Form, claim.AtLeast = verdict.Difference, better != measure.Lower
	}
	q, err := d.question(claim, own, other)
	if err != nil || len(q.pairs.own) == 0 {
		return nil
	}
	s := &shift{in: in, facet: facetOf(cell, metric, stat), logs: q.scale.logs, pairs: q.pairs, n: len(q.pairs.own), first: stats.Unrecorded}
	if q.recorded {
		s.first = stats.Recorded
	}
	most := d.most(in)
	design, err := stats.Offer(certain, d.settings.FalseFail, min(d.settings.Min, most), most, s.first)
	if err != nil {
		return nil
	}
	s.level = design.Pass
	q.test.Pass, q.test.Fail = certain, certain
	look, err := q.test.At(s.n)
	if err != nil || !(look.DF > 0) && s.n != stats.Clear {
		return nil
	}
	if s.gain, s.se, s.df = look.Estimate, look.SE, look.DF; s.n == stats.Clear {
		s.df = 1
	}
	mean := stats.ArithmeticMean
	if s.logs {
		mean = stats.Mean
	}
	s.own, _ = mean(q.pairs.own) // which the look has found to be finite
	s.base, _ = mean(q.pairs.base)
	return s
}

// least and most bound the gain from either side, each at a level.
func (s *shift) least(level float64) float64 { return s.gain - stats.Quantile(level, s.df)*s.se }
func (s *shift) most(level float64) float64  { return s.gain + stats.Quantile(level, s.df)*s.se }

// size is how far it moved, relative to before, in logs.
func (s *shift) size() float64 {
	switch {
	case s.logs:
		return math.Abs(s.gain)
	case s.base == 0:
		return math.Log(2)
	}
	return math.Log1p(math.Abs(s.gain / s.base))
}

// direction is 1 if a metric demonstrably got better, as one of so many, by enough to be
// worth a line, -1 if worse, else 0.
func (s *shift) direction(of int) int {
	least, level := leastWorse, s.level/float64(of)
	if s.n < s.first {
		least = farWorse
	}
	switch {
	case s.n == stats.Clear, s.size() < least:
	case s.least(level) > 0:
		return 1
	case s.most(level) < 0:
		return -1
	}
	return 0
}

// shifts are those of all metrics of a feature against its parent, cell by cell; none of a
// server that was already running.
func (d *decider) shifts(feature string) (all []*shift) {
	f := d.ev.Features[feature]
	if f == nil || f.Broken != "" || len(f.Candidate.Launches) == 0 || f.Candidate.stale() != "" || f.Parent.stale() != "" {
		return nil
	}
	cells := map[string][]measure.Metric{}                    // in each what a command printed, if the plan says which way is better
	for address, s := range f.Candidate.Launches[0].Metrics { // a metric that any launch lacks is not compared
		cell, name := measure.SplitAddress(address)
		if ofMachine(address) || strings.HasPrefix(cell+".", plans.FoundRoot) {
			continue
		}
		metrics := cells[cell]
		if measure.OfCommand(cell) && s.Better != measure.Neither {
			metrics = append(metrics, measure.Metric{Name: name, Better: s.Better})
		}
		cells[cell] = metrics
	}
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		metrics := cells[cell]
		slices.SortFunc(metrics, func(a, b measure.Metric) int { return cmp.Compare(a.Name, b.Name) })
		if !measure.OfCommand(cell) {
			metrics = slices.DeleteFunc(measure.Catalogue(), func(m measure.Metric) bool { return m.Facet == "" })
		}
		for _, m := range metrics {
			all = append(all, d.shift(feature, cell, m.Name, "median", m.Better, f.Parent))
			if m.Scope == measure.PerRequest && m.Better == measure.Lower {
				all = append(all, d.shift(feature, cell, m.Name, tail, m.Better, f.Parent))
			}
		}
	}
	return slices.DeleteFunc(all, func(s *shift) bool { return s == nil })
}

// reads reports whether a rule of the decision reads such a metric of a cell.
func (d *decider) reads(feature, cell string, which func(*plans.Input) bool) bool {
	return slices.ContainsFunc(d.rules, func(r *plans.Rule) bool {
		return r != nil && slices.ContainsFunc(r.Inputs(), func(in *plans.Input) bool {
			return in.Kind == plans.InputMetric && in.Feature == feature && in.Cell == cell && which(in)
		})
	})
}

// Findings returns what no rule reads but a reader of the verdicts should know: of the
// features that rules read, the metrics that got demonstrably worse, worst first. They
// change no verdict.
func Findings(rules []*plans.Rule, decided []verdict.Rule, ev *Evidence, s Settings) (found []verdict.Reason) {
	d := &decider{rules: rules, ev: ev, settings: s}
	var features []string
	for _, r := range rules {
		if r == nil {
			continue
		}
		for _, in := range r.Inputs() {
			if in.Kind == plans.InputMetric && !slices.Contains(features, in.Feature) {
				features = append(features, in.Feature)
			}
		}
	}
	var worse []*shift
	for _, feature := range features {
		all := d.shifts(feature)
		for _, s := range all {
			if s.direction(len(all)) < 0 {
				worse = append(worse, s)
			}
		}
	}
	slices.SortStableFunc(worse, func(a, b *shift) int { return cmp.Compare(b.size(), a.size()) })
	worse = d.distinctFacets(worse)
	for _, s := range worse[:min(len(worse), mostWorse)] {
		m := s.movement()
		args := []verdict.Arg{verdict.Num("was", m.Parent, m.Unit), verdict.Num("is", m.Own, m.Unit)}
		if m.Change != nil {
			args = []verdict.Arg{verdict.Num("change", *m.Change, plans.RatioUnit)}
		}
		if m.Low != nil {
			args = append(args, verdict.Span("bounds", *m.Low, *m.High, plans.RatioUnit))
		}
		found = append(found, verdict.Say("finding.worse",
			"also worse: {subject} {change?{change}{bounds? (95% CI {bounds})}}{change!{was} to {is}}",
			args...).On(m.Metric))
	}
	// Two launches per arm that decided a rule are too few to show that a metric got worse.
	two := func(c verdict.Comparison) bool {
		return c.Test != nil && c.Verdict != verdict.Inconclusive && c.Test.Clear() && len(c.Test.Values) == stats.Clear
	}
	if slices.ContainsFunc(decided, func(r verdict.Rule) bool { return slices.ContainsFunc(r.Comparisons, two) }) {
		found = append(found, verdict.Say("finding.not_compared",
			"other metrics not compared: that takes 3 launches per arm, and 2 were enough to decide"))
	}
	return append(found, unchecked(ev)...)
}

// distinctFacets keeps one of the metrics that tell the same and that no rule reads: the
// first in the catalogue, unless another got far worse. The worst come first.
func (d *decider) distinctFacets(worse []*shift) (out []*shift) {
	const alike = 0.8
	order := measure.Catalogue()
	place := func(s *shift) int {
		return slices.IndexFunc(order, func(m measure.Metric) bool { return m.Name == s.in.Metric })
	}
	worst := map[facet]*shift{}
	for _, s := range worse {
		if o := worst[s.facet]; o == nil || s.size() >= alike*o.size() && place(s) < place(o) {
			worst[s.facet] = s
		}
	}
	for _, s := range worse {
		rest := s.facet
		rest.tail = false
		o := worst[rest]
		switch {
		case worst[s.facet] != s:
		case s.facet.tail && o != nil && alike*s.size() <= o.size(): // a tail that is no worse than the rest
		case d.reads(s.in.Feature, s.in.Cell, func(in *plans.Input) bool { return facetOf(s.in.Cell, in.Metric, in.Stat) == s.facet }):
		default:
			out = append(out, s)
		}
	}
	return out
}

// unchecked reports workloads whose answers a plan declares not to be text, so only their
// speed is known.
func unchecked(ev *Evidence) (found []verdict.Reason) {
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

func (s *shift) movement() Movement {
	m := Movement{Metric: s.in.Path, Unit: s.in.Unit, Parent: s.base, Own: s.own, Better: s.gain > 0}
	if c, err := stats.Compare(s.pairs.own, s.pairs.base, s.pairs.blocks() != nil); err == nil && s.logs {
		m.Change, m.Low, m.High = c.Change, c.Low, c.High
	}
	return m
}

// Moved returns all workload metrics in which a feature's candidate demonstrably differs
// from its parent, for better or worse, whether rules read them or not.
func Moved(name string, f *Feature, s Settings) (list []Movement) {
	d := &decider{ev: &Evidence{Features: map[string]*Feature{name: f}}, settings: s}
	all := d.shifts(name)
	for _, s := range all {
		if s.direction(len(all)) != 0 {
			list = append(list, s.movement())
		}
	}
	return list
}
