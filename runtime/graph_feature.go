package runtime

import "github.com/mxflow/mxflow/plans"

// feature adds the qualification and the benchmark of each candidate, the
// decision over the criteria, and before it what confirms them on other engines.
func (b *builder) feature(ph *plans.Phase, f *plans.Feature, entry []Need) {
	needs := append(append([]Need(nil), entry...), Need{BaselineID, Passed})
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		// A parent that was never run has no variant to build on.
		needs = append(needs, Need{FeatureID(f.BuildsOn.Feature), Ended})
	case plans.OnAccepted:
		for _, other := range b.features {
			needs = append(needs, Need{FeatureID(other.Name), Settled})
		}
	}
	decide := Node{
		ID: FeatureID(f.Name), Kind: KindFeature, Phase: ph.Name, Feature: f.Name,
		FeatureBlock: f, PhaseBlock: ph, Needs: append([]Need(nil), needs...),
	}
	for _, c := range Candidates(f) {
		decide.Needs = append(decide.Needs, b.measure(decide, c, needs, b.g.siblings[c.Name]))
	}
	if len(f.Confirm) > 0 {
		decide.Needs = append(needs[:len(needs):len(needs)], b.confirm(decide, f, needs)...)
	}
	b.add(&decide)
	b.features = append(b.features, f)
}

// measure adds the nodes that measure one candidate of the feature that a node
// decides, and returns what that node waits for.
func (b *builder) measure(of Node, c *plans.Feature, needs []Need, siblings []*plans.Feature) Need {
	qualify := of
	qualify.ID, qualify.Kind, qualify.Host, qualify.FeatureBlock = QualifyID(c.Name), KindQualify, true, c
	qualify.Needs = append([]Need(nil), needs...)
	b.add(&qualify)
	if protocol := b.plan.Protocol(c.Protocol); protocol == nil || protocol.Level(plans.BenchmarkLevel) == nil {
		return Need{qualify.ID, Settled}
	}
	bench := qualify
	bench.ID, bench.Kind = BenchmarkID(c.Name), KindBenchmark
	// The benchmark of a variant that is not qualified is recorded as invalid
	// with the root cause, so it waits for the end and not for a pass. It waits
	// for its siblings' too: which of them share its session must be known before
	// it begins.
	bench.Needs = append(append([]Need(nil), needs...), Need{qualify.ID, Settled})
	for _, other := range siblings {
		if other.Name != c.Name {
			bench.Needs = append(bench.Needs, Need{QualifyID(other.Name), Settled})
		}
	}
	b.add(&bench)
	return Need{bench.ID, Settled}
}

// confirm puts the decision on the first engine before those on the others, and
// returns what the feature's own decision waits for: all of them. A confirmation
// spends no launch unless the criteria passed on all engines before it.
func (b *builder) confirm(decide Node, f *plans.Feature, needs []Need) []Need {
	first := decide
	first.ID, first.Kind = FirstID(f.Name), KindCriteria
	b.add(&first)
	out := []Need{{first.ID, Settled}}
	passed := append(append([]Need(nil), needs...), Need{first.ID, Passed})
	for _, c := range f.Confirm {
		criteria := decide
		criteria.ID, criteria.Kind, criteria.FeatureBlock = FeatureID(c.Name), KindCriteria, c
		criteria.Needs = append(append([]Need(nil), passed...), b.measure(decide, c, passed, nil))
		b.add(&criteria)
		out = append(out, Need{criteria.ID, Settled})
		passed = append(passed[:len(passed):len(passed)], Need{criteria.ID, Passed})
	}
	return out
}
