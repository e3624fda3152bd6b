package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIgnored(t *testing.T) {
	const list = `
# comment
*.log
/build
**/__pycache__
docs/**/*.md
!docs/keep/README.md
weights[0-9].bin
na?e
a\*b
`
	dir := t.TempDir()
	ignored := func(list string) (ignoreLists, error) {
		if err := os.WriteFile(filepath.Join(dir, ".dockerignore"), []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		return readIgnoreLists(dir, filepath.Join(dir, "Dockerfile"))
	}
	lists, err := ignored(list)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"x.log":                     true,
		"sub/x.log":                 false, // patterns are anchored at the root
		"build":                     true,
		"build/deep/er":             true,
		"src/build":                 false,
		"__pycache__":               true,
		"a/b/__pycache__/c.pyc":     true,
		"docs/a.md":                 true,
		"docs/x/y/b.md":             true,
		"docs/keep/README.md":       false,
		"docs/keep/OTHER.md":        true,
		"weights3.bin":              true,
		"weights33.bin":             false,
		"name":                      true,
		"na/e":                      false,
		"a*b":                       true,
		"axb":                       false,
		"Dockerfile":                false,
		"# comment":                 false,
		"docs/keep/README.md/child": false,
	} {
		if got, err := lists.cover(name); err != nil || got != want {
			t.Errorf("%s: ignored is %v (%v), want %v", name, got, err, want)
		}
	}
	if _, err := ignored("ok\nbad[\n"); err == nil || !strings.Contains(err.Error(), ".dockerignore") {
		t.Errorf("a bad pattern gives %v, want an error that names the file", err)
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
		sum, err := BuildInputs(dir, file)
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
		if _, err := BuildInputs(wrong, file); err == nil {
			t.Errorf("%s passes as a context", wrong)
		}
	}
}
