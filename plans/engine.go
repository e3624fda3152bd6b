package plans

import (
	"time"
)

// Engine is an engine under test: a kind plus how it is launched.
type Engine struct {
	Kind  string
	Name  string
	Model string
	// Process describes how to start it; nil if the kind brings its own command or Launch
	// describes the start.
	Process *Process
	// Launch is the block that describes how it is launched if not as a process: docker,
	// endpoint, compose or exec. It is one of Parts.
	Launch *Block `json:"-"`
	// Parts are the blocks that the Registry declares, by keyword.
	Parts map[string][]*Block `json:",omitempty"`
	Env   map[string]string
	// Settings are the kind's options in its own words; the profile of the
	// kind turns them into flags.
	Settings map[string]any
	// Args are appended to the command unchanged.
	Args []string
	// ReadyTimeout and StopGrace; zero means the kind's default.
	ReadyTimeout time.Duration
	StopGrace    time.Duration
	// FirstTimeout is how long the first request after a start may take; zero
	// means the usual limit.
	FirstTimeout time.Duration `json:",omitempty"`
	// Observed are the known observations of it: from its kind, and from its observe
	// blocks.
	Observed []Observed `json:"-"`
	Range    Range      `json:"-"`
}

// Process starts an engine as a child process.
type Process struct {
	// Command is the argument vector. {port} is replaced by the port to listen
	// on, {mxflow} by the path of the running mxflow.
	Command []string
	// Dir is the working directory; relative to the plan's folder.
	Dir string
	// Port is where it always listens; 0 means a free one, passed to it as {port}.
	Port int `json:",omitempty"`
}

// CommandKind is the kind of engine that is a script: it brings its own work, and its
// metrics are those that the plan extracts from its output.
const CommandKind = "command"

// IsCommand reports whether an engine is a command that ends by itself, not a
// server.
func (e *Engine) IsCommand() bool { return e != nil && e.Kind == CommandKind }

// CommandEngine is the plan's engine under test if it is a command; nil if it is a
// server, or there is none.
func (p *Plan) CommandEngine() *Engine {
	if p.Baseline == nil {
		return nil
	}
	if e := p.Engine(p.Baseline.Engine); e.IsCommand() {
		return e
	}
	return nil
}

// Observed is one thing that an engine reports about itself, as rules read it:
// engine.observed.<name>.
type Observed struct {
	Name string
	// Type is "string", "number", "bool" or "count".
	Type string
	// Unit of a number; empty is a plain number.
	Unit string
	Doc  string
	// Asked means that the observed value merely repeats what was requested.
	Asked bool
}

func FindObserved(list []Observed, name string) (found Observed, names []string, ok bool) {
	for _, o := range list {
		if o.Name == name {
			return o, nil, true
		}
		names = append(names, o.Name)
	}
	return Observed{}, names, false
}
