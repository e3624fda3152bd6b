package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// State is what is not committed in a working tree.
type State struct {
	// Changed are tracked files that differ from HEAD, staged or not; Untracked
	// those git does not know and does not ignore.
	Changed, Untracked []string
}

// Clean reports whether the tree is what HEAD says.
func (s State) Clean() bool { return len(s.Changed) == 0 && len(s.Untracked) == 0 }

// Status looks at the working tree. Nothing is written, the index included.
func (r *Repo) Status(ctx context.Context) (s State, err error) {
	out, err := r.run(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none")
	if err != nil {
		return s, err
	}
	for _, entry := range strings.Split(out, "\x00") {
		if len(entry) < 4 {
			continue
		}
		if path := entry[3:]; strings.HasPrefix(entry, "??") {
			s.Untracked = append(s.Untracked, path)
		} else {
			s.Changed = append(s.Changed, path)
		}
	}
	return s, nil
}

// Unmerged are the files in conflict.
func (r *Repo) Unmerged(ctx context.Context) ([]string, error) {
	return zlist(r.run(ctx, "diff", "--name-only", "--diff-filter=U", "-z"))
}

// InProgress names the operation that somebody has begun in the working tree
// and not ended; empty where there is none.
func (r *Repo) InProgress() string {
	for _, op := range []struct{ file, name string }{
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase or am"},
		{"sequencer", "cherry-pick or revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Stat(filepath.Join(r.GitDir, op.file)); err == nil {
			return op.name
		}
	}
	return ""
}

// Idle is an error where an operation is in progress.
func (r *Repo) Idle() error {
	if op := r.InProgress(); op != "" {
		return &Error{Kind: Busy, Reason: "a " + op + " is in progress in " + r.Top + ": end it or abort it first"}
	}
	return nil
}

// Settled is an error where tracked files differ from HEAD, or an operation is
// in progress. Submodules that are at another commit count as changed.
func (r *Repo) Settled(ctx context.Context) error {
	if err := r.Idle(); err != nil {
		return err
	}
	s, err := r.Status(ctx)
	if err != nil {
		return err
	}
	if len(s.Changed) > 0 {
		return &Error{Kind: InTheWay, Files: s.Changed, Reason: "uncommitted changes in " + r.Top + " are in the way, and are left alone; commit or stash them"}
	}
	return nil
}

func zlist(out string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	var list []string
	for _, path := range strings.Split(out, "\x00") {
		if path != "" {
			list = append(list, path)
		}
	}
	return list, nil
}
