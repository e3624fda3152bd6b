package variant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

const sourceDoc = "The revision that the engine is built and run from. Each commit gets its own worktree and build, " +
	"each variant its own compiler caches. " +
	"`{source.<name>}` in command, args, env and folders is the worktree, and `{source}` that of an engine with one " +
	"source; the engine starts in the first if no folder is given. " +
	"In `build` and `env` it refers to a source above this one, which is built first: when that changes, this one is " +
	"built again."

// sourceAttrs have no defaults: what a knob's value omits is the engine's.
var sourceAttrs = plans.Attrs(SourceConfig{})

var sourcePart = plans.Part{
	Times: plans.AnyTimes, Label: "Its name in `{source.<name>}` and in knob values.",
	Schema: plans.Schema{
		Doc: sourceDoc, Attrs: withRequired(sourceAttrs, "repo", "ref"), Check: checkSource,
		Example: plans.Example(examples, `source "vllm" {`),
	},
}

var sourceValuePart = plans.Part{
	Times: plans.AnyTimes, Label: "The engine's source that it modifies.",
	Schema: plans.Schema{
		Doc:   "The source for this value; it overrides the engine's of that name. It does so attribute by attribute.",
		Attrs: withRequired(sourceAttrs, "ref"), Check: checkSource,
		Example: plans.Example(examples, "source \"vllm\" {\n  ref "),
	},
}

func withRequired(attrs []plans.Attr, names ...string) []plans.Attr {
	attrs = slices.Clone(attrs)
	for i := range attrs {
		attrs[i].Required = slices.Contains(names, attrs[i].Name)
	}
	return attrs
}

func checkSource(b *plans.Block) (wrong []plans.AttrError) {
	if build, ok := b.Attrs["build"]; ok {
		if why := notCommands(build); why != "" {
			wrong = append(wrong, plans.AttrError{
				Attr: "build", Code: "wrong-type", Summary: "Wrong type for build",
				Detail: `build takes a list of commands, each a list of texts, such as [["make", "-j8"]]; ` + why,
			})
		}
	}
	if mount, ok := b.Attrs["mount"].(string); ok && !path.IsAbs(mount) {
		wrong = append(wrong, plans.AttrError{
			Attr: "mount", Code: "invalid-value", Summary: "Invalid mount",
			Detail: fmt.Sprintf("mount must be a path in the container, starting with /, not %q.", mount),
		})
	}
	return wrong
}

// notCommands is why v is not a list of argument vectors; empty if it is one.
func notCommands(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprintf("this is %s.", plans.Written(v))
	}
	for i, c := range list {
		words, ok := c.([]any)
		if !ok {
			return fmt.Sprintf("entry %d is %s, which is not a list: put it into brackets.", i+1, plans.Written(c))
		}
		if len(words) == 0 {
			return fmt.Sprintf("entry %d is empty.", i+1)
		}
		for _, w := range words {
			if text, ok := w.(string); !ok || text == "" && words[0] == w {
				return fmt.Sprintf("entry %d contains %s, which is not text.", i+1, plans.Written(w))
			}
		}
	}
	return ""
}

type cachesConfig struct {
	State  string `hcl:"state" oneof:"warm|cold" doc:"'warm' keeps them between launches; 'cold' empties them. They are a variant's own: with 'warm' its first launch finds them empty and is recorded as cold, with 'cold' each does."`
	Tuning string `hcl:"tuning,optional" oneof:"drawn|pinned" default:"drawn" requires:"state=warm" doc:"Autotuned choices of engines, such as FlashInfer's tactics. 'drawn': each launch chooses again, so a lucky choice is noise like any other. 'pinned': all launches of a variant reuse the choice of the first, and the verdict holds for that one only."`
	Dir    string `hcl:"dir,optional" doc:"Their folder, relative to the plan's folder. Without it, in the state directory."`
	Mount  string `hcl:"mount,optional" doc:"Where a container sees it. With docker, the caches are mounted there (without it, at /mxflow-caches). With exec and compose, it is where the container sees 'dir'."`
}

var cachesPart = plans.Part{Times: plans.AtMost1, Schema: plans.Schema{
	Doc: "The state of each variant's own compiler caches. They are those of torch.compile, Triton, FlashInfer, " +
		"CUDA and others. Without this block those of a process, and of an engine with a source, are warm; other " +
		"containers use whatever caches exist.",
	Attrs:   plans.Attrs(cachesConfig{}),
	Check:   checkSource,
	Example: plans.Example(examples, `caches {`),
}}

type treeConfig struct {
	Path  string   `hcl:"path" doc:"A folder of the working tree. It is relative to the plan's folder; '~' is the home folder."`
	Paths []string `hcl:"paths,optional" doc:"Files and folders that matter, relative to the repository's root. Without it, everything that git does not ignore."`
}

var treePart = plans.Part{Label: "Its name in reports.", Times: plans.AnyTimes, Schema: plans.Schema{
	Doc: "A working tree with uncommitted changes that the engine runs from. It is hashed at every launch and " +
		"its diff kept; a change between two launches of a benchmark makes it invalid, and a changed tree is " +
		"measured again. Trees that are mounted or that the command runs from are detected without this block.",
	Attrs:   plans.Attrs(treeConfig{}),
	Example: plans.Example(examples, `tree "vllm" {`),
}}

// SourceConfig are the attributes of source blocks, overlaid on each other.
type SourceConfig struct {
	Name    string            `json:"-"`
	Repo    string            `hcl:"repo,optional" filled:"true" doc:"A clone of the repository. It is relative to the plan's folder; '~' is the home folder. Its own files and branches stay untouched."`
	Ref     string            `hcl:"ref,optional" filled:"true" doc:"The branch, tag or SHA to run."`
	Build   [][]string        `hcl:"build,optional" type:"anything" doc:"Commands that build it, as in '[[\"make\", \"-j8\"]]'. They run in the worktree in this order, without a shell. They run again when the commit, the commands, 'env' or 'inputs' change, or after an interruption."`
	Env     map[string]string `hcl:"env,optional" doc:"Environment of the build, on top of the inherited one."`
	Inputs  []string          `hcl:"inputs,optional" doc:"Files outside the repository that the build reads. They are relative to the plan's folder, '*' allowed; when one changes, it is built again."`
	Timeout plans.Dur         `hcl:"timeout,optional" doc:"Time limit of each build command. Without it, 2h."`
	Dir     string            `hcl:"dir,optional" doc:"The folder for worktrees, relative to the plan's folder. Without it, in the state directory."`
	Mount   string            `hcl:"mount,optional" doc:"Where a container sees it. With docker, the worktree is mounted there (without it, at /workspace and the name of the repository). With exec and compose, it is where the container sees 'dir'."`
}

// sourceTimeout is how long a build command may take if the plan does not say.
const sourceTimeout = 2 * time.Hour

// provenance adds to spec its sources, its caches and the working trees that it sees. A
// source that cannot be resolved yet (a branch that a step will make) is not an error
// here: the launch reports it.
func (l *Resolver) provenance(d *draft, spec *engine.Spec) error {
	// The sources of knob values are over the engine's, by name.
	configs := map[string]*SourceConfig{}
	var names []string
	for _, b := range d.sources {
		if configs[b.Name] == nil {
			configs[b.Name] = &SourceConfig{Name: b.Name}
			names = append(names, b.Name)
		}
		if err := b.Decode(configs[b.Name]); err != nil {
			return err
		}
	}
	for _, name := range names {
		spec.Sources = append(spec.Sources, l.SourceOf(d.scope, *configs[name], spec.Sources...))
	}
	if len(names) > 0 && spec.How() == engine.HowProcess && (d.engine.Process == nil || d.engine.Process.Dir == "") {
		spec.Dir = engine.SourceMark(names[0])
	}
	if len(spec.Sources) > 0 || spec.How() == engine.HowProcess {
		spec.Caches = &engine.Caches{State: "warm", Tuning: "drawn"}
	}
	for _, b := range d.engine.Parts["caches"] {
		var of cachesConfig
		if err := b.Decode(&of); err != nil {
			return err
		}
		spec.Caches = &engine.Caches{State: of.State, Tuning: of.Tuning, Dir: of.Dir, Mount: of.Mount}
	}
	for _, b := range d.engine.Parts["tree"] {
		var c treeConfig
		if err := b.Decode(&c); err != nil {
			return err
		}
		spec.Trees = append(spec.Trees, engine.Tree{Name: b.Name, Path: l.Plan.Abs(c.Path), Paths: c.Paths})
	}
	return nil
}

// SourceOf resolves a source; before are those that its build may use.
func (l *Resolver) SourceOf(s *runtime.Scope, c SourceConfig, before ...*engine.Source) *engine.Source {
	src := &engine.Source{
		Name: c.Name, Repo: l.Plan.Abs(c.Repo), Ref: c.Ref, Build: c.Build, Env: c.Env, Mount: c.Mount,
		Timeout: int64(c.Timeout),
	}
	if c.Dir != "" {
		src.Dir = l.Plan.Abs(c.Dir)
	}
	if src.Timeout <= 0 {
		src.Timeout = int64(sourceTimeout)
	}
	if c.Repo == "" {
		src.Problem = fmt.Sprintf(
			"source %q has no repo, neither in a knob's value nor in the engine: add one, or correct the name", c.Name)
		return src
	}
	if src.Uses, src.Problem = uses(c, before); src.Problem != "" {
		return src
	}
	src.Commit, src.Problem = runtime.Ask(s, "commit "+src.Repo+"\x00"+src.Ref,
		func(ctx context.Context) (string, error) {
			r, err := source.OpenRepo(ctx, src.Repo)
			if err != nil {
				return "", err
			}
			return r.Commit(ctx, src.Ref)
		})
	if len(c.Inputs) > 0 {
		var err error
		if src.Inputs, err = l.inputs(c.Inputs); err != nil && src.Problem == "" {
			src.Problem = err.Error()
		}
	}
	return src
}

// inputs is the digest of files that a build reads. A missing one is an error: the build
// would not be what the plan says.
func (l *Resolver) inputs(patterns []string) (string, error) {
	h := sha256.New()
	for _, p := range patterns {
		found, err := filepath.Glob(l.Plan.Abs(p))
		if err != nil {
			return "", fmt.Errorf("inputs: %q is not a valid pattern: %w", p, err)
		}
		if len(found) == 0 {
			return "", fmt.Errorf("inputs: file %s does not exist: correct the path, or remove it from inputs", p)
		}
		for _, file := range slices.Sorted(slices.Values(found)) {
			sum := runtime.FileDigest(file)
			if len(sum) != 2*sha256.Size {
				return "", fmt.Errorf("inputs: %s is not a readable file: list files, with * for many", file)
			}
			fmt.Fprintf(h, "%s\x00%s\x00%s\x00", p, filepath.Base(file), sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// uses are the sources that the build of c names, each of which must be in before.
func uses(c SourceConfig, before []*engine.Source) (names []string, problem string) {
	texts := slices.Sorted(maps.Values(c.Env))
	for _, command := range c.Build {
		texts = append(texts, command...)
	}
	for _, text := range texts {
		for _, name := range engine.SourcesIn(text) {
			if name == c.Name {
				continue
			}
			if !slices.ContainsFunc(before, func(s *engine.Source) bool { return s.Name == name }) {
				return nil,
					fmt.Sprintf("the build of source %q uses {source.%s}, but no source of that name is declared "+
						"above it", c.Name, name)
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, ""
}

// BuildKey identifies a build by its inputs: another key is another build. all are the
// sources of the engine.
func BuildKey(l *Resolver, src *engine.Source, all []*engine.Source) string {
	parts := []any{"build", src.Commit, src.Build, src.Env, src.Inputs}
	for _, other := range all {
		if slices.Contains(src.Uses, other.Name) {
			parts = append(parts, other.Name, BuildKey(l, other, all))
		}
	}
	return l.SecretDigest(parts...)
}

// rootOf is the root of the working tree around a folder; empty if there is none.
func rootOf(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Snapshot hashes a tree, and writes its diff unless that is nil.
func Snapshot(ctx context.Context, t engine.Tree, diff io.Writer) (source.Tree, error) {
	r, err := source.OpenRepo(ctx, t.Path)
	if err != nil {
		return source.Tree{}, err
	}
	return r.Snapshot(ctx, t.Paths, diff)
}
