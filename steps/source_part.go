package steps

import (
	"fmt"
	"path"
	"slices"

	"github.com/mxflow/mxflow/plans"
)

const sourceDoc = "The revision that the engine is built from and runs from: each commit gets a worktree and a build of its own, each variant its own JIT and compile caches. " +
	"`{source}` in command, args, env and folders is the worktree; the engine starts in it where no folder is given. A failed build is a failed launch."

// sourceAttrs have no defaults: what a knob's value leaves out is the engine's.
var sourceAttrs = []plans.Attr{
	{Name: "repo", Type: plans.String, Doc: "A clone of the repository, relative to the plan's folder; `~` is the home folder. Its own files and branches are left alone."},
	{Name: "ref", Type: plans.String, Doc: "The branch, tag or SHA to run."},
	{Name: "build", Type: plans.Anything, Doc: "Commands that build it, run in the worktree in this order, as in `[[\"make\", \"-j8\"]]`; no shell is involved. They run again when the commit, they themselves, `env` or `inputs` change, or when they were interrupted."},
	{Name: "env", Type: plans.Map, Doc: "Environment of the build commands, on top of the inherited one."},
	{Name: "inputs", Type: plans.Strings, Doc: "Files outside of the repository that the build reads, relative to the plan's folder, `*` allowed: when one changes it is built again."},
	{Name: "timeout", Type: plans.Duration, Doc: "How long each build command may take. Without it, 2h."},
	{Name: "dir", Type: plans.String, Doc: "The folder in which worktrees are made, relative to the plan's folder. Without it, in the state directory."},
	{Name: "mount", Type: plans.String, Doc: "Where a container sees it. With docker, the worktree is mounted there (without it, at /workspace and the name of the repository). With exec and compose, it is where the container sees `dir`."},
}

var sourcePart = plans.Part{Times: plans.AtMost1, Schema: plans.Schema{
	Doc: sourceDoc, Attrs: withRequired(sourceAttrs, "repo", "ref"), Check: checkSource,
	Example: `source {
  repo  = "~/projects/vllm"
  ref   = "mxfp4_v2"
  build = [["python3", "setup.py", "build_ext", "--inplace"]]
}`,
}}

var sourceValuePart = plans.Part{Times: plans.AtMost1, Schema: plans.Schema{
	Doc:   "The revision that the engine is built and run from when the knob has this value: on top of the engine's source, attribute by attribute.",
	Attrs: withRequired(sourceAttrs, "ref"), Check: checkSource,
	Example: `source {
  ref = "mxfp4_v2"
}`,
}}

func withRequired(attrs []plans.Attr, names ...string) []plans.Attr {
	attrs = slices.Clone(attrs)
	for i := range attrs {
		attrs[i].Required = slices.Contains(names, attrs[i].Name)
	}
	return attrs
}

func checkSource(b *plans.Block) []plans.AttrError {
	wrong := notBlank(b)
	if build, ok := b.Attrs["build"]; ok {
		if why := notCommands(build); why != "" {
			wrong = append(wrong, plans.AttrError{Attr: "build", Code: "wrong-type", Summary: "Wrong type for build", Detail: `build takes a list of commands, each a list of texts, such as [["make", "-j8"]]; ` + why})
		}
	}
	if mount, ok := b.Attrs["mount"].(string); ok && !path.IsAbs(mount) {
		wrong = append(wrong, plans.AttrError{Attr: "mount", Code: "invalid-value", Summary: "Invalid mount", Detail: fmt.Sprintf("mount is a path in the container, and begins with /; this is %q.", mount)})
	}
	return wrong
}

// notCommands says why v is no list of argument vectors; empty when it is one.
func notCommands(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprintf("this is %v.", v)
	}
	for i, c := range list {
		words, ok := c.([]any)
		if !ok {
			return fmt.Sprintf("entry %d is %v, which is no list: put it into brackets.", i+1, c)
		}
		if len(words) == 0 {
			return fmt.Sprintf("entry %d is empty.", i+1)
		}
		for _, w := range words {
			if text, ok := w.(string); !ok || text == "" && words[0] == w {
				return fmt.Sprintf("entry %d has %v in it, which is no text.", i+1, w)
			}
		}
	}
	return ""
}

var cachesPart = plans.Part{Times: plans.AtMost1, Schema: plans.Schema{
	Doc: "Gives each variant its own caches of compilers (torch.compile, Triton, FlashInfer, CUDA and others), in a known state, so that no arm profits from what another one compiled. Without this block, and without a source, the engine uses whatever caches lie there.",
	Attrs: []plans.Attr{
		{Name: "state", Type: plans.String, Required: true, OneOf: []string{"warm", "cold"}, Doc: "`warm`: kept between launches of a variant; the first one finds them empty, is cold in fact, and is recorded so. `cold`: empty at each launch."},
		{Name: "dir", Type: plans.String, Doc: "The folder that they lie in, relative to the plan's folder. Without it, in the state directory."},
		{Name: "mount", Type: plans.String, Doc: "Where a container sees it. With docker, the caches are mounted there (without it, at /mxflow-caches). With exec and compose, it is where the container sees `dir`."},
	},
	Check: checkSource,
	Example: `caches {
  state = "cold"
}`,
}}

var treePart = plans.Part{Label: "What reports call it.", Times: plans.AnyTimes, Schema: plans.Schema{
	Doc: "A working tree that the engine runs from as it lies there, with changes that nobody committed. It is hashed at every launch, its diff kept; a change between two launches of a benchmark makes it invalid, and a changed tree is measured again. Working trees in `volumes` of docker, and one that the `dir` of process lies in, are noticed without this block.",
	Attrs: []plans.Attr{
		{Name: "path", Type: plans.String, Required: true, Doc: "A folder of the working tree, relative to the plan's folder; `~` is the home folder."},
		{Name: "paths", Type: plans.Strings, Doc: "The files and folders that matter, relative to the repository's root. Without it, all that git does not ignore."},
		{Name: "freeze", Type: plans.Bool, Default: false, Doc: "Refuses to launch once the tree is no longer as it was at the latest launch on record, instead of measuring it anew."},
	},
	Example: `tree "vllm" {
  path  = "~/projects/vllm"
  paths = ["csrc", "vllm"]
}`,
}}
