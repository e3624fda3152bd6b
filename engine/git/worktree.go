package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Worktree is a working tree of a repository.
type Worktree struct {
	Path, Commit string
	// Branch is empty where HEAD is detached.
	Branch string
}

// Worktrees lists those that the repository has, its own first.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	out, err := r.run(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var list []Worktree
	for _, block := range strings.Split(out, "\x00\x00") {
		var w Worktree
		for _, line := range strings.Split(block, "\x00") {
			word, rest, _ := strings.Cut(line, " ")
			switch word {
			case "worktree":
				w.Path = rest
			case "HEAD":
				w.Commit = rest
			case "branch":
				w.Branch = strings.TrimPrefix(rest, "refs/heads/")
			}
		}
		if w.Path != "" {
			list = append(list, w)
		}
	}
	return list, nil
}

// AddWorktree makes a working tree in dir, on a branch, or at a commit with a
// detached HEAD where branch is empty.
func (r *Repo) AddWorktree(ctx context.Context, dir, branch, commit string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return &Error{Kind: Other, Reason: "no folder for a worktree: " + err.Error()}
	}
	// An entry whose folder somebody removed would be in the way.
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		_, _ = r.run(ctx, "worktree", "prune")
	}
	args := []string{"worktree", "add", "--detach", dir, commit}
	if branch != "" {
		args = []string{"worktree", "add", dir, branch}
	}
	_, err := r.run(ctx, args...)
	return err
}

// RemoveWorktree removes a working tree that AddWorktree made, with all in it,
// also one that was made only in part. What somebody changed there is lost: the
// caller looks before.
func (r *Repo) RemoveWorktree(ctx context.Context, dir string) error {
	_, _ = r.run(ctx, "worktree", "remove", "--force", "--force", dir)
	if err := os.RemoveAll(dir); err != nil {
		return &Error{Kind: Other, Reason: "the worktree " + dir + " cannot be removed: " + err.Error()}
	}
	_, err := r.run(ctx, "worktree", "prune")
	return err
}

// CheckoutSubmodules fills in the submodules of a working tree.
func (r *Repo) CheckoutSubmodules(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.Top, ".gitmodules")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := r.run(ctx, "submodule", "update", "--init", "--recursive")
	return err
}
