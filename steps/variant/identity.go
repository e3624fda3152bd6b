package variant

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// identified is what an engine runs and which working trees it sees.
type identified struct {
	identity source.Identity
	trees    []engine.Tree
}

// identify adds to spec what it runs, and the trees that it sees: those of the plan, and those
// around folders that it loads code from. It is taken once until Retake.
func (l *Resolver) identify(d *draft, spec *engine.Spec) {
	code, question := source.Code{}, []any{spec.How(), spec.Trees}
	switch {
	case spec.Docker != nil:
		question = append(question, spec.Docker.Volumes)
	case spec.How() == engine.HowProcess:
		question = append(question, spec.Command, spec.Dir, spec.Env, spec.Unset)
	}
	var key string
	if !d.scope.Planning() { // which takes each start once
		key = runtime.Digest(question...)
		l.mu.Lock()
		known, taken := l.taken[key]
		l.mu.Unlock()
		if taken {
			spec.Identity, spec.Trees = known.identity, slices.Clone(known.trees)
			return
		}
	}
	switch {
	case spec.Docker != nil:
		for host := range sorted.All(spec.Docker.Volumes) {
			info, err := os.Stat(host)
			switch {
			case !filepath.IsAbs(host) || err != nil: // a volume of docker's, or a folder that it makes
			case info.IsDir():
				code.Add(host, source.HoldsCode)
			default:
				code.Files = append(code.Files, host)
			}
		}
	case spec.How() == engine.HowProcess:
		code = ProcessCommand(*spec).Code()
	}
	if p := d.engine.Process; p != nil && p.Dir != "" && !engine.Marked(p.Dir) {
		code.Add(workingDir(*spec), source.HoldsCode)
	}
	code.Roots = slices.DeleteFunc(code.Roots, func(root source.Root) bool {
		if engine.Marked(strings.TrimPrefix(root.Dir, "/")) {
			return true // a worktree, which is known by its commit
		}
		// The plan's own repository changes with every note written: its code counts.
		repo := rootOf(root.Dir)
		if root.Holds == source.HoldsPackages || repo == "" || repo == rootOf(l.Plan.Abs(".")) {
			return false
		}
		// The engine sees a working tree without the plan saying so.
		if !slices.ContainsFunc(spec.Trees, func(t engine.Tree) bool { return plans.SameFile(t.Path, repo) }) {
			name := filepath.Base(repo)
			if slices.ContainsFunc(spec.Trees, func(t engine.Tree) bool { return t.Name == name }) {
				name = repo
			}
			spec.Trees = append(spec.Trees, engine.Tree{Name: name, Path: repo, Noticed: true})
		}
		return true
	})
	if l.Result != nil {
		code.Files = slices.DeleteFunc(code.Files, l.Result)
	}
	spec.Identity = l.Read.Take(code)
	for i := range spec.Trees {
		t := &spec.Trees[i]
		question := fmt.Sprintf("tree %s\x00%q", t.Path, t.Paths)
		t.Hash, t.Problem = runtime.Ask(d.scope, question, func(ctx context.Context) (string, error) {
			state, err := Snapshot(ctx, *t, nil)
			return state.Hash, err
		})
	}
	if key == "" || runtime.ContextOf(d.scope).Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken == nil {
		l.taken = map[string]identified{}
	}
	l.taken[key] = identified{spec.Identity, slices.Clone(spec.Trees)}
}

// Retake has all that runs identified anew: a step may have built some of it.
func (l *Resolver) Retake() {
	l.Read.Forget()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken, l.settled = nil, nil
}

func ProcessCommand(spec engine.Spec) source.Command {
	c := source.Command{Words: spec.Command, Dir: workingDir(spec), Env: func(name string) string {
		value, _ := Variable(spec, name)
		return value
	}}
	var names []string
	for name, value := range spec.Env {
		if source.MayNameFile(value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c.Given = append(c.Given, spec.Env[name])
	}
	return c
}

// workingDir is the folder that a process starts in; one that does not exist for a worktree,
// which is known by its commit.
func workingDir(spec engine.Spec) string {
	if dir, err := filepath.Abs(spec.Dir); err == nil && !engine.Marked(spec.Dir) {
		return dir
	}
	return filepath.Join("/", spec.Dir)
}

// DisplayPath is a path as people read it: that of a package below the folder that packages
// are installed in, another relative to the plan's folder if it is in there.
func (l *Resolver) DisplayPath(path string) string {
	for _, site := range []string{"/site-packages/", "/dist-packages/"} {
		if i := strings.LastIndex(path, site); i >= 0 {
			return path[i+1:]
		}
	}
	return strings.TrimPrefix(path, l.Plan.Abs(".")+"/")
}

// WhyUnidentified is why it is unknown whether another start of spec is the same; empty if it
// is known.
func WhyUnidentified(spec engine.Spec) string {
	switch {
	case spec.Endpoint != nil:
		return "mxflow does not start the server, so its files are unknown"
	case spec.Exec != nil:
		return "files in its container can change while that runs"
	case spec.Identity.Unknown != "":
		return spec.Identity.Unknown
	}
	for _, t := range spec.Trees {
		if t.Problem != "" {
			return t.Problem
		}
	}
	return ""
}

// UpdateKey replaces the key of a variant if what its launches had open is something else now:
// then they are of something else.
func (l *Resolver) UpdateKey(v *Variant) {
	if l.Opened == nil {
		return
	}
	l.mu.Lock()
	known, given := l.settled[v.Key], v.Key
	l.mu.Unlock()
	for known == "" {
		opened := l.Opened(v.Key)
		now := l.Read.Take(opened.Code())
		if opened.Digest() == now.Digest() && opened.Unknown == "" {
			break
		}
		v.Key = runtime.Digest(v.Key, "opened", now.Digest(), opened.Unknown)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.Key = cmp.Or(known, v.Key); l.settled == nil {
		l.settled = map[string]string{}
	}
	l.settled[given] = v.Key
}
