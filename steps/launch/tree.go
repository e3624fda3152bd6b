package launch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// recordTrees hashes the trees of a launch and keeps uncommitted changes. A declared tree
// that cannot be hashed fails the launch; one that mxflow only noticed is a note.
func (l *Lab) recordTrees(ctx context.Context, v *variant.Variant, record *ledger.Launch) error {
	for _, t := range v.Spec.Trees {
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
		setTree(record, t.Name, state)
	}
	return nil
}

func (l *Lab) recordTree(ctx context.Context, t engine.Tree) (out ledger.Tree, err error) {
	file, err := os.CreateTemp("", "mxflow-diff-*")
	if err != nil {
		return out, err
	}
	defer os.Remove(file.Name())
	state, err := variant.Snapshot(ctx, t, file)
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
		return out, fmt.Errorf("cannot redact sensitive values in its diff: %w", err)
	}
	out.Diff, err = l.Store.PutFile(file.Name())
	return out, err
}

// lastTree is the state of a tree at the latest successful launch on record; nil if there
// is none.
func (l *Lab) lastTree(name, path string) *ledger.Tree {
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

// TreesChanged reports for `mxflow plan` which tree causes a node to be measured again;
// no fact if none does.
func (l *Lab) TreesChanged(s *runtime.Scope, vs ...*variant.Variant) verdict.Reason {
	for _, v := range vs {
		for _, t := range v.Spec.Trees {
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
		if l.Store == nil {
			continue
		}
		if names := l.filesChanged(v); len(names) > 0 {
			return verdict.New(code.FilesChanged, verdict.List("files", names)).On(v.Name)
		}
	}
	return verdict.Reason{}
}

// MovedTrees looks for trees that changed during a benchmark: then its launches are not
// of one thing. The qualification counts with them, as it vouches for what was measured.
// An empty verdict means that all are unchanged.
func (l *Lab) MovedTrees(ctx context.Context, used []*ledger.Launch, vs []*variant.Variant, qualified *ledger.Decision) verdict.Reason {
	first := map[string]*ledger.Launch{}
	var launches []*ledger.Launch
	if qualified != nil && l.Store != nil {
		for _, id := range qualified.Launches {
			if launch, ok := l.Store.LaunchByID(id); ok {
				launches = append(launches, launch)
			}
		}
	}
	launches = append(launches, used...)
	for _, launch := range launches {
		for _, name := range slices.Sorted(maps.Keys(launch.Trees)) {
			now := launch.Trees[name]
			if now.Hash == "" {
				continue // a worktree of ours, which its commit identifies
			}
			was := first[name]
			if was == nil {
				first[name] = launch
				continue
			}
			if before := was.Trees[name]; before.Hash != now.Hash {
				args := append(l.difference(ctx, before, now).args(), verdict.Text("one", was.ID), verdict.Text("other", launch.ID))
				return verdict.New(code.TreeMoved, args...).On(now.Path)
			}
		}
	}
	if l.Store != nil {
		if why := l.movedFile(ctx, launches, vs); !why.IsZero() {
			return why
		}
	}
	for _, v := range vs {
		for _, t := range v.Spec.Trees {
			if launch := first[t.Name]; launch != nil && launch.Trees[t.Name].Hash != t.Hash {
				return verdict.New(code.TreeMovedBefore, verdict.Text("launch", launch.ID)).On(t.Path)
			}
		}
	}
	return verdict.Reason{}
}

// changes is how two states of a tree differ.
type changes struct {
	files []string
	// commit is the later one, and before the earlier, where they differ.
	commit, before string
	// lost is set if a diff on record is gone, so files cannot be named.
	lost bool
}

func (c changes) args() (args []verdict.Arg) {
	if c.lost {
		return append(args, verdict.Text("lost", "yes"))
	}
	args = append(args, verdict.List("files", c.files))
	if c.commit != c.before {
		args = append(args, verdict.Text("commit", git.Short(c.commit)), verdict.Text("before", git.Short(c.before)))
	}
	return args
}

// difference returns the files in which two states of a tree differ, from their diffs on
// record and, if the commit differs, from the repository.
func (l *Lab) difference(ctx context.Context, before, after ledger.Tree) changes {
	a, errA := l.diffOf(before)
	b, errB := l.diffOf(after)
	if errA != nil || errB != nil {
		return changes{lost: true}
	}
	return l.changed(ctx, before, after.Commit, a, b)
}

// differenceNow is difference between a recorded state and the tree as it is now.
func (l *Lab) differenceNow(ctx context.Context, before ledger.Tree, t engine.Tree) (c changes, err error) {
	r, err := git.Open(ctx, t.Path)
	if err != nil {
		return c, err
	}
	var patch bytes.Buffer
	state, err := r.Snapshot(ctx, t.Paths, &patch)
	if err != nil {
		return c, err
	}
	a, err := l.diffOf(before)
	if err != nil {
		return c, err
	}
	// Recorded diffs have no sensitive values in them.
	return l.changed(ctx, before, state.Commit, a, []byte(l.Redact.Text(patch.String()))), nil
}

func (l *Lab) changed(ctx context.Context, before ledger.Tree, commit string, a, b []byte) changes {
	changed := map[string]bool{}
	was, is := patchedFiles(a), patchedFiles(b)
	for file, sum := range was {
		changed[file] = is[file] != sum
	}
	for file, sum := range is {
		changed[file] = was[file] != sum
	}
	if before.Commit != commit {
		if r, err := git.Open(ctx, before.Path); err == nil {
			files, _ := r.Between(ctx, before.Commit, commit)
			for _, f := range files {
				changed[f] = true
			}
		}
	}
	maps.DeleteFunc(changed, func(_ string, differs bool) bool { return !differs })
	return changes{files: slices.Sorted(maps.Keys(changed)), commit: commit, before: before.Commit}
}

func (l *Lab) diffOf(t ledger.Tree) ([]byte, error) {
	if t.Diff == "" || l.Store == nil {
		return nil, nil
	}
	return l.Store.Get(t.Diff)
}

// patchedFiles are the files of a patch, each with the digest of its changes.
func patchedFiles(patch []byte) map[string][32]byte {
	files := map[string][32]byte{}
	const start = "diff --git a/"
	for i, part := range strings.Split("\n"+string(patch), "\n"+start) {
		if i == 0 {
			continue
		}
		header, _, _ := strings.Cut(part, "\n")
		// "path b/path": both are the same, as renames are not detected.
		file := header
		if n := (len(header) - len(" b/")) / 2; n > 0 && len(header) >= 2*n {
			file = header[:n]
		}
		files[file] = sha256.Sum256([]byte(part))
	}
	return files
}
