package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
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
		e.Process = &Process{Command: pf.texts("command"), Dir: pf.text("dir", ""), Port: pf.whole("port", 0, 1, 65535)}
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
func (l *loader) checkEngine(f *body, e *Engine, kind EngineKind) {
	for _, wrong := range kind.Check(e) {
		at := f.at(wrong.Attr)
		if wrong.Part != nil {
			at = wrong.Part.Range.hcl()
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
