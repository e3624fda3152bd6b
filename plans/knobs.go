package plans

import (
	"maps"
	"slices"
)

// DefaultKnobs is every knob at its default, or as the baseline sets it.
func (p *Plan) DefaultKnobs() map[string]string {
	knobs := make(map[string]string, len(p.Knobs))
	for _, k := range p.Knobs {
		knobs[k.Name] = k.Default
	}
	maps.Copy(knobs, p.Baseline.Set)
	return knobs
}

// Apart are the knobs of a variant that it has otherwise than the baseline, by the
// value of every knob; one that it lacks has no value. Without a baseline they are all.
func (p *Plan) Apart(knobs map[string]string) map[string]string {
	var base map[string]string
	if p.Baseline != nil {
		base = p.DefaultKnobs()
	}
	set := map[string]string{}
	for _, k := range p.Knobs {
		if of, has := base[k.Name]; !has || of != knobs[k.Name] {
			set[k.Name] = knobs[k.Name]
		}
	}
	return set
}

// PlannedKnobs is the knob values of a feature by the plan alone, with accepted as
// those of what it builds on where that is the stack.
func (p *Plan) PlannedKnobs(f *Feature, accepted map[string]string) map[string]string {
	knobs := p.DefaultKnobs()
	switch f.BuildsOn.Kind {
	case OnFeature:
		if under := p.Feature(f.BuildsOn.Feature); under != nil {
			knobs = p.PlannedKnobs(under, accepted)
		}
	case OnAccepted:
		maps.Copy(knobs, accepted)
	}
	maps.Copy(knobs, f.Set)
	return knobs
}

// Candidates are all features that have a variant of their own: those of the
// phases, the alternatives among which they choose, and what confirms them.
func (p *Plan) Candidates() (all []*Feature) {
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			all = append(all, f)
			all = append(all, slices.Concat(f.Alternatives, f.Confirm)...)
		}
	}
	return all
}
