package plans

import (
	"time"
)

// Engine is an engine under test: a kind plus how it is launched.
type Engine struct {
	Kind  string `hcl:"kind,label" doc:"What kind of engine it is."`
	Name  string `hcl:"name,label" doc:"Its name in references: 'engine.<kind>.<name>'."`
	Model string `hcl:"model,optional" program:"true" doc:"The model, by name or path. It is '{model}' in a command, and the model name in requests. By default the engine is asked for its model; a command with '{model}' in it, as most kinds have, needs this."`
	// Process describes how to start it; nil if the kind brings its own command or Launch
	// describes the start.
	Process *Process
	// Launch is the block that describes how it is launched if not as a process: docker,
	// endpoint, compose or exec. It is one of Parts.
	Launch *Block `json:"-"`
	// Parts are the blocks that the Registry declares, by keyword.
	Parts    map[string][]*Block `json:",omitempty"`
	Env      map[string]string   `hcl:"env,optional" program:"true" doc:"Environment variables, set on top of the inherited ones."`
	Settings map[string]any      `hcl:"settings,optional" program:"true" doc:"Options in the kind's words, which become flags. A null leaves the option out."`
	Args     []string            `hcl:"args,optional" program:"true" doc:"Appended to the command unchanged."`
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

type Process struct {
	Command []string `hcl:"command" program:"true" needs:"the argument vector that starts it, such as [\"vllm\", \"serve\", \"--port\", \"{port}\"]." doc:"The program and its arguments; no shell. '{port}' is replaced by the port to listen on, '{host}' by the address, '{model}' by the engine's model, '{mxflow}' by the path of mxflow itself."`
	Dir     string   `hcl:"dir,optional" program:"true" doc:"Working directory, relative to the plan's folder. Without it, the plan's folder."`
	Port    int      `json:",omitempty" hcl:"port,optional" min:"1" max:"65535" doc:"Port of a command that always takes the same. Without it, a free port of this machine, passed to the command as '{port}' and in the variable MXFLOW_PORT."`
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
