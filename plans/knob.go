package plans

import (
	"maps"
	"slices"
)

// Knob is one independently switchable feature gate.
type Knob struct {
	Name    string `hcl:"name,label" doc:"Its name in 'set' and rules."`
	Summary string `hcl:"summary,optional" doc:"The switched behaviour, in one sentence."`
	Default string `hcl:"default" needs:"the baseline's value." doc:"Name of the baseline's value."`
	Values  []*KnobValue
	Changes []string `json:",omitempty" hcl:"changes,optional" doc:"Observations that its values change, such as 'attention'. Arms that differ in any other observation make their comparison invalid. Those in a value's 'must_see' are included automatically."`
	// Arms are what a command compares, such as revisions: what runs is identified by
	// content, so no line of a log must prove it.
	Arms  bool  `json:",omitempty"`
	Range Range `json:"-"`
}

// KnobValue is one setting of a knob: what it changes and how it is proved.
type KnobValue struct {
	Name string `hcl:"name,label" doc:"Its name in 'default' and 'set'. Letters, digits and '_ . : + -'."`
	// Env and Settings override the engine's; a nil value unsets.
	Env      map[string]*string `hcl:"env,optional" type:"map of strings or null" program:"true" doc:"Environment variables on top of the engine's. A null unsets a variable of the engine block, of an earlier knob, or of the inherited environment."`
	Settings map[string]any     `hcl:"settings,optional" program:"true" doc:"Options in the kind's words, on top of the engine's. A null unsets."`
	Args     []string           `hcl:"args,optional" program:"true" doc:"Appended after the engine's."`
	Command  []string           `json:",omitempty" hcl:"command,optional" program:"true" doc:"Replaces the 'command' of the engine's 'process' block. It is the program and its arguments; flags and args are appended to it."`
	Image    string             `json:",omitempty" hcl:"image,optional" doc:"The container image, replacing the engine's."`
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
	Log      []string       `hcl:"log,optional" filled:"true" doc:"Globs for lines of the engine's log. They are unanchored and case-insensitive; '*' matches anything."`
	Observed map[string]any `json:",omitempty" hcl:"observed,optional" doc:"Observations and their values: '{ moe_kernel = \"marlin\" }'. One that is not observed proves nothing."`
	Trace    []string       `json:",omitempty" hcl:"trace,optional" filled:"true" doc:"Kernels in the profile: families or globs of whole names. A family is a name such as \"marlin\"; the level 'profile' takes the profile. A profile shows the kernels that ran; a log shows the engine's intention."`
	AtStart  bool           `json:",omitempty" hcl:"at_start,optional" doc:"Accepts log lines from before the first request. They repeat the configuration. A weaker proof, and shown as one: for an engine that logs nothing while it works."`
}

// Empty reports whether there is nothing to look for.
func (e Evidence) Empty() bool { return len(e.Log)+len(e.Observed) == 0 && !e.Traced() }

// Traced reports whether any of it is looked for in a profile.
func (e Evidence) Traced() bool { return len(e.Trace) > 0 }

// ChangesEngine reports whether an engine is started otherwise with the value; of nil nothing is
// known.
func (v *KnobValue) ChangesEngine() bool {
	return v == nil || len(v.Env)+len(v.Settings)+len(v.Args)+len(v.Command)+len(v.Parts)+len(v.Image) > 0
}

// DefaultKnobs is every knob at its default, or as the baseline sets it. It has no knob of
// Arms whose default changes nothing: the baseline is then the same as in the plan itself.
func (p *Plan) DefaultKnobs() map[string]string {
	knobs := make(map[string]string, len(p.Knobs))
	for _, k := range p.Knobs {
		if !k.Arms || k.Value(k.Default).ChangesEngine() {
			knobs[k.Name] = k.Default
		}
	}
	maps.Copy(knobs, p.Baseline.Set)
	return knobs
}

// ChangedKnobs are the knobs in which a variant differs from the baseline, given its value of
// every knob; one that is missing only there gets an empty value. Without a baseline they
// are all knobs.
func (p *Plan) ChangedKnobs(knobs map[string]string) map[string]string {
	var base map[string]string
	if p.Baseline != nil {
		base = p.DefaultKnobs()
	}
	set := map[string]string{}
	for _, k := range p.Knobs {
		if base == nil || base[k.Name] != knobs[k.Name] {
			set[k.Name] = knobs[k.Name]
		}
	}
	return set
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
