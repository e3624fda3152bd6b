package source

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestSnapshotSeesEveryChange: each change gives another hash, and undoing it gives the first one again.
func TestSnapshotSeesEveryChange(t *testing.T) {
	const text = "one\ntwo\nthree\n"
	restore := func(t *testing.T, dir string) { put(t, dir, "a.txt", text) }
	for name, c := range map[string]struct {
		do, undo func(t *testing.T, dir string)
	}{
		"content": {func(t *testing.T, dir string) { put(t, dir, "a.txt", "one\nTWO\nthree\n") }, restore},
		"deleted": {func(_ *testing.T, dir string) { os.Remove(filepath.Join(dir, "a.txt")) }, restore},
		"untracked": {
			func(t *testing.T, dir string) { put(t, dir, "new/ü b.txt", "x") },
			func(_ *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "new")) },
		},
		"executable": {
			func(_ *testing.T, dir string) { os.Chmod(filepath.Join(dir, "a.txt"), 0o755) },
			func(_ *testing.T, dir string) { os.Chmod(filepath.Join(dir, "a.txt"), 0o644) },
		},
		"staged": {
			func(t *testing.T, dir string) { put(t, dir, "s.txt", "s"); by(t, dir, "add", "s.txt") },
			func(t *testing.T, dir string) { by(t, dir, "rm", "-qf", "s.txt") },
		},
		"assumed unchanged": {func(t *testing.T, dir string) {
			by(t, dir, "update-index", "--assume-unchanged", "a.txt")
			put(t, dir, "a.txt", "hidden\n")
		}, restore},
		"tracked though ignored": {
			func(t *testing.T, dir string) { put(t, dir, "kept.log", "2") },
			func(t *testing.T, dir string) { put(t, dir, "kept.log", "1") },
		},
		"same size, same time": {func(t *testing.T, dir string) {
			info, _ := os.Stat(filepath.Join(dir, "a.txt"))
			put(t, dir, "a.txt", "one\nTWO\nthree\n")
			os.Chtimes(filepath.Join(dir, "a.txt"), time.Now(), info.ModTime())
		}, restore},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			put(t, dir, ".gitignore", "*.log\n")
			put(t, dir, "kept.log", "1")
			by(t, dir, "add", "-f", ".gitignore", "kept.log")
			by(t, dir, "commit", "-qm", "ignore")
			before := snapshot(t, r)
			if !before.Clean {
				t.Fatal("a fresh commit is not clean")
			}
			index := read(t, filepath.Join(dir, ".git"), "index")
			c.do(t, dir)
			if name != "staged" && name != "assumed unchanged" &&
				read(t, filepath.Join(dir, ".git"), "index") != index {
				t.Fatal("the test itself changed the index")
			}
			after := snapshot(t, r)
			if after.Hash == before.Hash || after.Clean {
				t.Error("the change is not seen")
			}
			c.undo(t, dir)
			if again := snapshot(t, r); again.Hash != before.Hash || !again.Clean {
				t.Error("the tree is as before, its hash is not")
			}
		})
	}
}

func snapshot(t *testing.T, r *Repo, paths ...string) Tree {
	t.Helper()
	tree, err := r.Snapshot(t.Context(), paths, nil)
	must.Do(t, err)
	return tree
}

// TestSnapshotTouchesNothing: index, objects and refs stay unchanged, even while another git holds the index.
func TestSnapshotTouchesNothing(t *testing.T) {
	r, dir := newRepo(t)
	put(t, dir, "a.txt", "changed\n")
	put(t, dir, "b.txt", "new\n")
	put(t, dir, ".git/index.lock", "")
	before := listing(t, dir)
	snapshot(t, r)
	if after := listing(t, dir); after != before {
		t.Errorf("the repository changed:\n%s\nbefore:\n%s", after, before)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			b.WriteString(path + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	must.Do(t, err)
	return b.String()
}

// TestSnapshotDiff: the patch brings a clone to the same tree.
func TestSnapshotDiff(t *testing.T) {
	r, dir := newRepo(t)
	clone := filepath.Join(t.TempDir(), "clone")
	by(t, dir, "clone", "-q", dir, clone)
	put(t, dir, "a.txt", "one\nTWO\nthree\n")
	put(t, dir, "new.bin", "\x00\x01\x02")
	var patch bytes.Buffer
	want, err := r.Snapshot(t.Context(), nil, &patch)
	must.Do(t, err)
	put(t, clone, "../p.patch", patch.String())
	by(t, clone, "apply", "../p.patch")
	c, err := OpenRepo(t.Context(), clone)
	must.Do(t, err)
	if got := snapshot(t, c); got.Hash != want.Hash {
		t.Errorf("the patch makes another tree:\n%s", patch.String())
	}
}

func TestSnapshotPaths(t *testing.T) {
	r, dir := newRepo(t)
	commit(t, dir, "csrc/k.cu", "kernel")
	part, whole := snapshot(t, r, "csrc"), snapshot(t, r)
	put(t, dir, "docs/x.md", "text")
	if snapshot(t, r, "csrc").Hash != part.Hash {
		t.Error("a file elsewhere changes the hash of csrc")
	}
	if snapshot(t, r).Hash == whole.Hash {
		t.Error("a new file does not change the whole")
	}
	put(t, dir, "csrc/new.cu", "kernel")
	if snapshot(t, r, "csrc").Hash == part.Hash {
		t.Error("a new file in csrc does not change its hash")
	}
	if _, err := r.Snapshot(t.Context(), []string{"nowhere"}, nil); err == nil {
		t.Error("a path that is not there has a hash")
	}
}

func TestSnapshotSubmodule(t *testing.T) {
	_, inner := newRepo(t)
	r, dir := newRepo(t)
	by(t, dir, "submodule", "add", "-q", inner, "third/party")
	by(t, dir, "commit", "-qm", "submodule")
	before := snapshot(t, r)
	put(t, dir, "third/party/a.txt", "one\nTWO\nthree\n")
	var patch bytes.Buffer
	after, err := r.Snapshot(t.Context(), nil, &patch)
	must.Do(t, err)
	if after.Hash == before.Hash || after.Clean {
		t.Error("a change in a submodule is not seen")
	}
	if !strings.Contains(patch.String(), "+++ b/third/party/a.txt\n") {
		t.Errorf("the patch does not name the file:\n%s", patch.String())
	}
}

func TestSnapshotWithoutCommits(t *testing.T) {
	sandbox(t)
	dir := t.TempDir()
	by(t, dir, "init", "-q")
	put(t, dir, "x", "x")
	r, err := OpenRepo(t.Context(), dir)
	must.Do(t, err)
	if tree := snapshot(t, r); tree.Commit != "" || tree.Hash == "" || tree.Clean {
		t.Errorf("%+v", tree)
	}
}

func FuzzPatchedApart(f *testing.F) {
	f.Add("diff --git a/x b/x\n+1\ndiff --git a/dir/y z b/dir/y z\nBinary files differ\n")
	f.Add("diff --git a/ b/\ndiff --git a/\n\ndiff --git a/q")
	f.Fuzz(func(t *testing.T, patch string) {
		for _, file := range PatchedApart([]byte(patch), nil) {
			if !strings.Contains(patch, file) {
				t.Errorf("%q is not in the patch", file)
			}
		}
		if same := PatchedApart([]byte(patch), []byte(patch)); same != nil {
			t.Errorf("a patch differs from itself in %q", same)
		}
	})
}

func TestPatchedApart(t *testing.T) {
	a := "diff --git a/x b/x\n+1\ndiff --git a/dir/y z b/dir/y z\n+2\ndiff --git a/gone b/gone\n+1\n"
	b := "diff --git a/x b/x\n+1\ndiff --git a/dir/y z b/dir/y z\n+3\ndiff --git a/new b/new\n+1\n"
	if got := PatchedApart([]byte(a), []byte(b)); !slices.Equal(got, []string{"dir/y z", "gone", "new"}) {
		t.Errorf("%q", got)
	}
}
