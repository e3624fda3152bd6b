package plans

import (
	"time"
)

// Engine is an engine under test: a kind plus how it is launched.
type Engine struct {
	Kind  string
	Name  string
	Model string
	// Process says how to start it; nil where the kind brings its own command or
	// Launch says so.
	Process *Process
	// Launch is the block that says how it is launched where that is not as a
	// process: docker, endpoint, compose or exec. It is one of Parts.
	Launch *Block `json:"-"`
	// Parts are the blocks that the Registry declares, by keyword.
	Parts map[string][]*Block `json:",omitempty"`
	Env   map[string]string
	// Settings are the kind's options in its own words; the profile of the
	// kind turns them into flags.
	Settings map[string]any
	// Args are appended to the command as they are.
	Args []string
	// ReadyTimeout and StopGrace; zero means the kind's default.
	ReadyTimeout time.Duration
	StopGrace    time.Duration
	// FirstTimeout is how long the first request after a start may take; zero
	// means the usual limit.
	FirstTimeout time.Duration `json:",omitempty"`
	// Observed is what is known to be observed of it: by its kind, and by its
	// observe blocks.
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
	// Port is where it listens whatever it is told; 0 is a free one that it is
	// given as {port}.
	Port int `json:",omitempty"`
}

// CommandKind is the kind of engine that is a script: it brings its own work,
// and its metrics are those that the plan takes out of its output.
const CommandKind = "command"

// IsCommand reports whether an engine is a command that ends by itself, not a
// server.
func (e *Engine) IsCommand() bool { return e != nil && e.Kind == CommandKind }

// CommandEngine is the plan's engine under test where it is a command; nil where
// it is a server, or there is none.
func (p *Plan) CommandEngine() *Engine {
	if p.Baseline == nil {
		return nil
	}
	if e := p.Engine(p.Baseline.Engine); e.IsCommand() {
		return e
	}
	return nil
}

// Observed is one thing that an engine says of itself, as rules read it:
// engine.observed.<name>.
type Observed struct {
	Name string
	// Type is "string", "number", "bool" or "count".
	Type string
	// Unit of a number; empty is a plain number.
	Unit string
	Doc  string
	// Asked says that what is read for it repeats what was asked for.
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
