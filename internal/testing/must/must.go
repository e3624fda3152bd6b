// Package must ends a test at an error that it does not expect.
package must

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Get is the value of a call that may not fail, as in must.Get(os.ReadFile(path))(t).
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Do ends the test unless the error is nil, as in must.Do(t, os.Remove(path)).
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal reports a value that is not as wanted, as in must.Equal(t, name, got, want), and goes on.
func Equal[T comparable](t testing.TB, of any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v:\ngot  %#v\nwant %#v", of, got, want)
	}
}

// Refuse reports an error that is not there, or does not say what it should.
func Refuse(t testing.TB, of any, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v: %v, want an error that says %q", of, err, says)
	}
}

// Contain reports each part that a text lacks.
func Contain(t testing.TB, of any, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%v: no %q in\n%s", of, part, text)
		}
	}
}

// Write makes a file, and the folder that it lies in.
func Write(t testing.TB, path, text string) {
	t.Helper()
	Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	Do(t, os.WriteFile(path, []byte(text), 0o644))
}

// Read is the text of a file.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	Do(t, err)
	return string(text)
}

// Git runs git in a folder, without the settings of who tests, and returns what it prints.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@localhost"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
