package runtime

import "github.com/mxflow/mxflow/plans"

// beforeBaseline are the phases that the baseline waits for: those of steps alone
// that every phase with features comes after, by after alone. Nothing could be
// measured before they pass, and they may make what the baseline is started from:
// an image, a branch, a build.
func beforeBaseline(p *plans.Plan, order []*plans.Phase) []Need {
	if p.Baseline == nil {
		return nil
	}
	counts, featured := map[string]int{}, 0
	for _, ph := range order {
		if len(ph.Features) == 0 {
			continue
		}
		featured++
		for name := range phasesBefore(p, ph) {
			counts[name]++
		}
	}
	var needs []Need
	for _, ph := range order {
		if featured > 0 && counts[ph.Name] == featured && preparation(p, ph) {
			needs = append(needs, Need{PhaseID(ph.Name), Passed})
		}
	}
	return needs
}

// preparation phases hold steps alone, and come after such phases only: neither
// they nor what they wait for can need the baseline. A gate may.
func preparation(p *plans.Plan, ph *plans.Phase) bool {
	only := func(ph *plans.Phase) bool {
		return len(ph.Steps) > 0 && len(ph.Features) == 0 && ph.Gate == nil && len(ph.AfterDecided) == 0
	}
	if !only(ph) {
		return false
	}
	for name := range phasesBefore(p, ph) {
		if other := p.Phase(name); other == nil || !only(other) {
			return false
		}
	}
	return true
}

// phasesBefore are the phases that must have passed before a phase may start.
func phasesBefore(p *plans.Plan, ph *plans.Phase) map[string]bool {
	before := map[string]bool{}
	var visit func(ph *plans.Phase)
	visit = func(ph *plans.Phase) {
		for _, name := range ph.After {
			if other := p.Phase(name); other != nil && !before[name] {
				before[name] = true
				visit(other)
			}
		}
	}
	visit(ph)
	return before
}
