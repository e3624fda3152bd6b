package plans

// Knob is one independently switchable feature gate.
type Knob struct {
	Name    string
	Summary string
	Default string
	Values  []*KnobValue
	// Changes are the observations that its values are expected to change; in
	// all others arms have to agree.
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
	// AtStart lets lines count that were logged before anything was asked of the
	// engine, and that repeat what was asked for.
	AtStart bool `json:",omitempty"`
}

// Empty reports whether there is nothing to look at.
func (e Evidence) Empty() bool { return len(e.Log)+len(e.Lines)+len(e.Observed) == 0 && !e.Traced() }

// Traced reports whether any of it is looked for in a profile.
func (e Evidence) Traced() bool { return len(e.Trace)+len(e.Kernels) > 0 }

// Lines ask for at least so many lines of a log, or launches of kernels, that any of some
// globs match; one that several match counts once.
type Lines struct {
	AnyOf   []string
	AtLeast int
}
