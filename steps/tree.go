package steps

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
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
		declared := func(t engine.Tree) bool { return sameFile(t.Path, dir) }
		if !slices.ContainsFunc(spec.Trees, declared) {
			spec.Trees = append(spec.Trees, engine.Tree{Name: filepath.Base(dir), Path: dir, Noticed: true})
		}
	}
	for i := range spec.Trees {
		t := &spec.Trees[i]
		t.Hash, t.Problem = runtime.Ask(d.scope, fmt.Sprintf("tree %s\x00%q", t.Path, t.Paths), func(ctx context.Context) (string, error) {
			state, err := snapshot(ctx, *t, nil)
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
	if p := d.engine.Process; p != nil && p.Dir != "" && !strings.HasPrefix(p.Dir, sourceMark) {
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

// snapshot hashes a tree. Where file is given, its diff is written there.
func snapshot(ctx context.Context, t engine.Tree, file *os.File) (git.Tree, error) {
	r, err := git.Open(ctx, t.Path)
	if err != nil {
		return git.Tree{}, err
	}
	if file == nil {
		return r.Snapshot(ctx, t.Paths, nil)
	}
	return r.Snapshot(ctx, t.Paths, file)
}

// recordTrees hashes the trees of a launch and keeps what is not committed. A
// declared tree that cannot be hashed is a failed launch; one that mxflow only
// noticed is a note.
func (l *launchLab) recordTrees(ctx context.Context, v *variant, record *ledger.Launch) error {
	for _, t := range v.spec.Trees {
		state, err := l.recordTree(ctx, t)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && t.Noticed:
			record.Notes = append(record.Notes, verdict.New(code.TreeUnrecorded, verdict.Err(err)).On(t.Path))
			continue
		case err != nil:
			return failed("tree "+t.Name, "be hashed", "%v", err)
		}
		if t.Freeze {
			if was := l.lastTree(t.Name, state.Path); was != nil && was.Hash != state.Hash {
				return &verdict.Fault{Reason: verdict.New(code.TreeFrozen, l.difference(ctx, *was, state).args()...).On(t.Name)}
			}
		}
		setTree(record, t.Name, state)
	}
	return nil
}

func (l *launchLab) recordTree(ctx context.Context, t engine.Tree) (out ledger.Tree, err error) {
	file, err := os.CreateTemp("", "mxflow-diff-*")
	if err != nil {
		return out, err
	}
	defer os.Remove(file.Name())
	state, err := snapshot(ctx, t, file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return out, err
	}
	out = ledger.Tree{Path: t.Path, Commit: state.Commit, Hash: state.Hash}
	if state.Clean || l.Store == nil {
		return out, nil
	}
	if err := redact.File(file.Name(), l.Redact); err != nil {
		return out, fmt.Errorf("sensitive values cannot be taken out of its diff: %w", err)
	}
	out.Diff, err = l.Store.PutFile(file.Name())
	return out, err
}

// lastTree is how a tree was at the latest launch on record that went well; nil
// where it was at none.
func (l *launchLab) lastTree(name, path string) *ledger.Tree {
	if l.Store == nil {
		return nil
	}
	for _, launch := range slices.Backward(l.Store.Launches(store.LaunchFilter{OK: true})) {
		if t, ok := launch.Trees[name]; ok && t.Path == path && t.Hash != "" {
			return &t
		}
	}
	return nil
}

// treesChanged says for `mxflow plan` which tree is why a node is measured
// again; no fact where none is.
func (l *launchLab) treesChanged(s *runtime.Scope, vs ...*variant) verdict.Reason {
	for _, v := range vs {
		for _, t := range v.spec.Trees {
			was := l.lastTree(t.Name, t.Path)
			if was == nil || was.Hash == t.Hash {
				continue
			}
			if t.Problem != "" {
				return verdict.New(code.TreeUnhashed, verdict.Text("error", t.Problem)).On(t.Name)
			}
			changed, _ := runtime.Ask(s, "diff "+t.Path+was.Hash+t.Hash, func(ctx context.Context) (changes, error) {
				return l.differenceNow(ctx, *was, t)
			})
			return verdict.New(code.TreeChanged, changed.args()...).On(t.Name)
		}
	}
	return verdict.Reason{}
}
