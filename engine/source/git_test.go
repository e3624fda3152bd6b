package source

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func opened(t *testing.T, dir string) error {
	_, err := OpenRepo(t.Context(), dir)
	return err
}

func ran(t *testing.T, r *Repo, args ...string) error {
	_, err := r.Run(t.Context(), args...)
	return err
}

// TestErrorsTeach: failures are distinguished, and the message names what to do.
func TestErrorsTeach(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(t *testing.T, r *Repo, dir string) error
		around bool
		says   []string
	}{
		{"no git", func(t *testing.T, r *Repo, _ string) error {
			t.Setenv("PATH", t.TempDir())
			return opened(t, r.Top)
		}, true, []string{"cannot start git"}},
		{"no folder", func(t *testing.T, _ *Repo, dir string) error {
			return opened(t, dir+"/nowhere")
		}, true, []string{"does not exist", "clone"}},
		{"no repository", func(t *testing.T, _ *Repo, _ string) error {
			outside := t.TempDir()
			t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(outside))
			return opened(t, outside)
		}, true, []string{"is not in a git repository"}},
		{"dubious", func(t *testing.T, _ *Repo, dir string) error {
			t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
			return opened(t, dir)
		}, true, []string{"another user", "safe.directory"}},
		{"unknown ref", func(t *testing.T, r *Repo, _ string) error {
			_, err := r.Commit(t.Context(), "mxfp4_v9")
			return err
		}, false, []string{`"mxfp4_v9"`, "git fetch"}},
		{"option as ref", func(t *testing.T, r *Repo, _ string) error {
			_, err := r.Commit(t.Context(), "--all")
			return err
		}, false, []string{`"--all"`}},
		{"locked index", func(t *testing.T, r *Repo, dir string) error {
			put(t, dir, ".git/index.lock", "")
			by(t, dir, "branch", "other", "HEAD")
			return ran(t, r, "checkout", "other")
		}, true, []string{"index.lock"}},
		{"untracked in the way", func(t *testing.T, r *Repo, dir string) error {
			by(t, dir, "checkout", "-qb", "other")
			commit(t, dir, "b.txt", "committed")
			by(t, dir, "checkout", "-q", "main")
			put(t, dir, "b.txt", "mine")
			return ran(t, r, "checkout", "other")
		}, false, []string{"b.txt"}},
		{"no author", func(t *testing.T, r *Repo, dir string) error {
			for _, name := range []string{
				"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
				"GIT_COMMITTER_EMAIL", "EMAIL",
			} {
				t.Setenv(name, "")
				os.Unsetenv(name)
			}
			by(t, dir, "config", "user.useConfigOnly", "true")
			return ran(t, r, "tag", "--message=annotated", "v1")
		}, true, []string{"user.email"}},
		{"remote gone", func(t *testing.T, r *Repo, dir string) error {
			by(t, dir, "remote", "add", "upstream", "/nowhere/at/all")
			return ran(t, r, "fetch", "upstream", "main")
		}, true, []string{"git remote -v"}},
		{"no such branch", func(t *testing.T, r *Repo, dir string) error {
			by(t, dir, "remote", "add", "origin", dir)
			return ran(t, r, "fetch", "origin", "mxfp4_v9")
		}, false, []string{"mxfp4_v9"}},
		{"cancelled", func(t *testing.T, r *Repo, _ string) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := r.Changed(ctx)
			return err
		}, false, []string{"was stopped"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, dir := newRepo(t)
			err := c.do(t, r, dir)
			if err == nil {
				t.Fatal("no error")
			}
			if e, ok := errors.AsType[*Error](err); ok && e.Around != c.around {
				t.Errorf("%#v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

func TestShallowIsNamed(t *testing.T) {
	_, upstream := newRepo(t)
	old := by(t, upstream, "rev-parse", "HEAD")
	commit(t, upstream, "b.txt", "b")
	dir := filepath.Join(t.TempDir(), "shallow")
	by(t, upstream, "clone", "-q", "--depth=1", "file://"+upstream, dir)
	r, err := OpenRepo(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(t.Context(), old); err == nil || !strings.Contains(err.Error(), "--unshallow") {
		t.Errorf("%v", err)
	}
}

// sandbox gives git an author and no configuration but its own.
func sandbox(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "XDG_CONFIG_HOME": "", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@localhost", "GIT_COMMITTER_NAME": "Test",
		"GIT_COMMITTER_EMAIL": "test@localhost",
		"GIT_CONFIG_COUNT":    "2", "GIT_CONFIG_KEY_0": "init.defaultBranch", "GIT_CONFIG_VALUE_0": "main",
		"GIT_CONFIG_KEY_1": "protocol.file.allow", "GIT_CONFIG_VALUE_1": "always",
	} {
		t.Setenv(name, value)
	}
}

// by runs git itself, as a person would.
func by(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	must.Do(t, err)
	return string(text)
}

// commit writes a file and commits it, and returns the commit.
func commit(t *testing.T, dir, name, text string) string {
	t.Helper()
	put(t, dir, name, text)
	by(t, dir, "add", name)
	by(t, dir, "commit", "-qm", "change "+name)
	return by(t, dir, "rev-parse", "HEAD")
}

// newRepo has one commit with a file of three lines.
func newRepo(t *testing.T) (*Repo, string) {
	t.Helper()
	sandbox(t)
	dir := filepath.Join(t.TempDir(), "the repo")
	must.Do(t, os.Mkdir(dir, 0o755))
	by(t, dir, "init", "-q")
	commit(t, dir, "a.txt", "one\ntwo\nthree\n")
	r, err := OpenRepo(t.Context(), dir)
	must.Do(t, err)
	return r, dir
}
