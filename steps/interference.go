package steps

import (
	"maps"
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// part is one feature of a stack with the launches by which its gain was measured,
// in its own session: its candidate's and those of what that was built on.
type part struct {
	feature           *plans.Feature
	candidate, parent []*ledger.Launch
	// set is what it changes in what it was measured on.
	set map[string]string
}

// interference compares the measured gain of a stack of two or more parts with the
// product of the parts' gains. The session has to have the baseline as an arm
// beside the stack, which is the parent of the feature or its candidate.
//
// A part that was measured on top of exactly the parts below it says nothing here:
// the product of such gains is the stack by construction. So a stack is compared
// only where at least one of its parts was measured on something else, and the
// candidate only where another feature sets the same knobs on something else.
func (l *Lab) interference(s *runtime.Scope, f *plans.Feature, ev *gates.Feature) (all []ledger.Interference) {
	root := l.records(ev.Root)
	if ev.Broken != "" || len(root) == 0 {
		return nil
	}
	var parts []part
	for _, g := range l.below(s, f) {
		p, ok := l.part(s, g, root[0].Block)
		if !ok {
			return nil
		}
		parts = append(parts, p)
	}
	if parent := l.records(ev.Parent); len(parts) > 1 {
		all = append(all, interact(root, parent, parts)...)
	}
	candidate := l.records(ev.Candidate)
	if twin, ok := l.twin(s, f, root[0].Block); ok && len(parts) > 0 {
		all = append(all, interact(root, candidate, append(slices.Clone(parts), twin))...)
	}
	return all
}

// records are the recorded launches of an arm; none where one is missing.
func (l *Lab) records(a gates.Arm) (out []*ledger.Launch) {
	for _, launch := range a.Launches {
		record, ok := l.Store.LaunchByID(launch.ID)
		if !ok || record.Knobs == nil {
			return nil
		}
		out = append(out, record)
	}
	return out
}

// below are the features of the stack that a feature builds on, in their order.
func (l *Lab) below(s *runtime.Scope, f *plans.Feature) (list []*plans.Feature) {
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		if g := l.Plan.Feature(f.BuildsOn.Feature); g != nil {
			return append(l.below(s, g), g)
		}
	case plans.OnAccepted:
		of := f.Name
		if l.Graph.Node(runtime.QualifyID(of)) == nil && len(f.Alternatives) > 0 {
			of = f.Alternatives[0].Name
		}
		node := l.Graph.Node(runtime.QualifyID(of))
		if node == nil {
			return nil
		}
		for _, need := range node.Needs {
			n := l.Graph.Node(need.On)
			if n == nil || n.Kind != runtime.KindFeature {
				continue
			}
			if d := s.Outcome(need.On); d != nil && d.Accepted {
				list = append(list, n.FeatureBlock)
			}
		}
	}
	return list
}

// part finds the launches by which a feature was decided on the engine. It is
// false where they are not on record, or do not say what they were launches of.
func (l *Lab) part(s *runtime.Scope, f *plans.Feature, block string) (part, bool) {
	for _, id := range []string{runtime.FeatureID(f.Name), runtime.FirstID(f.Name)} {
		d := s.Outcome(id)
		if d == nil {
			continue
		}
		for _, e := range d.Evidence {
			p := part{feature: f, candidate: l.launches(e.Candidate), parent: l.launches(e.Parent), set: map[string]string{}}
			if len(p.candidate) == 0 || len(p.parent) == 0 || p.candidate[0].Block != block || !maps.Equal(p.candidate[0].Knobs, d.Variant) {
				continue
			}
			for knob, value := range p.candidate[0].Knobs {
				if p.parent[0].Knobs[knob] != value {
					p.set[knob] = value
				}
			}
			return p, true
		}
	}
	return part{}, false
}

func (l *Lab) launches(a ledger.Arm) []*ledger.Launch {
	var arm gates.Arm
	for _, id := range a.Launches {
		arm.Launches = append(arm.Launches, gates.Launch{ID: id})
	}
	return l.records(arm)
}

// twin is another decided feature that sets the same knobs, measured on something
// else than this one builds on.
func (l *Lab) twin(s *runtime.Scope, f *plans.Feature, block string) (part, bool) {
	set, err := l.sets(s, f)
	if err != nil {
		return part{}, false
	}
	for _, ph := range l.Plan.Phases {
		for _, g := range ph.Features {
			if g.Name == f.Name || g.Name == f.Of || g.BuildsOn == f.BuildsOn {
				continue
			}
			if p, ok := l.part(s, g, block); ok && maps.Equal(p.set, set) {
				return p, true
			}
		}
	}
	return part{}, false
}

// interact compares a stack with the product of its parts; nothing where that
// cannot be or would say nothing.
func interact(root, stack []*ledger.Launch, parts []part) []ledger.Interference {
	if len(stack) == 0 || !disjoint(root[0].Knobs, stack[0].Knobs, parts) || telescopes(root[0].Knobs, parts) {
		return nil
	}
	in := commonMetric(parts)
	if in == nil {
		return nil
	}
	c := newContrast(in)
	whole, ok := c.gain(stack, root, 1)
	product := 0.0
	out := ledger.Interference{Metric: gates.Address(in)}
	for _, p := range parts {
		g, measured := c.gain(p.candidate, p.parent, -1)
		ok = ok && measured
		product += g
		out.Parts = append(out.Parts, p.feature.Name)
	}
	if !ok || !c.oneWork() {
		return nil
	}
	d, err := stats.Contrast(c.weighted())
	if err != nil {
		return nil
	}
	out.Stack, out.Product, out.Ratio = math.Expm1(whole), math.Expm1(product), math.Expm1(d.Estimate)
	if d.Bounded {
		low, high := math.Expm1(d.Low), math.Expm1(d.High)
		out.Low, out.High = &low, &high
	}
	return []ledger.Interference{out}
}
