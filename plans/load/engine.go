package load

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var engineDoc = block(plans.Engine{}, lang.BlockDoc{
	Type: "engine", Times: plans.AnyTimes, Repeats: true,
	Doc:    "An inference engine under test: its kind and how it is launched.",
	Blocks: []*lang.BlockDoc{processDoc, readyDoc, stopDoc},
})

var (
	processDoc = block(plans.Process{}, lang.BlockDoc{
		Type: "process", Times: plans.AtMost1,
		Doc: "Starts the engine as a child process. Required if the kind has no command of its own and no other " +
			"block launches it.",
	})
	readyDoc = block(ready{},
		lang.BlockDoc{Type: "ready", Times: plans.AtMost1, Doc: "When the engine counts as started."})
	stopDoc = block(stop{}, lang.BlockDoc{Type: "stop", Times: plans.AtMost1, Doc: "How the engine is stopped."})
)

type ready struct {
	Timeout      time.Duration `hcl:"timeout,optional" doc:"Time limit from start to ready. Without it, the kind's own limit."`
	FirstTimeout time.Duration `hcl:"first_timeout,optional" doc:"Time limit of the first request after that. It asks for one token and can compile kernels. Without it, 10m."`
}

type stop struct {
	Grace time.Duration `hcl:"grace,optional" doc:"Time to stop before it is killed. Without it, the kind's own time."`
}

func (l *loader) decodeEngine(b *hcl.Block) {
	kind, known := l.reg.Engines[b.Labels[0]]
	e := &plans.Engine{}
	f := l.Read(b, engineDoc.WithParts(l.reg.EngineParts), e)
	for _, p := range f.Pairs("env") {
		l.checkVariable(p)
	}
	e.Parts = l.decodeParts(f, l.reg.EngineParts)
	var settings accepted
	settings, e.Observed = l.extended(e)
	e.Settings = l.decodeSettings(f.Pairs("settings"), e.Kind, settings, false)
	if l.settings.add(settings); known {
		l.settings.kind = e.Kind
	}
	launchers, first := []string{"process"}, ""
	if p := f.Single("process"); p != nil {
		first, e.Process = "process", &plans.Process{}
		l.Read(p, processDoc, e.Process)
	}
	for _, word := range lang.KeysOf(l.reg.EngineParts) {
		if l.reg.EngineParts[word].Launcher {
			launchers = append(launchers, word)
		}
	}
	for _, b := range f.Blocks {
		switch parts := e.Parts[b.Type]; {
		case !l.reg.EngineParts[b.Type].Launcher:
		case first != "" && first != b.Type:
			l.Fail(b.DefRange, "two-launchers", "Two ways to launch",
				"Engine %s.%s has both a %s and a %s block, but is launched in only one way. Remove one of them.",
				e.Kind, e.Name, first, b.Type)
		default:
			if first = b.Type; e.Launch == nil && len(parts) > 0 {
				e.Launch = parts[0]
			}
		}
	}
	if known && kind.NeedsProcess && e.Process == nil && e.Launch == nil {
		l.Fail(b.DefRange, "missing-block", "Missing process block",
			`An engine of kind %q has no start command of its own. Add: ‹process { command = ["program", "--port", "{port}"] }›, or one of %s.`, e.Kind, plans.OrList(launchers))
	}
	if r := f.Single("ready"); r != nil {
		var limits ready
		l.Read(r, readyDoc, &limits)
		e.ReadyTimeout, e.FirstTimeout = limits.Timeout, limits.FirstTimeout
	}
	if s := f.Single("stop"); s != nil {
		var limits stop
		l.Read(s, stopDoc, &limits)
		e.StopGrace = limits.Grace
	}
	if known && kind.Check != nil {
		for _, wrong := range kind.Check(e) {
			at := f.At(wrong.Attr)
			if wrong.Part != nil {
				at = lang.HCL(wrong.Part.Range)
			} else if f.Misspelled(wrong.Attr) {
				continue
			}
			l.Fail(at, wrong.Code, wrong.Summary, "%s", wrong.Detail)
		}
	}
	add(l, b, &l.plan.Engines, e)
}

// checkVariable refuses a variable that has the prefix of a kind's variables but is none
// of them: nothing would read it, and the variant would differ from its description.
func (l *loader) checkVariable(p eval.Pair) {
	for kind, k := range sorted.All(l.reg.Engines) {
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
			l.Fail(p.KeyAt, "unknown-setting", "Unknown variable of an engine",
				"Engines of kind %q read no variable %s; they read %s.%s", kind, p.Key, strings.Join(k.Variables, ", "),
				l.DidYouMean(p.Key, k.Variables))
		}
	}
}

// knobSettings are the settings that some engine of the plan accepts: a knob belongs to no
// engine in particular.
type knobSettings struct {
	kind  string
	known accepted
	// any means that an engine accepts any.
	any bool
}

func (s *knobSettings) add(of accepted) {
	if s.any = s.any || of == nil; s.any {
		s.known = nil
		return
	}
	if s.known == nil {
		s.known = accepted{}
	}
	for name, a := range of {
		// What one kind refuses may be meant for another; each variant is checked.
		if old, twice := s.known[name]; twice && (old.Min != a.Min || old.MinSet != a.MinSet || old.Max != a.Max) {
			a.Min, a.MinSet, a.Max = 0, false, 0
		}
		s.known[name] = a
	}
}

// accepted are the settings that an engine accepts, by name, or those that some engine of
// the plan does; nil is anything.
type accepted map[string]plans.Attr

// decodeSettings reads settings, checked against what the engine kind accepts. With unset,
// a null is kept, to unset the setting.
func (l *loader) decodeSettings(pairs []eval.Pair, kind string, known accepted, unset bool) map[string]any {
	settings := map[string]any{}
	for _, p := range pairs {
		switch a, ok := known[p.Key]; {
		case known != nil && !ok:
			l.Fail(p.KeyAt, "unknown-setting", "Unknown setting",
				"An engine of kind %q has no setting %q.%s A flag of a fork goes into args, of the engine or of a "+
					"knob's value: ‹args = [\"--%s\"]›.", kind, p.Key, l.DidYouMean(p.Key, lang.KeysOf(known)),
				strings.ReplaceAll(p.Key, "_", "-"))
		case p.V.IsNull():
			if unset {
				settings[p.Key] = nil
			}
		case known == nil:
			settings[p.Key] = lang.Plain(p.V)
		default:
			if v, ok := l.Decode(a, p.V, hcl.StaticExpr(p.V, p.At)); ok {
				settings[p.Key] = v
			}
		}
	}
	if len(settings) == 0 {
		return nil
	}
	return settings
}

// extended adds the settings and observations of an engine's own blocks to those of its
// kind.
func (l *loader) extended(e *plans.Engine) (known accepted, observed []plans.Observed) {
	kind := l.reg.Engines[e.Kind]
	if kind.Settings != nil {
		known = accepted{}
	}
	for _, a := range kind.Settings {
		known[a.Name] = a
	}
	observed = slices.Clone(kind.Observed)
	for _, word := range lang.KeysOf(e.Parts) {
		observes := l.reg.EngineParts[word].Observes
		if observes == nil {
			continue
		}
		for _, b := range e.Parts[word] {
			for _, o := range observes(b) {
				i := slices.IndexFunc(observed, func(old plans.Observed) bool { return old.Name == o.Name })
				switch {
				case i < 0 && o.Type == "":
					o.Type = string(plans.String)
				case i >= 0 && o.Type == "":
					o.Type, o.Unit, o.Doc = observed[i].Type, observed[i].Unit, observed[i].Doc
				}
				if i >= 0 {
					observed[i] = o
				} else {
					observed = append(observed, o)
				}
			}
		}
	}
	return known, observed
}
