package plans

import (
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"
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
}

var engineDoc = &BlockDoc{
	Type: "engine", Times: AnyTimes, Repeats: true,
	Labels: []Label{{"kind", "What kind of engine it is."}, {"name", "What references call it: `engine.<kind>.<name>`."}},
	Doc:    "An inference engine under test: its kind, and how it is launched.",
	Attrs: []Attr{
		{Name: "model", Type: String, Doc: "Name of the model in requests. Without it the engine is asked."},
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
	Doc: "Starts the engine as a child process. Required where the kind brings no command of its own.",
	Attrs: []Attr{
		{Name: "command", Type: Strings, Required: true, Doc: "The program and its arguments; no shell is involved. `{port}` is replaced by the port to listen on, `{mxflow}` by the path of mxflow itself."},
		{Name: "dir", Type: String, Doc: "Working directory, relative to the plan's folder. Without it, the plan's folder."},
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

func (l *loader) decodeEngine(b *hcl.Block) {
	kind, known := l.reg.Engines[b.Labels[0]]
	f := l.fields(b, l.partSchema(engineDoc, l.reg.EngineParts), fmt.Sprintf("engine %q %q", b.Labels[0], b.Labels[1]))
	e := &Engine{
		Kind: b.Labels[0], Name: b.Labels[1], Range: rangeOf(b.DefRange),
		Model: f.text("model", ""), Args: f.texts("args"),
	}
	e.Env = f.textMap("env")
	e.Parts = l.decodeParts(f, l.reg.EngineParts)
	kind = l.extended(kind, e)
	e.Settings = l.decodeSettings(f.pairs("settings"), e.Kind, kind.Settings, false)
	e.Observed = kind.Observed
	p := f.single("process")
	if p != nil {
		e.Process = &Process{}
	}
	e.Launch = l.launcherOf(f, e)
	if p != nil {
		pf := l.fields(p, processSchema, "process")
		pf.required("command", `the argument vector that starts it, such as ["vllm", "serve", "--port", "{port}"].`)
		e.Process = &Process{Command: pf.texts("command"), Dir: pf.text("dir", "")}
		if v, ok := pf.value("command"); ok && v.CanIterateElements() && v.LengthInt() == 0 {
			l.fail(pf.at("command"), "Empty command", "Name at least the program to run.")
		}
	} else if known && kind.NeedsProcess && e.Launch == nil {
		l.fail(b.DefRange, "Missing process block", `An engine of kind %q does not say by itself how it is started. Add: process { command = ["program", "--port", "{port}"] }, or one of %s.`, e.Kind, orList(l.launchers()))
	}
	if r := f.single("ready"); r != nil {
		rf := l.fields(r, readySchema, "ready")
		e.ReadyTimeout, e.FirstTimeout = rf.duration("timeout", 0), rf.duration("first_timeout", 0)
	}
	if s := f.single("stop"); s != nil {
		e.StopGrace = l.fields(s, stopSchema, "stop").duration("grace", 0)
	}
	if known && kind.Check != nil {
		l.checkEngine(f, e, kind)
	}
	if l.first(b) {
		l.plan.Engines = append(l.plan.Engines, e)
	}
}

// launchers are the keywords of the blocks that launch an engine.
func (l *loader) launchers() []string {
	words := []string{"process"}
	for _, word := range keysOf(l.reg.EngineParts) {
		if l.reg.EngineParts[word].Launcher {
			words = append(words, word)
		}
	}
	return words
}

// checkEngine reports what the kind finds wrong with a decoded engine.
func (l *loader) checkEngine(f *fields, e *Engine, kind EngineKind) {
	for _, wrong := range kind.Check(e) {
		at := f.at(wrong.Attr)
		if wrong.Part != nil {
			at = wrong.Part.at
		}
		l.fail(at, wrong.Summary, "%s", wrong.Detail)
	}
}

// decodeSettings reads settings, checked against what the engine kind accepts;
// accepted == nil means anything. With unset, a null stays as the wish to unset.
func (l *loader) decodeSettings(pairs []pair, kind string, accepted []Attr, unset bool) map[string]any {
	settings := map[string]any{}
	byName := map[string]Attr{}
	for _, a := range accepted {
		byName[a.Name] = a
	}
	for _, p := range pairs {
		if p.v.IsNull() {
			if unset {
				settings[p.key] = nil
			}
			if accepted == nil || !unset {
				continue
			}
		}
		if accepted == nil {
			settings[p.key] = plain(p.v)
			continue
		}
		a, ok := byName[p.key]
		if !ok {
			unknown := unknownSetting{p, kind, keysOf(byName)}
			if unset { // of a knob: an engine that is decoded later may have it
				settings[p.key] = plain(p.v)
				l.unknownSettings = append(l.unknownSettings, unknown)
			} else {
				l.failSetting(unknown)
			}
			continue
		}
		if p.v.IsNull() {
			continue
		}
		if v, ok := l.decodeAttr(a, p.v, hcl.StaticExpr(p.v, p.at)); ok {
			settings[p.key] = v
		}
	}
	if len(settings) == 0 {
		return nil
	}
	return settings
}
