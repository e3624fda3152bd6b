package variant

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
)

// profilerPart is how profiles are taken of an engine, if not as its kind does.
var profilerPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc:     "How the level `profile` profiles the engine: with API pages that start and stop a profile, with a profiler around its process, or both. Without the block, the engine's kind decides. Additions to the start apply only to the profiled launch, never to a measured one.",
		Example: plans.Example(examples, `profiler {`),
		Attrs:   plans.Attrs(profiler{}),
		Check: plans.Checked(func(_ *plans.Block, p profiler) (wrong []plans.AttrError) {
			add := func(attr, detail string, args ...any) {
				wrong = append(wrong, plans.AttrError{Attr: attr, Code: "invalid-value", Summary: "Invalid profiler", Detail: fmt.Sprintf(detail, args...)})
			}
			for attr, page := range map[string]string{"start": p.Start, "stop": p.Stop} {
				if page != "" && !strings.HasPrefix(page, "/") {
					add(attr, "A page of the engine starts with a slash: write %[2]q instead of %[1]q.", page, "/"+page)
				}
			}
			if (p.Start == "") != (p.Stop == "") {
				add("", "A started profile must be stopped: write both start and stop, or neither.")
			}
			if p.Start == "" && p.Body != "" {
				add("body", "It is the body for start, which is missing. Add start.")
			}
			if len(p.Wrap) > 0 && !slices.ContainsFunc(p.Wrap, func(arg string) bool { return strings.Contains(arg, kinds.ProfileFolder) }) {
				add("wrap", "It lacks %s, the folder where profiles are expected. Add for example \"-o\", \"%s/engine\".", kinds.ProfileFolder, kinds.ProfileFolder)
			}
			return wrong
		}),
	},
}

// profiler is the block as a plan has it.
type profiler struct {
	Wrap  []string          `hcl:"wrap,optional" doc:"Command that goes before the engine's own, which becomes its arguments. '{profile}' is the folder for profiles as the engine sees it. The engine is profiled from start to end, and requests are told apart by the clock. Only for a process."`
	Args  []string          `hcl:"args,optional" doc:"Added to the engine's command, instead of the kind's arguments."`
	Env   map[string]string `hcl:"env,optional" doc:"Added to its environment, instead of the kind's variables."`
	Start string            `hcl:"start,optional" doc:"Page that starts a profile on POST, instead of the kind's."`
	Stop  string            `hcl:"stop,optional" doc:"Page that stops it."`
	Body  string            `hcl:"body,optional" doc:"Body for 'start', as JSON."`
}

// Profiler is how profiles are taken of a variant.
type Profiler struct {
	kinds.Profiler
	// Wrap goes before the engine's command.
	Wrap []string
}

// Any reports whether there is any way to take one.
func (p Profiler) Any() bool { return p.Start != "" || len(p.Wrap) > 0 }

// ProfilerOf is how profiles are taken of an engine of a plan: as its kind does, or as
// its profiler block says.
func ProfilerOf(e *plans.Engine) (p Profiler, err error) {
	kind, ok := kinds.Lookup(e.Kind)
	if !ok {
		return p, fmt.Errorf("unknown engine kind %q", e.Kind)
	}
	p.Profiler = kind.Profiler
	if len(e.Parts["profiler"]) == 0 {
		return p, nil
	}
	var own profiler
	if err := e.Parts["profiler"][0].Decode(&own); err != nil {
		return p, err
	}
	if len(own.Wrap) > 0 || own.Start != "" {
		p.Profiler = kinds.Profiler{Start: own.Start, Stop: own.Stop, Body: own.Body}
	}
	p.Wrap = own.Wrap
	if own.Args != nil {
		p.Args = own.Args
	}
	if own.Env != nil {
		p.Env = own.Env
	}
	return p, nil
}

// profilesInside is the container's path of the folder for profiles.
const profilesInside = "/mxflow/profiles"

// WithProfiler is the variant as started for profiling, with a folder of the host for the
// profiles; inside is that folder as seen by the engine. The key is the variant's:
// measured launches start without.
func (v *Variant) WithProfiler(folder string) (profiled *Variant, inside string) {
	own := *v
	p, spec := v.Profiler, v.Spec
	inside = folder
	if spec.Docker != nil {
		docker := *spec.Docker
		docker.Volumes = maps.Clone(docker.Volumes)
		if docker.Volumes == nil {
			docker.Volumes = map[string]string{}
		}
		docker.Volumes[folder], inside = profilesInside, profilesInside
		spec.Docker = &docker
	}
	fill := strings.NewReplacer(kinds.ProfileFolder, inside).Replace
	filled := func(args []string) (out []string) {
		for _, arg := range args {
			out = append(out, fill(arg))
		}
		return out
	}
	// If the plan sets the flag itself, its value holds.
	if args := filled(p.Args); len(args) > 0 && !slices.Contains(spec.Command, args[0]) {
		spec.Command = slices.Concat(spec.Command, args)
	}
	if spec.How() == engine.HowProcess {
		spec.Command = slices.Concat(filled(p.Wrap), spec.Command)
	}
	spec.Env = maps.Clone(spec.Env)
	for name, value := range p.Env {
		if _, set := spec.Env[name]; set {
			continue
		}
		if spec.Env == nil {
			spec.Env = map[string]string{}
		}
		spec.Env[name] = fill(value)
	}
	own.Spec = spec
	return &own, inside
}
