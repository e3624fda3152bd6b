package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
)

// sandbox gives git an author and no configuration but its own.
func sandbox(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "XDG_CONFIG_HOME": "", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@localhost", "GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@localhost",
		"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "init.defaultBranch", "GIT_CONFIG_VALUE_0": "main",
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
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
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
	require.NoError(t, os.Mkdir(dir, 0o755))
	by(t, dir, "init", "-q")
	commit(t, dir, "a.txt", "one\ntwo\nthree\n")
	r, err := OpenRepo(t.Context(), dir)
	require.NoError(t, err)
	return r, dir
}
