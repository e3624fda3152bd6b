package load

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var engineDoc = &lang.BlockDoc{
	Type: "engine", Times: plans.AnyTimes, Repeats: true,
	Labels: []lang.Label{{Name: "kind", Doc: "What kind of engine it is."}, {Name: "name", Doc: "Its name in references: `engine.<kind>.<name>`."}},
	Doc:    "An inference engine under test: its kind and how it is launched.",
	Attrs: []plans.Attr{
		{Name: "model", Type: plans.String, Program: true, Doc: "The model, by name or path: `{model}` in a command, and the model name in requests. By default the engine is asked for its model; a command with `{model}` in it, as most kinds have, needs this."},
		{Name: "env", Type: plans.Map, Program: true, Doc: "Environment variables, set on top of the inherited ones."},
		{Name: "settings", Type: plans.Values, Program: true, Doc: "Options in the kind's own words, which become flags of its command. A null leaves the option out."},
		{Name: "args", Type: plans.Strings, Program: true, Doc: "Appended to the command unchanged."},
	},
	Blocks: []*lang.BlockDoc{processDoc, readyDoc, stopDoc},
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

var processDoc = &lang.BlockDoc{
	Type: "process", Times: plans.AtMost1,
	Doc: "Starts the engine as a child process. Required if the kind has no command of its own and no other block says how to launch it.",
	Attrs: []plans.Attr{
		{Name: "command", Type: plans.Strings, Program: true, Required: true, Doc: "The program and its arguments; no shell is involved. `{port}` is replaced by the port to listen on, `{host}` by the address, `{model}` by the engine's model, `{mxflow}` by the path of mxflow itself."},
		{Name: "dir", Type: plans.String, Program: true, Doc: "Working directory, relative to the plan's folder. Without it, the plan's folder."},
		{Name: "port", Type: plans.Int, Min: 1, MinSet: true, Max: 65535, Doc: "Where it listens, for a command that always takes the same port. Without it, a free port of this machine, passed to the command as `{port}` and in the variable MXFLOW_PORT."},
	},
	Example: `process {
  command = ["vllm", "serve", "openai/gpt-oss-120b", "--port", "{port}"]
  dir     = "."
}`,
}

var readyDoc = &lang.BlockDoc{
	Type: "ready", Times: plans.AtMost1,
	Doc: "When the engine counts as started.",
	Attrs: []plans.Attr{
		{Name: "timeout", Type: plans.Duration, Doc: "Time limit from start to ready. Without it, the kind's own limit."},
		{Name: "first_timeout", Type: plans.Duration, Doc: "Time limit of the first request after that, which asks for one token and can compile kernels. Without it, 10m."},
	},
	Example: `ready {
  timeout = "15m"
}`,
}

var stopDoc = &lang.BlockDoc{
	Type: "stop", Times: plans.AtMost1,
	Doc: "How the engine is stopped.",
	Attrs: []plans.Attr{
		{Name: "grace", Type: plans.Duration, Doc: "How long it can take to stop before it is killed. Without it, the kind's own time."},
	},
	Example: `stop {
  grace = "20s"
}`,
}

// checkVariable refuses a variable that has the prefix of a kind's variables but is none
// of them: nothing would read it, and the variant would differ from its description.
func (l *loader) checkVariable(p eval.Pair) {
	for kind, k := range l.reg.Engines {
		if len(k.Variables) == 0 || slices.Contains(k.Variables, p.Key) {
			continue
		}
		prefix := k.Variables[0]
		for _, v := range k.Variables {
			for !strings.HasPrefix(v, prefix) {
				prefix = prefix[:len(prefix)-1]
			}
		}
		if strings.HasPrefix(p.Key, prefix) {
			l.Fail(p.KeyAt, "unknown-setting", "Unknown variable of an engine", "Engines of kind %q read no variable %s; they read %s.%s", kind, p.Key, strings.Join(k.Variables, ", "), l.DidYouMean(p.Key, k.Variables))
		}
	}
}

func (l *loader) decodeEngine(b *hcl.Block) {
	kind, known := l.reg.Engines[b.Labels[0]]
	f := l.Fields(b, engineDoc.WithParts(l.reg.EngineParts))
	e := &plans.Engine{
		Kind: b.Labels[0], Name: b.Labels[1], Range: lang.RangeOf(b.DefRange),
		Model: f.Text("model"), Args: f.Texts("args"),
	}
	if e.Env = f.TextMap("env"); e.Env != nil {
		for _, p := range f.Pairs("env") {
			l.checkVariable(p)
		}
	}
	e.Parts = l.decodeParts(f, l.reg.EngineParts)
	kind = l.extended(kind, e)
	e.Settings = l.decodeSettings(f.Pairs("settings"), e.Kind, kind.Settings, false)
	e.Observed = kind.Observed
	p := f.Single("process")
	if p != nil {
		e.Process = &plans.Process{}
	}
	e.Launch = l.launcherOf(f, e)
	if p != nil {
		pf := l.Fields(p, processDoc)
		pf.Required("command", `the argument vector that starts it, such as ["vllm", "serve", "--port", "{port}"].`)
		e.Process = &plans.Process{Command: pf.Texts("command"), Dir: pf.Text("dir"), Port: pf.Whole("port")}
		if v, ok := pf.Value("command"); ok && v.CanIterateElements() && v.LengthInt() == 0 {
			l.Fail(pf.At("command"), "empty-value", "Empty command", "Name at least the program to run.")
		}
	} else if known && kind.NeedsProcess && e.Launch == nil {
		l.Fail(b.DefRange, "missing-block", "Missing process block", `An engine of kind %q has no start command of its own. Add: process { command = ["program", "--port", "{port}"] }, or one of %s.`, e.Kind, plans.OrList(l.launchers()))
	}
	if r := f.Single("ready"); r != nil {
		rf := l.Fields(r, readyDoc)
		e.ReadyTimeout, e.FirstTimeout = rf.Duration("timeout"), rf.Duration("first_timeout")
	}
	if s := f.Single("stop"); s != nil {
		e.StopGrace = l.Fields(s, stopDoc).Duration("grace")
	}
	if known && kind.Check != nil {
		l.checkEngine(f, e, kind)
	}
	if l.First(b) {
		l.plan.Engines = append(l.plan.Engines, e)
	}
}

// launcherOf is the block of an engine that describes how it is launched, nil if that is
// a process block or none. Two ways to launch are an error.
func (l *loader) launcherOf(f *eval.Body, e *plans.Engine) *plans.Block {
	var found *plans.Block
	first := ""
	if e.Process != nil {
		first = "process"
	}
	for _, b := range f.Blocks {
		if !l.reg.EngineParts[b.Type].Launcher {
			continue
		}
		if first != "" && first != b.Type {
			l.Fail(b.DefRange, "two-launchers", "Two ways to launch", "Engine %s.%s has both a %s and a %s block, but is launched in only one way. Remove one of them.", e.Kind, e.Name, first, b.Type)
			continue
		}
		first = b.Type
		if parts := e.Parts[b.Type]; found == nil && len(parts) > 0 {
			found = parts[0]
		}
	}
	return found
}

// launchers are the keywords of the blocks that launch an engine.
func (l *loader) launchers() []string {
	words := []string{"process"}
	for _, word := range lang.KeysOf(l.reg.EngineParts) {
		if l.reg.EngineParts[word].Launcher {
			words = append(words, word)
		}
	}
	return words
}

// checkEngine reports what the kind finds wrong with a decoded engine.
func (l *loader) checkEngine(f *eval.Body, e *plans.Engine, kind plans.EngineKind) {
	for _, wrong := range kind.Check(e) {
		if wrong.Part == nil && f.Misspelled(wrong.Attr) {
			continue
		}
		at := f.At(wrong.Attr)
		if wrong.Part != nil {
			at = lang.HCL(wrong.Part.Range)
		}
		l.Fail(at, wrong.Code, wrong.Summary, "%s", wrong.Detail)
	}
}

// decodeSettings reads settings, checked against what the engine kind accepts; accepted
// == nil means anything. With unset, a null is kept, to unset the setting.
func (l *loader) decodeSettings(pairs []eval.Pair, kind string, accepted []plans.Attr, unset bool) map[string]any {
	settings := map[string]any{}
	byName := map[string]plans.Attr{}
	for _, a := range accepted {
		byName[a.Name] = a
	}
	for _, p := range pairs {
		if p.V.IsNull() {
			if unset {
				settings[p.Key] = nil
			}
			if accepted == nil || !unset {
				continue
			}
		}
		if accepted == nil {
			settings[p.Key] = lang.Plain(p.V)
			continue
		}
		a, ok := byName[p.Key]
		if !ok {
			unknown := unknownSetting{p, kind, lang.KeysOf(byName)}
			if unset { // of a knob: an engine that is decoded later may have it
				settings[p.Key] = lang.Plain(p.V)
				l.unknown = append(l.unknown, unknown)
			} else {
				l.failSetting(unknown)
			}
			continue
		}
		if p.V.IsNull() {
			continue
		}
		if v, ok := l.decodeAttr(a, p.V, hcl.StaticExpr(p.V, p.At)); ok {
			settings[p.Key] = v
		}
	}
	if len(settings) == 0 {
		return nil
	}
	return settings
}

// unknownSetting is a setting that no kind in the plan has.
type unknownSetting struct {
	pair  eval.Pair
	kind  string
	known []string
}

// extended is the kind with what the engine's own blocks add to it.
func (l *loader) extended(kind plans.EngineKind, e *plans.Engine) plans.EngineKind {
	for _, word := range lang.KeysOf(e.Parts) {
		extends := l.reg.EngineParts[word].Extends
		if extends == nil {
			continue
		}
		for _, b := range e.Parts[word] {
			more := extends(b)
			if kind.Settings != nil {
				kind.Settings = overAttrs(kind.Settings, more.Settings)
			}
			kind.Observed = overObserved(kind.Observed, more.Observed)
			for _, a := range more.Settings {
				l.added[a.Name] = true
			}
		}
	}
	return kind
}

// overAttrs lays attributes over others of the same name, without writing to
// either.
func overAttrs(under, over []plans.Attr) []plans.Attr {
	replaced := map[string]bool{}
	for _, a := range over {
		replaced[a.Name] = true
	}
	var all []plans.Attr
	for _, a := range under {
		if !replaced[a.Name] {
			all = append(all, a)
		}
	}
	return append(all, over...)
}

// overObserved is overAttrs for observations. One without a type has that of the
// one it replaces, or is text.
func overObserved(under, over []plans.Observed) (all []plans.Observed) {
	at := map[string]int{}
	for _, o := range under {
		at[o.Name] = len(all)
		all = append(all, o)
	}
	for _, o := range over {
		i, replaces := at[o.Name]
		switch {
		case !replaces && o.Type == "":
			o.Type = string(plans.String)
		case replaces && o.Type == "":
			o.Type, o.Unit, o.Doc = all[i].Type, all[i].Unit, all[i].Doc
		}
		if replaces {
			all[i] = o
		} else {
			all = append(all, o)
		}
	}
	return all
}

// checkUnknownSettings reports the settings of knobs that neither a kind nor a block of
// an engine knows. It runs when all engines are decoded, since a knob may come before
// them.
func (l *loader) checkUnknownSettings() {
	for _, u := range l.unknown {
		if !l.added[u.pair.Key] {
			l.failSetting(u)
		}
	}
}

func (l *loader) failSetting(u unknownSetting) {
	l.Fail(u.pair.KeyAt, "unknown-setting", "Unknown setting", "An engine of kind %q has no setting %q.%s", u.kind, u.pair.Key, l.DidYouMean(u.pair.Key, u.known))
}
