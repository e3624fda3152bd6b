package steps

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// movedTrees looks for trees that changed while a benchmark was made of them:
// then its launches are not launches of one thing. The qualification counts with
// them, since it speaks for what was measured. An empty verdict means that all
// are as they were.
func (l *Lab) movedTrees(ctx context.Context, used []*ledger.Launch, vs []*variant, qualified *ledger.Decision) (verdict.Verdict, []string) {
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
				continue // a worktree of ours, which its commit speaks for
			}
			was := first[name]
			if was == nil {
				first[name] = launch
				continue
			}
			if before := was.Trees[name]; before.Hash != now.Hash {
				return verdict.Invalid, reason("the working tree %s changed between launch %s and launch %s, in %s: leave it alone while it is measured, or measure a commit with a source block",
					now.Path, was.ID, launch.ID, l.difference(ctx, before, now))
			}
		}
	}
	for _, v := range vs {
		for _, t := range v.spec.Trees {
			if launch := first[t.Name]; launch != nil && launch.Trees[t.Name].Hash != t.Hash {
				return verdict.Invalid, reason("the working tree %s changed before launch %s, after its state was looked up: apply again", t.Path, launch.ID)
			}
		}
	}
	return "", nil
}

// difference names the files in which two states of a tree differ, from their
// diffs on record and, where the commit differs, from the repository.
func (l *Lab) difference(ctx context.Context, before, after ledger.Tree) string {
	a, errA := l.diffOf(before)
	b, errB := l.diffOf(after)
	if errA != nil || errB != nil {
		return "files that cannot be named, since a diff on record is gone"
	}
	return l.named(ctx, before, after.Commit, a, b)
}

// differenceNow is difference against a tree as it lies there now.
func (l *Lab) differenceNow(ctx context.Context, before ledger.Tree, t engine.Tree) (string, error) {
	r, err := git.Open(ctx, t.Path)
	if err != nil {
		return "", err
	}
	var patch bytes.Buffer
	state, err := r.Snapshot(ctx, t.Paths, &patch)
	if err != nil {
		return "", err
	}
	a, err := l.diffOf(before)
	if err != nil {
		return "", err
	}
	// What is on record has no sensitive values in it.
	return l.named(ctx, before, state.Commit, a, []byte(l.Redact.Text(patch.String()))), nil
}

func (l *Lab) named(ctx context.Context, before ledger.Tree, commit string, a, b []byte) string {
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
	text := "files that no diff names"
	if len(changed) > 0 {
		text = git.FileList(slices.Sorted(maps.Keys(changed)))
	}
	if before.Commit != commit {
		text += fmt.Sprintf(" (commit %s, before %s)", git.Short(commit), git.Short(before.Commit))
	}
	return text
}

func (l *Lab) diffOf(t ledger.Tree) ([]byte, error) {
	if t.Diff == "" || l.Store == nil {
		return nil, nil
	}
	return l.Store.Get(t.Diff)
}

// patchedFiles are the files of a patch, each with the digest of what the patch
// does to it.
func patchedFiles(patch []byte) map[string][32]byte {
	files := map[string][32]byte{}
	const start = "diff --git a/"
	for i, part := range strings.Split("\n"+string(patch), "\n"+start) {
		if i == 0 {
			continue
		}
		header, _, _ := strings.Cut(part, "\n")
		// "path b/path": both are the same, since renames are not looked for.
		file := header
		if n := (len(header) - len(" b/")) / 2; n > 0 && len(header) >= 2*n {
			file = header[:n]
		}
		files[file] = sha256.Sum256([]byte(part))
	}
	return files
}
