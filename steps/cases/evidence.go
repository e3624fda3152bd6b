package cases

import (
	"fmt"
	"maps"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	written "github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
)

// found is what a case gives of one candidate.
func (d *decider) found(f *plans.Feature) (*decide.Found, error) {
	levels := d.levels(f)
	return &decide.Found{Evidence: d.gathered(f, levels), Rests: &ledger.Decision{Levels: levels}}, nil
}

// gathered is the evidence that a case gives of one candidate. If a level did not pass,
// no measurement is read, as in an apply.
func (d *decider) gathered(f *plans.Feature, levels []ledger.Level) *gates.Feature {
	_, most := d.plan.LaunchesOf(decide.ReadAs(f))
	out := &gates.Feature{
		Candidate: gates.Arm{Name: f.Name}, Parent: gates.Arm{Name: parentWord(f)},
		Levels: map[string]verdict.Verdict{}, Noise: map[string]verdict.Noise{}, Max: most,
	}
	g := d.given[f.Name]
	if g == nil {
		out.Broken, out.Cause = verdict.Invalid, verdict.New(code.NotGiven).On(f.Name)
		return out
	}
	maps.Copy(out.Levels, g.Levels)
	out.Knobs = d.plan.PlannedKnobs(f, nil)
	maps.Copy(out.Knobs, g.Knobs)
	for address, n := range g.Noise {
		out.Noise[address] = verdict.Noise{SD: n.SD, DF: n.DF}
	}
	var joined []verdict.Verdict
	for _, l := range levels {
		joined = append(joined, l.Verdict)
	}
	if v := verdict.Join(joined...); len(joined) > 0 && v != verdict.Pass {
		out.Broken, out.Cause = decide.Broken(&ledger.Decision{Node: f.Name, Verdict: v, Levels: levels})
		return out
	}
	out.Candidate.Launches = launchesOf(g, f.Name, func(m written.GivenMetric) []*float64 { return m.Candidate })
	out.Parent.Launches = launchesOf(g, "base", func(m written.GivenMetric) []*float64 { return m.Base })
	out.Root = &gates.Arm{Name: ledger.Baseline, Launches: launchesOf(g, string(plans.Root), func(m written.GivenMetric) []*float64 { return m.Root })}
	for _, arm := range []*gates.Arm{out.Root, &out.Candidate, &out.Parent} {
		if len(arm.Launches) > 0 {
			// What levels find is in one launch, and a case has only these.
			arm.Qualified = &arm.Launches[0]
		}
	}
	if f.BuildsOn.Kind == plans.OnBaseline {
		out.Root = &out.Parent
	}
	if len(g.Observed) > 0 && len(out.Candidate.Launches) == 0 {
		// Observations are per launch; these launches have nothing else.
		for i := range out.Max {
			out.Candidate.Launches = append(out.Candidate.Launches, gates.Launch{ID: launchName(f.Name, i), Round: i + 1})
		}
	}
	for i := range out.Candidate.Launches {
		out.Candidate.Launches[i].Observed = g.Observed
	}
	return out
}

func parentWord(f *plans.Feature) string {
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		return f.BuildsOn.Feature
	case plans.OnAccepted:
		return "the stack"
	}
	return ledger.Baseline
}

// levels are those that a case gives, in the protocol's order.
func (d *decider) levels(f *plans.Feature) (out []ledger.Level) {
	g, p := d.given[f.Name], d.plan.Protocol(f.Protocol)
	if g == nil || p == nil {
		return nil
	}
	for _, l := range p.Levels {
		if v, ok := g.Levels[l.Level()]; ok {
			out = append(out, ledger.Level{Name: l.Level(), Verdict: v})
		}
	}
	return out
}

// launchesOf are the launches of one arm. One without any metric was not made.
func launchesOf(g *written.GivenFeature, name string, of func(written.GivenMetric) []*float64) (list []gates.Launch) {
	most := 0
	for _, m := range g.Launches {
		most = max(most, len(of(m)))
	}
	for i := range most {
		l := gates.Launch{ID: launchName(name, i), Round: i + 1, Metrics: map[string]measure.Summary{}}
		for _, m := range g.Launches {
			if arm := of(m); i < len(arm) && arm[i] != nil {
				l.Metrics[m.Address] = summaryOf(m, *arm[i], l.Metrics[m.Address])
			}
		}
		if len(l.Metrics) > 0 {
			list = append(list, l)
		}
	}
	return list
}

func launchName(arm string, i int) string { return fmt.Sprintf("%s#%d", arm, i+1) }

// summaryOf adds one statistic to a launch's summary of a metric. A value that a launch
// has once is all of its statistics.
func summaryOf(m written.GivenMetric, v float64, s measure.Summary) measure.Summary {
	if m.Requests == 0 {
		once, _ := measure.Metric{Unit: m.Unit, Better: measure.Better(m.Better)}.Summary([]float64{v})
		return once
	}
	if s.Stats == nil {
		s = measure.Summary{Unit: m.Unit, Better: measure.Better(m.Better), Stats: map[string]float64{}}
	}
	s.N, s.Requests = max(s.N, m.Values), max(s.Requests, m.Requests)
	s.Stats[m.Stat] = v
	switch m.Stat {
	case "median":
		s.Stats["p50"] = v
	case "p50":
		s.Stats["median"] = v
	}
	return s
}
