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

var engineDoc = &BlockDoc{
	Type: "engine", Times: AnyTimes, Repeats: true,
	Labels: []Label{{Name: "kind", Doc: "What kind of engine it is."}, {Name: "name", Doc: "What references call it: `engine.<kind>.<name>`."}},
	Doc:    "An inference engine under test: its kind, and how it is launched.",
	Attrs: []Attr{
		{Name: "model", Type: String, Doc: "The model, by name or path: what `{model}` in a command stands for, and its name in requests. Without it the engine is asked; an engine that is started with a command that has `{model}` in it, as that of most kinds has, needs it."},
		{Name: "env", Type: Map, Doc: "Environment variables, set on top of the inherited ones."},
		{Name: "settings", Type: Values, Doc: "Options in the kind's own words, which become flags of its command. A null leaves the option out."},
		{Name: "args", Type: Strings, Doc: "Appended to the command as they are."},
	},
	Blocks: []*BlockDoc{processDoc, readyDoc, stopDoc},
	Example: `engine "openai" "gb10" {
  model = "openai/gpt-oss-120b"
  env   = { VLLM_ATTENTION_BACKEND = "FLASHINFER" }
  args  = ["--max-num-seqs", "2"]

  process {
    command = ["vllm", "serve", "openai/gpt-oss-120b", "--port", "{port}"]
  }
  ready {
    timeout = "15m"
  }
}`,
}

var processDoc = &BlockDoc{
	Type: "process", Times: AtMost1,
	Doc: "Starts the engine as a child process. Required where the kind brings no command of its own and no other block says how it is launched.",
	Attrs: []Attr{
		{Name: "command", Type: Strings, Required: true, Doc: "The program and its arguments; no shell is involved. `{port}` is replaced by the port to listen on, `{host}` by the address, `{model}` by the engine's model, `{mxflow}` by the path of mxflow itself."},
		{Name: "dir", Type: String, Doc: "Working directory, relative to the plan's folder. Without it, the plan's folder."},
		{Name: "port", Type: Int, Min: 1, MinSet: true, Max: 65535, Doc: "Where it listens, for a command that always takes the same port. Without it, a free port of this machine, which the command is given as `{port}`, and in the variable MXFLOW_PORT."},
	},
	Example: `process {
  command = ["vllm", "serve", "openai/gpt-oss-120b", "--port", "{port}"]
  dir     = "."
}`,
}

var readyDoc = &BlockDoc{
	Type: "ready", Times: AtMost1,
	Doc: "When the engine counts as started.",
	Attrs: []Attr{
		{Name: "timeout", Type: Duration, Doc: "How long it may take from start to ready. Without it, the kind's own limit."},
		{Name: "first_timeout", Type: Duration, Doc: "How long the first request after that may take, which asks for one token and may compile kernels. Without it, 10m."},
	},
	Example: `ready {
  timeout = "15m"
}`,
}

var stopDoc = &BlockDoc{
	Type: "stop", Times: AtMost1,
	Doc: "How the engine is ended.",
	Attrs: []Attr{
		{Name: "grace", Type: Duration, Doc: "How long it may take to stop before it is killed. Without it, the kind's own time."},
	},
	Example: `stop {
  grace = "20s"
}`,
}

var (
	processSchema = processDoc.schema()
	readySchema   = readyDoc.schema()
	stopSchema    = stopDoc.schema()
)
