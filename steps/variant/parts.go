package variant

import (
	"maps"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
)

// launchPart is one way to launch an engine: the block that selects it, and how the block
// becomes part of a Spec.
type launchPart struct {
	schema plans.Schema
	// put fills in spec from d.engine.Launch and returns the command before
	// flags: the block's own, or the kind's.
	put func(l *Resolver, d *draft, spec *engine.Spec) ([]string, error)
}

// launchParts, engineParts and valueParts: a new block is one file and one line
// here.
var (
	launchParts = map[string]launchPart{
		"compose":  composePart,
		"docker":   dockerPart,
		"endpoint": endpointPart,
		"exec":     execPart,
	}
	engineParts = map[string]plans.Part{
		"gpu": gpuPart, "metadata": metadataPart,
		"observe": observePart, "profile": profilePart, "profiler": profilerPart,
		"output": outputPart, "metric": metricPart, "run": runPart,
		"source": sourcePart, "caches": cachesPart, "tree": treePart,
	}
	valueParts = map[string]plans.Part{"source": sourceValuePart}
)

// Parts are all blocks that an engine may contain.
func Parts() map[string]plans.Part {
	all := map[string]plans.Part{}
	maps.Copy(all, engineParts)
	for word, p := range launchParts {
		all[word] = plans.Part{Schema: p.schema, Times: plans.AtMost1, Launcher: true}
	}
	return all
}

// Register registers what a plan may contain in engines and knob values.
func Register(r *plans.Registry) {
	r.EngineParts, r.ValueParts = Parts(), valueParts
	if r.Engines == nil {
		r.Engines = map[string]plans.EngineKind{}
	}
	for _, k := range kinds.All() {
		out := plans.EngineKind{
			Doc: k.Doc, Example: k.Example, NeedsProcess: k.NeedsCommand(),
			Settings: []plans.Attr{}, Variables: k.Variables, Check: Check, Doubt: portNotTaken,
		}
		for _, p := range k.Patterns(nil) {
			out.Observed = append(out.Observed, plans.Observed{
				Name: p.Name, Type: string(p.Type), Unit: p.Unit,
				Doc: p.Doc, Asked: k.OnlyEchoed(p.Name),
			})
		}
		for _, s := range k.Settings {
			a := plans.Attr{
				Name: s.Name, Type: plans.String, OneOf: s.Choices,
				Doc: strings.TrimSpace(s.Doc + " Default: " + s.Default + "."),
			}
			switch {
			case s.Type == "bool":
				a.Type = plans.Bool
			case s.Whole:
				a.Type = plans.Int
			case s.Type == "number":
				a.Type = plans.Number
			case s.Type != "string":
				a.Type = plans.Anything
			}
			a.Min, a.MinSet, a.Max = s.Min, s.Max != 0, s.Max
			out.Settings = append(out.Settings, a)
		}
		r.Engines[k.Name] = out
	}
}
