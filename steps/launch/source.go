package launch

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// provide prepares what a launch needs besides the engine itself: the hash of the trees
// it sees, the worktree of its revision, built, and its caches. It returns the variant
// with the paths filled in. The error is an *engine.Failure, or the context's.
func (l *Lab) provide(ctx context.Context, s *runtime.Scope, v *variant.Variant,
	record *ledger.Launch,
) (*variant.Variant, error) {
	if v.Spec.Sources == nil && unresolvedMark(v.Spec) != "" {
		return v,
			failed("engine", "start",
				"its command or folder contains %s, but neither the engine nor a knob value has a source block: add "+
					"one with repo and ref", unresolvedMark(v.Spec))
	}
	if v.Spec.Sources == nil && v.Spec.Caches == nil && len(v.Spec.Trees) == 0 {
		return v, nil
	}
	l.providing.Lock()
	defer l.providing.Unlock()
	if err := l.recordTrees(ctx, v, record); err != nil {
		return v, err
	}
	out := *v
	out.Spec = copies(v.Spec)
	for _, src := range v.Spec.Sources {
		if err := l.provideSource(ctx, s, &out.Spec, src, record); err != nil {
			return v, err
		}
	}
	if left := unresolvedMark(out.Spec); left != "" {
		var names []string
		for _, s := range v.Spec.Sources {
			names = append(names, s.Name)
		}
		return v,
			failed("engine", "start", "its command or folder contains %s, but its sources are %s: name one of them",
				left, strings.Join(names, ", "))
	}
	if v.Spec.Caches != nil {
		if err := l.provideCaches(&out.Spec, v.Key, record); err != nil {
			return v, err
		}
	}
	return &out, nil
}

func failed(of, op, format string, args ...any) *engine.Failure {
	return &engine.Failure{Of: of, Op: op, Reason: fmt.Sprintf(format, args...)}
}

// unresolvedMark is a source's mark left in what starts the engine; empty if there is none.
func unresolvedMark(spec engine.Spec) string {
	for _, text := range append([]string{spec.Dir}, spec.Command...) {
		if _, rest, ok := strings.Cut(text, "{source"); ok {
			if name, _, closed := strings.Cut(rest, "}"); closed && (name == "" || name[0] == '.') {
				return "{source" + name + "}"
			}
		}
	}
	return ""
}

// provideSource makes the worktree of one source and replaces its mark by its path: the
// path that the engine sees, or for builds that use it the path on disk.
func (l *Lab) provideSource(ctx context.Context, s *runtime.Scope, spec *engine.Spec, src *engine.Source,
	record *ledger.Launch,
) error {
	if src.Problem != "" {
		return failed("source", "be checked out", "%s", src.Problem)
	}
	if spec.Endpoint != nil {
		return failed("source", "be used",
			"the engine is an endpoint, not started by mxflow: build it there, or launch it as a process, with "+
				"docker or exec")
	}
	if (spec.Exec != nil || spec.Compose != nil) && (src.Dir == "" || src.Mount == "") {
		return failed("source", "be used",
			"the container is already running or comes from a compose file, so mxflow mounts nothing into it: set "+
				"dir in source to the folder that is mounted, and mount to where the container sees it")
	}
	w, err := l.worktreeOf(spec, src)
	if err != nil {
		return failed("source", "be checked out", "%v", err)
	}
	w.launch, w.hard = record.ID, s.Force
	w.emit = func(ev runtime.Event) {
		ev.Node, ev.Phase, ev.Feature, ev.Variant = s.Node.ID, s.Node.Phase, s.Node.Feature, record.Variant
		s.Emit(ev)
	}
	if err := w.ready(ctx, record); err != nil {
		return err
	}
	inside := w.dir()
	switch {
	case spec.Docker != nil:
		inside = spec.MountSource(src, w.dir())
	case spec.Exec != nil || spec.Compose != nil:
		inside = path.Join(src.Mount, filepath.Base(w.dir()))
		if spec.Exec != nil && spec.Exec.WorkDir == "" {
			spec.Exec.WorkDir = inside
		}
	}
	spec.PutMark(engine.SourceMark(src.Name), inside)
	of := "source." + src.Name
	record.Engine[of+".repo"], record.Engine[of+".ref"] = src.Repo, src.Ref
	record.Engine[of+".commit"], record.Engine[of+".build"] = src.Commit, w.key
	setTree(record, of, ledger.Tree{Path: src.Repo, Commit: src.Commit})
	return nil
}

// worktreeOf is where a source of the engine is checked out and built.
func (l *Lab) worktreeOf(spec *engine.Spec, src *engine.Source) (worktree, error) {
	base := src.Dir
	if base == "" {
		base = l.stateFolder("worktrees")
	}
	base, err := filepath.Abs(base)
	w := worktree{lab: l, src: src, base: base, key: variant.BuildKey(l.Variants, src, spec.Sources)}
	w.marks = map[string]string{"{source}": w.dir(), engine.SourceMark(src.Name): w.dir()}
	for _, other := range spec.Sources {
		if !slices.Contains(src.Uses, other.Name) {
			continue
		}
		used, err := l.worktreeOf(spec, other)
		if err != nil {
			return w, err
		}
		w.marks[engine.SourceMark(other.Name)] = used.dir()
	}
	return w, err
}

func setTree(record *ledger.Launch, name string, t ledger.Tree) {
	if record.Trees == nil {
		record.Trees = map[string]ledger.Tree{}
	}
	record.Trees[name] = t
}

func gitFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &engine.Failure{Of: "source", Op: "be checked out", Reason: err.Error(), Err: err}
}

// stateFolder is a folder of the state directory, or of the run if there is none.
func (l *Lab) stateFolder(name string) string {
	if l.Store == nil {
		return filepath.Join(l.RunDir, name)
	}
	return filepath.Join(l.Store.Dir(), name)
}

// copies copies the maps and structs of a spec that a launch changes, so the variant's
// own stay unchanged.
func copies(spec engine.Spec) engine.Spec {
	spec.Env = maps.Clone(spec.Env)
	if spec.Env == nil {
		spec.Env = map[string]string{}
	}
	spec.Command = slices.Clone(spec.Command)
	if spec.Docker != nil {
		d := *spec.Docker
		d.Volumes = maps.Clone(d.Volumes)
		if d.Volumes == nil {
			d.Volumes = map[string]string{}
		}
		d.Command, d.Entrypoint = slices.Clone(d.Command), slices.Clone(d.Entrypoint)
		spec.Docker = &d
	}
	if spec.Exec != nil {
		e := *spec.Exec
		e.Command = slices.Clone(e.Command)
		spec.Exec = &e
	}
	return spec
}
