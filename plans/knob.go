package plans

import (
	"maps"
	"slices"
)

// Knob is one independently switchable feature gate.
type Knob struct {
	Name    string
	Summary string
	Default string
	Values  []*KnobValue
	// Changes are the observations that its values are expected to change; arms must
	// agree in all others.
	Changes []string `json:",omitempty"`
	Range   Range    `json:"-"`
}

// KnobValue is one setting of a knob: what it changes and how it is proved.
type KnobValue struct {
	Name string
	// Env and Settings override the engine's; a nil value unsets.
	Env      map[string]*string
	Settings map[string]any
	// Args are appended after the engine's.
	Args []string
	// Command replaces the command of the engine's process block; empty leaves it.
	Command []string `json:",omitempty"`
	// Image replaces the image of an engine that runs in a container; empty
	// leaves it.
	Image string `json:",omitempty"`
	// Parts are the blocks that the Registry declares, by keyword.
	Parts map[string][]*Block `json:",omitempty"`
	// MustSee and MustNotSee are kernel evidence.
	MustSee    Evidence
	MustNotSee Evidence
	Range      Range `json:"-"`
}

// Evidence is what shows that a value took effect. Globs are unanchored and
// case-insensitive, and * crosses every character.
type Evidence struct {
	// Log globs are matched against the lines of the engine's log.
	Log []string
	// Lines are lines of the log that are counted.
	Lines []Lines `json:",omitempty"`
	// Observed are observations with the value that they must, or must not, have.
	Observed map[string]any `json:",omitempty"`
	// Trace are families of kernels, or globs of their names, in a profile; Kernels are
	// those whose launches are counted.
	Trace   []string `json:",omitempty"`
	Kernels []Lines  `json:",omitempty"`
	// AtStart also accepts evidence from before the first request to the engine, which
	// only repeats the configuration.
	AtStart bool `json:",omitempty"`
}

// Empty reports whether there is nothing to look for.
func (e Evidence) Empty() bool { return len(e.Log)+len(e.Lines)+len(e.Observed) == 0 && !e.Traced() }

// Traced reports whether any of it is looked for in a profile.
func (e Evidence) Traced() bool { return len(e.Trace)+len(e.Kernels) > 0 }

// Lines ask for at least AtLeast lines of a log, or launches of kernels, that match any
// of the globs; one that matches several counts once.
type Lines struct {
	AnyOf   []string
	AtLeast int
}

// DefaultKnobs is every knob at its default, or as the baseline sets it.
func (p *Plan) DefaultKnobs() map[string]string {
	knobs := make(map[string]string, len(p.Knobs))
	for _, k := range p.Knobs {
		knobs[k.Name] = k.Default
	}
	maps.Copy(knobs, p.Baseline.Set)
	return knobs
}

// Apart are the knobs in which a variant differs from the baseline, given its value of
// every knob; a knob that is missing there gets an empty value. Without a baseline they
// are all knobs.
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

// PlannedKnobs is the knob values of a feature from the plan alone; accepted are those of
// the stack, for a feature that builds on it.
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

// Candidates are all features that have a variant of their own: those of the phases, with
// their alternatives and confirmations.
func (p *Plan) Candidates() (all []*Feature) {
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			all = append(all, f)
			all = append(all, slices.Concat(f.Alternatives, f.Confirm)...)
		}
	}
	return all
}
