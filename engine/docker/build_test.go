package docker

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIgnored: simple patterns leave out what docker does, and nothing else.
func TestIgnored(t *testing.T) {
	const list = "\n# comment\n*.log\n/build\n**/__pycache__\ndocs/*.md\nna?e\n"
	for name, want := range map[string]bool{
		"x.log": true, "sub/x.log": false, "build": true, "src/build": false, "a/b/__pycache__": true, "docs/a.md": true, "docs/x/b.md": false,
		"name": true, "na/e": false, "# comment": false,
	} {
		if got := ignored(list, name); got != want {
			t.Errorf("%s: ignored is %v, want %v", name, got, want)
		}
	}
	if ignored("*.log\n!keep.log\n", "x.log") {
		t.Error("a list that takes something back is not understood, and must leave out nothing")
	}
}

func TestBuildInputs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "Dockerfile")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() string {
		t.Helper()
		sum, err := Build{Folder: dir, Dockerfile: file}.Inputs()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	write("Dockerfile", "FROM scratch\nCOPY . /\n")
	write(".dockerignore", "out\n*.tmp\n")
	write("src/a.txt", "one")
	last := digest()
	steps := []struct {
		what    string
		do      func()
		changes bool
	}{
		{"nothing", func() {}, false},
		{"an ignored file", func() { write("x.tmp", "1"); write("out/y", "2") }, false},
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
	}
	for _, s := range steps {
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
