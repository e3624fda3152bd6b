package runtime

import "github.com/mxflow/mxflow/plans"

// maxSiblings bounds the candidates of one session. A round launches each of
// them once, and launches of one round count as made under the same conditions:
// the longer it takes, the less true that is. The alternatives of one feature
// stay together, however many they are.
const maxSiblings = 8

// Siblings are the features whose benchmarks may share one session with f's, f
// among them, in the order of the graph: those of the same phase that are
// measured against the same parent, by the same protocol, on the same engine. A
// feature that chooses is replaced by its alternatives, which may stand for it
// in f too. Who builds on what has been accepted has a parent of its own, which
// only the alternatives of one feature share, and so has a confirmation.
func (g *Graph) Siblings(f *plans.Feature) []*plans.Feature {
	if group := g.siblings[f.Name]; group != nil {
		return group
	}
	return []*plans.Feature{f}
}

// sessions are the candidates of a phase in the groups that may be measured in
// one session each.
func sessions(ph *plans.Phase) [][]*plans.Feature {
	if ph == nil {
		return nil
	}
	var out [][]*plans.Feature
	// open is the place in out of the group of each key that takes more.
	open := map[[4]string]int{}
	for _, f := range byPriority(ph.Features) {
		parent := string(f.BuildsOn.Kind)
		if f.BuildsOn.Kind == plans.OnAccepted {
			parent += " under " + f.Name
		}
		key := [4]string{parent, f.BuildsOn.Feature, f.Protocol, f.Engine}
		candidates := Candidates(f)
		at, ok := open[key]
		if !ok || len(out[at])+len(candidates) > maxSiblings {
			at = len(out)
			open[key] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], candidates...)
	}
	return out
}

// Candidates are the variants that a feature puts to the test: its alternatives
// where it chooses, otherwise itself.
func Candidates(f *plans.Feature) []*plans.Feature {
	if len(f.Alternatives) > 0 {
		return f.Alternatives
	}
	return []*plans.Feature{f}
}
