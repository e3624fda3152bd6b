package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsTeach: failures are distinguished, and the message names what to do.
func TestErrorsTeach(t *testing.T) {
	cases := []struct {
		name string
		do   func(t *testing.T, r *Repo, dir string) error
		kind Kind
		says []string
	}{
		{"no git", func(t *testing.T, r *Repo, _ string) error {
			t.Setenv("PATH", t.TempDir())
			_, err := Open(t.Context(), r.Top)
			return err
		}, NoGit, []string{"cannot start git"}},
		{"no folder", func(t *testing.T, _ *Repo, dir string) error {
			_, err := Open(t.Context(), dir+"/nowhere")
			return err
		}, NotRepository, []string{"does not exist", "clone"}},
		{"no repository", func(t *testing.T, _ *Repo, _ string) error {
			outside := t.TempDir()
			t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(outside))
			_, err := Open(t.Context(), outside)
			return err
		}, NotRepository, []string{"is not in a git repository"}},
		{"dubious", func(t *testing.T, _ *Repo, dir string) error {
			t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
			_, err := Open(t.Context(), dir)
			return err
		}, Dubious, []string{"another user", "safe.directory"}},
		{"unknown ref", func(t *testing.T, r *Repo, _ string) error {
			_, err := r.Commit(t.Context(), "mxfp4_v9")
			return err
		}, UnknownRef, []string{`"mxfp4_v9"`, "git fetch"}},
		{"option as ref", func(t *testing.T, r *Repo, _ string) error {
			_, err := r.Commit(t.Context(), "--all")
			return err
		}, UnknownRef, []string{`"--all"`}},
		{"locked index", func(t *testing.T, r *Repo, dir string) error {
			write(t, dir, ".git/index.lock", "")
			by(t, dir, "branch", "other", "HEAD")
			return r.Checkout(t.Context(), "other")
		}, Locked, []string{"index.lock"}},
		{"untracked in the way", func(t *testing.T, r *Repo, dir string) error {
			by(t, dir, "checkout", "-qb", "other")
			commit(t, dir, "b.txt", "committed")
			by(t, dir, "checkout", "-q", "main")
			write(t, dir, "b.txt", "mine")
			return r.Checkout(t.Context(), "other")
		}, InTheWay, []string{"b.txt"}},
		{"changes in the way", func(t *testing.T, r *Repo, dir string) error {
			write(t, dir, "a.txt", "mine")
			return r.Settled(t.Context())
		}, InTheWay, []string{"a.txt", "commit or stash"}},
		{"no author", func(t *testing.T, r *Repo, dir string) error {
			for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"} {
				t.Setenv(name, "")
				os.Unsetenv(name)
			}
			by(t, dir, "config", "user.useConfigOnly", "true")
			return r.CreateTag(t.Context(), "v1", "HEAD", "annotated")
		}, NoIdentity, []string{"user.email"}},
		{"no remote", func(t *testing.T, r *Repo, _ string) error {
			_, err := r.FetchRequest(t.Context(), "upstream", "pull/7/head")
			return err
		}, Remote, []string{`no remote "upstream"`, "git remote add"}},
		{"remote gone", func(t *testing.T, r *Repo, dir string) error {
			by(t, dir, "remote", "add", "upstream", "/nowhere/at/all")
			_, err := r.FetchBranch(t.Context(), "upstream", "main")
			return err
		}, Remote, []string{"git remote -v"}},
		{"no such request", func(t *testing.T, r *Repo, dir string) error {
			by(t, dir, "remote", "add", "origin", dir)
			_, err := r.FetchRequest(t.Context(), "origin", "pull/7/head")
			return err
		}, UnknownRef, []string{"pull/7/head"}},
		{"no such branch", func(t *testing.T, r *Repo, dir string) error {
			by(t, dir, "remote", "add", "origin", dir)
			_, err := r.FetchBranch(t.Context(), "origin", "mxfp4_v9")
			return err
		}, UnknownRef, []string{"mxfp4_v9"}},
		{"branch in use", func(t *testing.T, r *Repo, _ string) error {
			other := filepath.Join(t.TempDir(), "w")
			if err := r.AddWorktree(t.Context(), other, "HEAD"); err != nil {
				t.Fatal(err)
			}
			w, err := Open(t.Context(), other)
			if err != nil {
				t.Fatal(err)
			}
			return w.Checkout(t.Context(), "main")
		}, InUse, []string{"main", "one working tree"}},
		{"operation in progress", func(t *testing.T, r *Repo, dir string) error {
			write(t, dir, ".git/MERGE_HEAD", by(t, dir, "rev-parse", "HEAD"))
			return r.Settled(t.Context())
		}, Busy, []string{"a merge is in progress"}},
		{"cancelled", func(t *testing.T, r *Repo, _ string) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := r.Status(ctx)
			return err
		}, "", []string{"was stopped"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, dir := newRepo(t)
			err := c.do(t, r, dir)
			if err == nil {
				t.Fatal("no error")
			}
			if c.kind != "" && !Is(err, c.kind) {
				t.Errorf("not of kind %q: %#v", c.kind, err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

// TestFetchRequest: a pull request comes from the remote and stays.
func TestFetchRequest(t *testing.T) {
	_, upstream := newRepo(t)
	r, dir := newRepo(t)
	by(t, upstream, "checkout", "-qb", "pr")
	want := commit(t, upstream, "b.txt", "b")
	by(t, upstream, "update-ref", "refs/pull/31740/head", want)
	by(t, upstream, "checkout", "-q", "main")
	by(t, upstream, "branch", "-D", "pr")
	by(t, dir, "remote", "add", "upstream", upstream)
	got, err := r.FetchRequest(t.Context(), "upstream", "pull/31740/head")
	if err != nil || got != want {
		t.Fatalf("%s %v, want %s", got, err, want)
	}
	by(t, dir, "gc", "-q", "--prune=now")
	if got, err := r.Commit(t.Context(), want); err != nil {
		t.Errorf("it is gone after git gc: %s %v", got, err)
	}
}

func TestShallowIsNamed(t *testing.T) {
	_, upstream := newRepo(t)
	old := by(t, upstream, "rev-parse", "HEAD")
	commit(t, upstream, "b.txt", "b")
	dir := filepath.Join(t.TempDir(), "shallow")
	by(t, upstream, "clone", "-q", "--depth=1", "file://"+upstream, dir)
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(t.Context(), old); !Is(err, UnknownRef) || !strings.Contains(err.Error(), "--unshallow") {
		t.Errorf("%v", err)
	}
}
