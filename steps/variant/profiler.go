package variant

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
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
		Doc: "A profiler around the engine's process, for the level `profile`. It replaces the engine's own. It " +
			"is only in the profiled launch, never in a measured one.",
		Example: plans.Example(examples, `profiler {`),
		Attrs:   plans.Attrs(profiler{}),
		Check: plans.Checked(func(_ *plans.Block, p profiler) (wrong []plans.AttrError) {
			if !slices.ContainsFunc(p.Wrap, func(arg string) bool {
				return strings.Contains(arg, kinds.ProfileFolder)
			}) {
				wrong = append(wrong, plans.AttrError{
					Attr: "wrap", Code: "invalid-value", Summary: "Invalid profiler",
					Detail: fmt.Sprintf("It lacks %[1]s, the folder where profiles are expected. Add for example "+
						"\"-o\", \"%[1]s/engine\".", kinds.ProfileFolder),
				})
			}
			return wrong
		}),
	},
}

// profiler is the block as a plan has it.
type profiler struct {
	Wrap []string `hcl:"wrap" doc:"Command put before the engine's own. The engine's command becomes its arguments. '{profile}' is the folder for profiles as the engine sees it. The engine is profiled from start to end, and requests are told apart by the clock. Only for a process."`
}

// Profiler is how profiles are taken of a variant.
type Profiler struct {
	kinds.Profiler
	// Wrap goes before the engine's command.
	Wrap []string
}

// Any reports whether there is any way to take one.
func (p Profiler) Any() bool { return p.Start != "" || len(p.Wrap) > 0 }

// ProfilerOf is how profiles are taken of an engine of a plan: as its kind does, or by the
// wrapper in its profiler block.
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
	return Profiler{Wrap: own.Wrap}, nil
}

// profilesInside is the container's path of the folder for profiles.
const profilesInside = "/mxflow/profiles"

// FolderInContainer is where an engine in a compose service or in a running container
// writes profiles: no folder of this machine can be mounted there, so they are copied.
func FolderInContainer(folder string) string { return path.Join("/tmp", filepath.Base(folder)) }

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
	if how := spec.How(); how == engine.HowCompose || how == engine.HowExec {
		inside = FolderInContainer(folder)
	}
	filled := func(args []string) (out []string) {
		for _, arg := range args {
			out = append(out, strings.ReplaceAll(arg, kinds.ProfileFolder, inside))
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
	own.Spec = spec
	return &own, inside
}
