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
	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// provide makes ready what a launch needs beside the engine itself: the hash of
// the trees it sees, the worktree of its revision, built, and its caches. It
// returns the variant with the paths put in. The error is a *engine.Failure, or
// the context's.
func (l *Lab) provide(ctx context.Context, s *runtime.Scope, v *variant.Variant, record *ledger.Launch) (*variant.Variant, error) {
	marked := strings.Contains(strings.Join(v.Spec.Command, "\x00")+"\x00"+v.Spec.Dir, variant.SourceMark)
	if marked && v.Spec.Source == nil {
		return v, failed("engine", "start", "its command or folder has %s in it, and neither the engine nor a value of a knob has a source block: add source { repo = …, ref = … }", variant.SourceMark)
	}
	if v.Spec.Source == nil && v.Spec.Caches == nil && len(v.Spec.Trees) == 0 {
		return v, nil
	}
	if err := l.recordTrees(ctx, v, record); err != nil {
		return v, err
	}
	out := *v
	out.Spec = copies(v.Spec)
	if v.Spec.Source != nil {
		if err := l.provideSource(ctx, s, &out.Spec, record); err != nil {
			return v, err
		}
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

// provideSource makes the worktree and puts its path where {source} stands.
func (l *Lab) provideSource(ctx context.Context, s *runtime.Scope, spec *engine.Spec, record *ledger.Launch) error {
	src := spec.Source
	if src.Problem != "" {
		return failed("source", "be checked out", "%s", src.Problem)
	}
	if spec.Endpoint != nil {
		return failed("source", "be used", "the engine is an endpoint that somebody else runs: build it there, or launch it as a process, with docker or exec")
	}
	base := src.Dir
	if base == "" {
		base = l.stateFolder("worktrees")
	}
	if (spec.Exec != nil || spec.Compose != nil) && (src.Dir == "" || src.Mount == "") {
		return failed("source", "be used", "the container runs already or is made by a compose file, so mxflow mounts nothing into it: say in source with dir which folder it has mounted, and with mount where it sees that")
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return failed("source", "be checked out", "%v", err)
	}
	w := worktree{lab: l, src: src, base: base, key: variant.BuildKey(&l.Resolver, src), launch: record.ID, hard: s.Hard}
	if err := w.ready(ctx, record); err != nil {
		return err
	}
	inside := w.dir()
	switch {
	case spec.Docker != nil:
		inside = src.Mount
		if inside == "" {
			inside = "/workspace/" + filepath.Base(src.Repo)
		}
		spec.Docker.Volumes[w.dir()] = inside
		if spec.Docker.WorkDir == "" {
			spec.Docker.WorkDir = inside
		}
	case spec.Exec != nil || spec.Compose != nil:
		inside = path.Join(src.Mount, filepath.Base(w.dir()))
		if spec.Exec != nil && spec.Exec.WorkDir == "" {
			spec.Exec.WorkDir = inside
		}
	}
	putMark(spec, inside)
	record.Engine["source.repo"], record.Engine["source.ref"] = src.Repo, src.Ref
	record.Engine["source.commit"], record.Engine["source.build"] = src.Commit, w.key
	setTree(record, "source", ledger.Tree{Path: src.Repo, Commit: src.Commit})
	return nil
}

func setTree(record *ledger.Launch, name string, t ledger.Tree) {
	if record.Trees == nil {
		record.Trees = map[string]ledger.Tree{}
	}
	record.Trees[name] = t
}

// putMark replaces {source} wherever the engine reads it.
func putMark(spec *engine.Spec, dir string) {
	put := func(text string) string { return strings.ReplaceAll(text, variant.SourceMark, dir) }
	each := func(list []string) {
		for i := range list {
			list[i] = put(list[i])
		}
	}
	each(spec.Command)
	for name, value := range spec.Env {
		spec.Env[name] = put(value)
	}
	spec.Dir = put(spec.Dir)
	if len(spec.Config) > 0 {
		spec.Config = []byte(put(string(spec.Config)))
	}
	if d := spec.Docker; d != nil {
		each(d.Command)
		each(d.Entrypoint)
		d.WorkDir = put(d.WorkDir)
	}
	if e := spec.Exec; e != nil {
		each(e.Command)
		e.WorkDir = put(e.WorkDir)
	}
}

// gitFailure is what git refused, as a failed launch.
func gitFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &engine.Failure{Of: "source", Op: "be checked out", Reason: err.Error(), Err: err}
}

// trackedChanges are files of a worktree that are not as its commit says.
func trackedChanges(ctx context.Context, dir, commit string) ([]string, error) {
	r, err := git.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	head, _, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	state, err := r.Status(ctx)
	if err == nil && head != commit {
		state.Changed = append(state.Changed, "HEAD, which is at "+git.Short(head)+",")
	}
	return state.Changed, err
}

// stateFolder is a folder of the state directory, or of the run where there is no
// state directory.
func (l *Lab) stateFolder(name string) string {
	if l.Store == nil {
		return filepath.Join(l.RunDir, name)
	}
	return filepath.Join(l.Store.Dir(), name)
}

// copies are the maps and structs of a spec that a launch changes, so that the
// variant's own stay as they are.
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
