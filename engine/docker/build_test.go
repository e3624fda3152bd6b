package docker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestBuildInputs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "Dockerfile")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() string {
		t.Helper()
		sum, err := Build{Folder: dir, Dockerfile: file}.Inputs()
		must.Do(t, err)
		return sum
	}
	write("Dockerfile", "FROM scratch\nCOPY . /\n")
	write(".dockerignore", "out\n*.tmp\n")
	write("src/a.txt", "one")
	last := digest()
	for _, s := range []struct {
		what    string
		do      func()
		changes bool
	}{
		{"nothing", func() {}, false},
		{"an ignored file", func() { write("x.tmp", "1"); write("out/y", "2") }, false},
		{"an exception to the list, indented", func() { write(".dockerignore", "out\n*.tmp\n !x.tmp\n") }, true},
		{"an excepted file", func() { write("x.tmp", "2") }, true},
		{"a list of the Dockerfile's own", func() { write("Dockerfile.dockerignore", "docs\n") }, true},
		{"what that list leaves out", func() { write("docs/a", "1") }, false},
		{"what only .dockerignore left out", func() { write("out/y", "3") }, true},
		{"a file's text", func() { write("src/a.txt", "two") }, true},
		{"a new file", func() { write("src/b.txt", "") }, true},
		{"a mode", func() { _ = os.Chmod(filepath.Join(dir, "src/b.txt"), 0o755) }, true},
		{"a link", func() { _ = os.Symlink("a.txt", filepath.Join(dir, "src/link")) }, true},
		{"another target", func() {
			_ = os.Remove(filepath.Join(dir, "src/link"))
			_ = os.Symlink("b.txt", filepath.Join(dir, "src/link"))
		}, true},
		{"a name", func() { _ = os.Rename(filepath.Join(dir, "src/b.txt"), filepath.Join(dir, "src/c.txt")) }, true},
		{"the Dockerfile", func() { write("Dockerfile", "FROM scratch\nCOPY src /\n") }, true},
		{"the ignore file", func() { write(".dockerignore", "out\n") }, true},
		{"an ignored Dockerfile", func() { write(".dockerignore", "out\nDockerfile\n") }, true},
		{"its text", func() { write("Dockerfile", "FROM scratch\n") }, true},
	} {
		s.do()
		now := digest()
		if (now != last) != s.changes {
			t.Errorf("%s: changed is %v, want %v", s.what, now != last, s.changes)
		}
		last = now
	}
	for _, wrong := range []string{filepath.Join(dir, "nowhere"), file} {
		if _, err := (Build{Folder: wrong, Dockerfile: file}).Inputs(); err == nil {
			t.Errorf("%s passes as a context", wrong)
		}
	}
}
