package launch

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
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
	snapshot := func(t engine.Tree) (out ledger.Tree, err error) {
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
	for _, t := range v.Spec.Trees {
		state, err := snapshot(t)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && t.Noticed:
			record.Notes = append(record.Notes, verdict.Say("tree.unrecorded",
				"working tree {subject}, which the engine sees, was not recorded: {error}",
				verdict.Err(err)).On(t.Path))
			continue
		case err != nil:
			return failed("tree "+t.Name, "be hashed", "%v", err)
		}
		setTree(record, t.Name, state)
	}
	return nil
}

// TreesChanged reports for `mxflow plan` which tree causes a node to be measured again;
// no fact if none does.
func (l *Lab) TreesChanged(s *runtime.Scope, vs ...*variant.Variant) verdict.Reason {
	if l.Store == nil {
		return verdict.Reason{}
	}
	for _, v := range vs {
		for _, t := range v.Spec.Trees {
			var was *ledger.Tree // at the latest successful launch on record
			for _, launch := range slices.Backward(l.Store.Launches(store.LaunchFilter{OK: true})) {
				if known, ok := launch.Trees[t.Name]; ok && known.Path == t.Path && known.Hash != "" {
					was = &known
					break
				}
			}
			if was == nil || was.Hash == t.Hash {
				continue
			}
			if t.Problem != "" {
				return verdict.Say("tree.unhashed", "tree {subject} cannot be hashed: {error}",
					verdict.Text("error", t.Problem)).On(t.Name)
			}
			changed, _ := runtime.Ask(s, "diff "+t.Path+was.Hash+t.Hash, func(ctx context.Context) ([]verdict.Arg, error) {
				var diff bytes.Buffer
				state, err := variant.Snapshot(ctx, t, &diff)
				if err != nil {
					return nil, err
				}
				// Recorded diffs have no sensitive values in them.
				return l.difference(ctx, *was, state.Commit, []byte(l.Redact.Text(diff.String()))), nil
			})
			return verdict.Say("tree.changed",
				"tree {subject} changed in {lost?files that cannot be named, because a recorded diff is "+
					"gone}{lost!{files:10}{files!files that no diff names}{commit? (commit {commit}, before "+
					"{before})}}",
				changed...).On(t.Name)
		}
		if names := l.filesChanged(v); len(names) > 0 {
			return verdict.Say("files.changed", "{subject} runs other files than before: {files:10}",
				verdict.List("files", names)).On(v.Name)
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
				args := []verdict.Arg{verdict.Text("lost", "yes")}
				if diff, err := l.diffOf(now); err == nil {
					args = l.difference(ctx, before, now.Commit, diff)
				}
				return verdict.New(code.TreeMoved, append(args, verdict.Text("one", was.ID), verdict.Text("other", launch.ID))...).On(now.Path)
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

// difference is how a tree differs from a recorded state, as arguments of a reason: the
// files, by the diffs of both and, if the commit differs, by the repository; and the commits.
func (l *Lab) difference(ctx context.Context, before ledger.Tree, commit string, diff []byte) []verdict.Arg {
	recorded, err := l.diffOf(before)
	if err != nil {
		return []verdict.Arg{verdict.Text("lost", "yes")}
	}
	was, is := patchedFiles(recorded), patchedFiles(diff)
	var files []string
	for file := range was {
		if is[file] != was[file] {
			files = append(files, file)
		}
	}
	for file := range is {
		if _, both := was[file]; !both {
			files = append(files, file)
		}
	}
	var commits []verdict.Arg
	if before.Commit != commit {
		if r, err := source.OpenRepo(ctx, before.Path); err == nil {
			between, _ := r.Between(ctx, before.Commit, commit)
			files = append(files, between...)
		}
		commits = []verdict.Arg{verdict.Text("commit", source.Short(commit)), verdict.Text("before", source.Short(before.Commit))}
	}
	slices.Sort(files)
	return append(commits, verdict.List("files", slices.Compact(files)))
}

func (l *Lab) diffOf(t ledger.Tree) ([]byte, error) {
	if t.Diff == "" || l.Store == nil {
		return nil, nil
	}
	return l.Store.Get(t.Diff)
}

// patchedFiles are the files of a patch, each with its changes. A file's header is
// "path b/path", with one path twice, as renames are not detected.
func patchedFiles(patch []byte) map[string]string {
	files := map[string]string{}
	for _, part := range strings.Split("\n"+string(patch), "\ndiff --git a/")[1:] {
		header, _, _ := strings.Cut(part, "\n")
		files[header[:max(0, len(header)-len(" b/"))/2]] = part
	}
	return files
}
