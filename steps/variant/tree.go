package variant

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// putTrees lists the working trees that the engine sees: those that the plan
// declares, those that docker mounts, and the one that a process starts in.
func (l *Resolver) putTrees(d *draft, spec *engine.Spec) error {
	for _, b := range d.engine.Parts["tree"] {
		var c struct {
			Path   string   `json:"path"`
			Paths  []string `json:"paths"`
			Freeze bool     `json:"freeze"`
		}
		if err := b.Decode(&c); err != nil {
			return err
		}
		spec.Trees = append(spec.Trees, engine.Tree{Name: b.Name, Path: l.Plan.Abs(c.Path), Paths: c.Paths, Freeze: c.Freeze})
	}
	for _, dir := range l.noticed(d, spec) {
		declared := func(t engine.Tree) bool { return plans.SameFile(t.Path, dir) }
		if !slices.ContainsFunc(spec.Trees, declared) {
			spec.Trees = append(spec.Trees, engine.Tree{Name: filepath.Base(dir), Path: dir, Noticed: true})
		}
	}
	for i := range spec.Trees {
		t := &spec.Trees[i]
		t.Hash, t.Problem = runtime.Ask(d.scope, fmt.Sprintf("tree %s\x00%q", t.Path, t.Paths), func(ctx context.Context) (string, error) {
			state, err := Snapshot(ctx, *t, nil)
			return state.Hash, err
		})
	}
	return nil
}

// noticed are working trees that the engine sees without the plan's saying so:
// their roots, so that this costs a look for .git and no more.
func (l *Resolver) noticed(d *draft, spec *engine.Spec) (roots []string) {
	if spec.Docker != nil {
		for host := range spec.Docker.Volumes {
			if dir := plans.Home(host); strings.ContainsRune(dir, '/') && isRoot(l.Plan.Abs(dir)) {
				roots = append(roots, l.Plan.Abs(dir))
			}
		}
		slices.Sort(roots)
	}
	if p := d.engine.Process; p != nil && p.Dir != "" && !engine.Marked(p.Dir) {
		// The plan's own repository changes with every note that is written: it has
		// to be declared, with the paths that matter.
		own := rootOf(l.Plan.Abs("."))
		if root := rootOf(l.Plan.Abs(p.Dir)); root != "" && root != own {
			roots = append(roots, root)
		}
	}
	return roots
}

func isRoot(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// rootOf is the root of the working tree that a folder lies in; empty where it
// lies in none.
func rootOf(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if isRoot(dir) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Snapshot hashes a tree. Where file is given, its diff is written there.
func Snapshot(ctx context.Context, t engine.Tree, file *os.File) (git.Tree, error) {
	r, err := git.Open(ctx, t.Path)
	if err != nil {
		return git.Tree{}, err
	}
	if file == nil {
		return r.Snapshot(ctx, t.Paths, nil)
	}
	return r.Snapshot(ctx, t.Paths, file)
}
