package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Commit resolves a name (branch, tag, SHA, HEAD~2, upstream/main) to the full
// SHA of a commit. A name that git would take for an option is an unknown ref.
func (r *Repo) Commit(ctx context.Context, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \n\x00") {
		return "", &Error{Kind: UnknownRef, Reason: fmt.Sprintf("%q is not a valid commit name", name)}
	}
	sha, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err == nil {
		return sha, nil
	}
	if ctx.Err() != nil || Is(err, NoGit) || Is(err, NotRepository) || Is(err, Dubious) {
		return "", err
	}
	why := fmt.Sprintf("%[2]s has no commit %[1]q: correct the name, or fetch it first (git fetch)", name, r.Top)
	if r.Shallow(ctx) {
		why += "; it is a shallow clone, which may lack it (git fetch --unshallow)"
	}
	return "", &Error{Kind: UnknownRef, Reason: why}
}

// Shallow reports whether history is cut off.
func (r *Repo) Shallow(ctx context.Context) bool {
	out, err := r.run(ctx, "rev-parse", "--is-shallow-repository")
	return err == nil && out == "true"
}

// Head is the checked out commit and its branch, empty if HEAD is detached. In a
// repository without commits the commit is empty.
func (r *Repo) Head(ctx context.Context) (commit, branch string, err error) {
	if ref, err := r.run(ctx, "symbolic-ref", "--quiet", "HEAD"); err == nil {
		branch = strings.TrimPrefix(ref, "refs/heads/")
	}
	commit, err = r.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil && branch != "" && ctx.Err() == nil {
		return "", branch, nil
	}
	return commit, branch, err
}

// Subject is the first line of a commit's message.
func (r *Repo) Subject(ctx context.Context, commit string) string {
	out, _ := r.run(ctx, "log", "-1", "--format=%s", commit)
	return out
}

// Committed is when the commit of a name was committed.
func (r *Repo) Committed(ctx context.Context, name string) (time.Time, error) {
	commit, err := r.Commit(ctx, name)
	if err != nil {
		return time.Time{}, err
	}
	out, err := r.run(ctx, "log", "-1", "--format=%cI", commit)
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, out)
}

// Contains reports whether commit is in the history of tip, or tip itself.
func (r *Repo) Contains(ctx context.Context, tip, commit string) bool {
	_, err := r.run(ctx, "merge-base", "--is-ancestor", commit, tip)
	return err == nil
}

// Branch is the commit of a local branch; empty if there is none.
func (r *Repo) Branch(ctx context.Context, name string) string { return r.Tip(ctx, "refs/heads/"+name) }

// Tag is the commit of a tag; empty if there is none.
func (r *Repo) Tag(ctx context.Context, name string) string { return r.Tip(ctx, "refs/tags/"+name) }

// Tip is the commit of a ref by its full name; empty if there is none.
func (r *Repo) Tip(ctx context.Context, full string) string {
	out, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", full+"^{commit}")
	if err != nil {
		return ""
	}
	return out
}

// GoodName is what is wrong with a branch or tag name; nil if it is valid.
func (r *Repo) GoodName(ctx context.Context, name string) error {
	if _, err := r.run(ctx, "check-ref-format", "--branch", name); err != nil || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@{") {
		return &Error{Kind: UnknownRef, Reason: fmt.Sprintf("%q is not a valid branch or tag name: see git help check-ref-format", name)}
	}
	return nil
}

// SetRef points a ref at a commit, if it still points at before ("" for none).
func (r *Repo) SetRef(ctx context.Context, full, commit, before, why string) error {
	if before == "" {
		before = strings.Repeat("0", len(commit))
	}
	_, err := r.run(ctx, "update-ref", "-m", "mxflow: "+why, full, commit, before)
	return err
}

// Short is a shortened SHA, for people.
func Short(sha string) string {
	if len(sha) > 12 {
		return sha[:12]
	}
	return sha
}

// Worktree is a working tree of a repository.
type Worktree struct {
	Path string
	// Branch is empty if HEAD is detached.
	Branch string
}

// Worktrees lists those of the repository, its main one first.
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

// AddWorktree creates a working tree in dir, at a commit with a detached HEAD.
func (r *Repo) AddWorktree(ctx context.Context, dir, commit string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return &Error{Kind: Other, Reason: "cannot create a folder for a worktree: " + err.Error()}
	}
	// An entry whose folder was removed would be in the way.
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		_, _ = r.run(ctx, "worktree", "prune")
	}
	_, err := r.run(ctx, "worktree", "add", "--detach", dir, commit)
	return err
}

// RemoveWorktree removes a working tree made by AddWorktree, with everything in it, also
// if it was only partly made. Changes in it are lost: the caller checks before.
func (r *Repo) RemoveWorktree(ctx context.Context, dir string) error {
	_, _ = r.run(ctx, "worktree", "remove", "--force", "--force", dir)
	if err := os.RemoveAll(dir); err != nil {
		return &Error{Kind: Other, Reason: "the worktree " + dir + " cannot be removed: " + err.Error()}
	}
	_, err := r.run(ctx, "worktree", "prune")
	return err
}

// CheckoutSubmodules checks out the submodules of a working tree.
func (r *Repo) CheckoutSubmodules(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.Top, ".gitmodules")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := r.run(ctx, "submodule", "update", "--init", "--recursive")
	return err
}
