package decide

import (
	"maps"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// part is one feature of a stack with the launches that measured its gain, in its own
// session: its candidate's, and those of the variant it was built on.
type part struct {
	feature           *plans.Feature
	candidate, parent []*ledger.Launch
	// set is what it changes in the variant it was measured on.
	set map[string]string
}

// interference compares the measured gain of a stack of two or more parts with the
// product of the parts' gains. The session must have the baseline as an arm beside the
// stack, which is the feature's parent or its candidate.
//
// A part measured on top of exactly the parts below it says nothing here: the product of
// such gains is the stack by construction. So a stack is compared only if at least one of
// its parts was measured on something else, and the candidate only if another feature
// sets the same knobs on something else.
func interference(v *View, f *plans.Feature, ev *gates.Feature) (all []ledger.Interference) {
	base := ev.References[plans.Root]
	if ev.Broken != "" || base == nil {
		return nil
	}
	root := recorded(v, *base)
	if len(root) == 0 {
		return nil
	}
	var parts []part
	for _, g := range below(v, f) {
		p, ok := partOf(v, g, root[0].Block)
		if !ok {
			return nil
		}
		parts = append(parts, p)
	}
	if parent := recorded(v, ev.Parent); len(parts) > 1 {
		all = append(all, interact(root, parent, parts)...)
	}
	candidate := recorded(v, ev.Candidate)
	if twin, ok := twinOf(v, f, root[0].Block); ok && len(parts) > 0 {
		all = append(all, interact(root, candidate, append(slices.Clone(parts), twin))...)
	}
	return all
}

// recorded are the recorded launches of an arm; none if one is missing.
func recorded(v *View, a gates.Arm) (out []*ledger.Launch) {
	for _, launch := range a.Launches {
		record, ok := v.launch(launch.ID)
		if !ok || record.Knobs == nil {
			return nil
		}
		out = append(out, record)
	}
	return out
}

// below returns the features of the stack that a feature builds on, in order.
func below(v *View, f *plans.Feature) (list []*plans.Feature) {
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		if g := v.Plan.Feature(f.BuildsOn.Feature); g != nil {
			return append(below(v, g), g)
		}
	case plans.OnAccepted:
		under, _ := accepted(v, f)
		for _, e := range under {
			list = append(list, e.feature)
		}
	}
	return list
}

// partOf finds the launches that decided a feature on the engine. It is false if they are
// not on record, or do not say which variant they are of.
func partOf(v *View, f *plans.Feature, block string) (part, bool) {
	for _, id := range []string{runtime.FeatureID(f.Name), runtime.FirstID(f.Name)} {
		d := v.Outcome(id)
		if d == nil {
			continue
		}
		for _, e := range d.Evidence {
			p := part{feature: f, candidate: keptArm(v, e.Candidate), parent: keptArm(v, e.Parent), set: map[string]string{}}
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

func keptArm(v *View, a ledger.Arm) []*ledger.Launch {
	var arm gates.Arm
	for _, id := range a.Launches {
		arm.Launches = append(arm.Launches, gates.Launch{ID: id})
	}
	return recorded(v, arm)
}

// twinOf is another decided feature that sets the same knobs, measured on another parent
// than this one's.
func twinOf(v *View, f *plans.Feature, block string) (part, bool) {
	set, err := sets(v, f)
	if err != nil {
		return part{}, false
	}
	for _, ph := range v.Plan.Phases {
		for _, g := range ph.Features {
			if g.Name == f.Name || g.Name == f.Of || g.BuildsOn == f.BuildsOn {
				continue
			}
			if p, ok := partOf(v, g, block); ok && maps.Equal(p.set, set) {
				return p, true
			}
		}
	}
	return part{}, false
}

// interact compares a stack with the product of its parts; nothing if that is impossible
// or meaningless.
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
	out := ledger.Interference{Metric: in.LaunchAddress()}
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

// decisiveMetrics are the metrics with a better direction that a feature's decisive
// criteria read, in order.
func decisiveMetrics(f *plans.Feature) (list []*plans.Input) {
	for _, r := range decisive(f) {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Kind == plans.InputMetric && in.Better != "" && !in.MayBeZero() && !in.Counts() {
				list = append(list, in)
			}
		}
	}
	return list
}

// commonMetric is the first decisive metric of the first part that is decisive for all
// others too; nil if there is none.
func commonMetric(parts []part) *plans.Input {
	for _, in := range decisiveMetrics(parts[0].feature) {
		common := true
		for _, p := range parts[1:] {
			common = common && slices.ContainsFunc(decisiveMetrics(p.feature), func(other *plans.Input) bool {
				return other.Cell == in.Cell && other.Metric == in.Metric
			})
		}
		if common {
			return in
		}
	}
	return nil
}

// disjoint reports whether the parts change each knob once, and together turn the
// baseline into the stack.
func disjoint(root, stack map[string]string, parts []part) bool {
	made := maps.Clone(root)
	changed := map[string]bool{}
	for _, p := range parts {
		for knob, value := range p.set {
			if changed[knob] {
				return false
			}
			changed[knob], made[knob] = true, value
		}
	}
	return maps.Equal(made, stack)
}

// telescopes reports whether each part was measured on exactly the parts before
// it, in some order: (a/1) · (ab/a) is ab, whatever a and b do to each other.
func telescopes(root map[string]string, parts []part) bool {
	at, left := maps.Clone(root), len(parts)
	used := make([]bool, len(parts))
	for moved := true; moved; {
		moved = false
		for i, p := range parts {
			if !used[i] && maps.Equal(p.parent[0].Knobs, at) {
				maps.Copy(at, p.set)
				used[i], moved = true, true
				left--
			}
		}
	}
	return left == 0
}

// contrast sums gains in logs. Each launch is in it once, with the sum of its weights:
// parts measured in one session share its baseline.
type contrast struct {
	address string
	sign    float64
	arms    map[armKey]*armSum
	order   []armKey
	works   map[string]bool
}

// armKey identifies the launches of one variant in one session; for how launches differ,
// on one place.
type armKey struct{ session, variant, place string }

type armSum struct {
	at map[string]int
	stats.Weighted
}

func newContrast(in *plans.Input) *contrast {
	c := &contrast{address: in.LaunchAddress(), sign: 1, arms: map[armKey]*armSum{}, works: map[string]bool{}}
	if in.Better == string(measure.Lower) {
		c.sign = -1
	}
	return c
}

// gain adds weight times the gain of one arm over another, and returns it: the log of how
// many times better it is. It is false if a launch has no number above zero.
func (c *contrast) gain(over, under []*ledger.Launch, weight float64) (float64, bool) {
	a, ok := c.add(over, weight)
	b, also := c.add(under, -weight)
	return a - b, ok && also
}

func (c *contrast) add(launches []*ledger.Launch, weight float64) (mean float64, ok bool) {
	for _, l := range launches {
		v := l.Metrics[c.address].Stats["median"]
		if !(v > 0) || math.IsInf(v, 0) {
			return 0, false
		}
		x := c.sign * math.Log(v)
		mean += x / float64(len(launches))
		c.works[l.Work] = true
		key := armKey{session: l.Session, variant: l.VariantKey}
		sum := c.arms[key]
		if sum == nil {
			sum = &armSum{at: map[string]int{}}
			c.arms[key] = sum
			c.order = append(c.order, key)
		}
		i, known := sum.at[l.ID]
		if !known {
			i = len(sum.Values)
			sum.at[l.ID] = i
			sum.Values, sum.Weights = append(sum.Values, x), append(sum.Weights, 0)
		}
		sum.Weights[i] += weight / float64(len(launches))
	}
	return mean, len(launches) > 0
}

// oneWork reports whether all launches were sent the same, on one machine: gains under
// another load are other gains.
func (c *contrast) oneWork() bool { return len(c.works) == 1 }

func (c *contrast) weighted() (all []stats.Weighted) {
	for _, key := range c.order {
		all = append(all, c.arms[key].Weighted)
	}
	return all
}
