package runtime

import (
	"fmt"
	"sort"

	"github.com/mxflow/mxflow/plans"
)

type builder struct {
	plan *plans.Plan
	g    *Graph
	// settled are the features so far, in the order in which they may enter the stack.
	settled []Need
}

func (b *builder) add(n *Node) *Node {
	b.g.Nodes = append(b.g.Nodes, n)
	b.g.byID[n.ID] = n
	return n
}

// phase adds a phase's steps in the order they are written, its features by
// priority, and the node that unlocks what comes after.
func (b *builder) phase(ph *plans.Phase) {
	var entry []Need
	for _, a := range ph.After {
		entry = append(entry, Need{PhaseID(a), Passed})
	}
	for _, a := range ph.AfterDecided {
		entry = append(entry, Need{PhaseID(a), Decided})
	}
	end := &Node{ID: PhaseID(ph.Name), Kind: KindGate, Phase: ph.Name, PhaseBlock: ph, Needs: entry}
	if ph.Gate == nil {
		end.Kind = KindPhase
	}
	// Each step waits for the previous one: people write them as a recipe.
	before := entry
	for _, s := range ph.Steps {
		n := b.add(&Node{
			ID: StepID(ph.Name, s.Kind, s.Name), Kind: KindStep, Phase: ph.Name,
			StepBlock: s, PhaseBlock: ph, Needs: before,
		})
		before = append(append([]Need(nil), entry...), Need{n.ID, Passed})
		end.Needs = append(end.Needs, Need{n.ID, Settled})
	}
	for _, group := range sessions(ph) {
		for _, f := range group {
			b.g.siblings[f.Name] = group
			if f.Of != "" {
				b.g.siblings[f.Of] = group
			}
		}
	}
	for _, f := range byPriority(ph.Features) {
		b.feature(ph, f, before)
		end.Needs = append(end.Needs, Need{FeatureID(f.Name), Settled})
	}
	if len(ph.Features) > 0 || ph.ReadsBaseline() {
		// Without a baseline to measure against there is nothing to decide.
		end.Needs = append(end.Needs, Need{BaselineID, Passed})
	}
	b.add(end)
}

// byPriority orders a phase's features by priority, each after the one that it builds on:
// that one must be decided first, whatever their priorities, and a feature that builds on
// the stack waits for all before it.
func byPriority(fs []*plans.Feature) []*plans.Feature {
	sorted := append([]*plans.Feature(nil), fs...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Priority < sorted[j].Priority })
	byName := map[string]*plans.Feature{}
	for _, f := range sorted {
		byName[f.Name] = f
	}
	out := make([]*plans.Feature, 0, len(sorted))
	placed := map[string]bool{}
	var place func(f *plans.Feature)
	place = func(f *plans.Feature) {
		if f == nil || placed[f.Name] {
			return
		}
		placed[f.Name] = true
		place(byName[f.BuildsOn.Feature])
		out = append(out, f)
	}
	for _, f := range sorted {
		place(f)
	}
	return out
}

// phaseOrder sorts phases topologically over after, after_decided and what
// their features build on; declaration order breaks ties.
func phaseOrder(p *plans.Plan) ([]*plans.Phase, error) {
	const (
		unseen = iota
		open
		done
	)
	state := map[string]int{}
	var out []*plans.Phase
	var visit func(ph *plans.Phase) error
	visit = func(ph *plans.Phase) error {
		switch state[ph.Name] {
		case open:
			return fmt.Errorf("phase %s comes after itself", ph.Name)
		case done:
			return nil
		}
		state[ph.Name] = open
		before := append(append([]string(nil), ph.After...), ph.AfterDecided...)
		for _, f := range ph.Features {
			if f.BuildsOn.Kind == plans.OnFeature {
				if other := p.Feature(f.BuildsOn.Feature); other != nil && other.Phase != ph.Name {
					before = append(before, other.Phase)
				}
			}
		}
		for _, name := range before {
			if other := p.Phase(name); other != nil {
				if err := visit(other); err != nil {
					return err
				}
			}
		}
		state[ph.Name] = done
		out = append(out, ph)
		return nil
	}
	for _, ph := range p.Phases {
		if err := visit(ph); err != nil {
			return nil, err
		}
	}
	return out, nil
}
