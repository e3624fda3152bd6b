package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxUntracked bounds how much that git does not know is read for a hash:
// weights or build outputs that nobody ignores would take minutes each time.
const maxUntracked = 1 << 30

// Tree is the state of a working tree as it lies there: what is committed,
// staged, changed and new, but not what is ignored.
type Tree struct {
	Top, Commit string
	// Hash covers paths, modes and contents. Equal hashes are equal trees.
	Hash string
	// Clean says that it is what Commit says.
	Clean bool
}

// Snapshot hashes the working tree, or the part of it under paths (relative to
// the repository's root). Where diff is given, all that differs from HEAD is
// written to it as a patch that git apply reads. Submodules that are checked out
// are looked into.
//
// It works on a copy of the index, which knows the files that have not changed
// by their times, so that only changed ones are read; new objects go to a folder
// that is removed again. Nothing is written to the repository.
func (r *Repo) Snapshot(ctx context.Context, paths []string, diff io.Writer) (t Tree, err error) {
	if r.Bare {
		return t, &Error{Kind: NotRepository, Reason: r.Top + " is a bare repository, without files to hash"}
	}
	t.Top = r.Top
	if t.Commit, _, err = r.Head(ctx); err != nil {
		return t, err
	}
	if err := r.checkUntracked(ctx, paths); err != nil {
		return t, err
	}
	aside, err := r.aside(ctx)
	if err != nil {
		return t, err
	}
	defer aside.remove()
	add := append([]string{
		"-c", "core.looseCompression=0", "-c", "core.fsync=none", "-c", "core.splitIndex=false",
		"-c", "core.sparseCheckout=false", "-c", "core.checkStat=default", "-c", "core.trustctime=true", "-c", "advice.addEmbeddedRepo=false",
		"add", "--all", "--",
	}, orAll(paths)...)
	if _, err := aside.run(ctx, add...); err != nil {
		return t, err
	}
	tree, err := aside.run(ctx, "write-tree")
	if err != nil {
		return t, err
	}
	list, err := aside.run(ctx, append([]string{"ls-tree", "-r", "-z", tree, "--"}, paths...)...)
	if err != nil {
		return t, err
	}
	base := t.Commit
	if base == "" {
		if base, err = aside.run(ctx, "hash-object", "-t", "tree", "--stdin", "-w"); err != nil {
			return t, err
		}
	}
	changed := &counter{to: diff}
	err = aside.start(ctx, append([]string{"diff-tree", "-p", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", base, tree, "--"}, paths...), changed)
	if err != nil {
		return t, err
	}
	h := sha256.New()
	io.WriteString(h, list)
	if err := r.submodules(ctx, list, h, changed); err != nil {
		return t, err
	}
	t.Hash, t.Clean = hex.EncodeToString(h.Sum(nil)), changed.n == 0
	return t, changed.err
}

// Between lists the files in which two commits differ.
func (r *Repo) Between(ctx context.Context, a, b string) ([]string, error) {
	return zlist(r.run(ctx, "diff-tree", "-r", "--name-only", "-z", a, b))
}

// submodules adds the state of the repositories inside this one.
func (r *Repo) submodules(ctx context.Context, list string, h io.Writer, diff *counter) error {
	for _, entry := range strings.Split(list, "\x00") {
		meta, path, ok := strings.Cut(entry, "\t")
		if !ok || !strings.HasPrefix(meta, "160000 ") {
			continue
		}
		dir := filepath.Join(r.Top, path)
		if _, err := os.Stat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
			continue // not checked out: there is nothing but the commit
		}
		sub, err := Open(ctx, dir)
		if err != nil {
			return err
		}
		var patch bytes.Buffer
		t, err := sub.Snapshot(ctx, nil, &patch)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00%s\x00", path, t.Hash)
		if !t.Clean {
			fmt.Fprintf(diff, "# in the submodule %s, at %s:\n%s", path, t.Commit, inFolder(patch.Bytes(), path))
		}
	}
	return nil
}

// inFolder turns a patch of a submodule into one of the whole tree.
func inFolder(patch []byte, path string) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(patch) {
		text := string(line)
		switch {
		case strings.HasPrefix(text, "diff --git a/"):
			text = strings.Replace(strings.Replace(text, "diff --git a/", "diff --git a/"+path+"/", 1), " b/", " b/"+path+"/", 1)
		case strings.HasPrefix(text, "--- a/"):
			text = "--- a/" + path + "/" + text[len("--- a/"):]
		case strings.HasPrefix(text, "+++ b/"):
			text = "+++ b/" + path + "/" + text[len("+++ b/"):]
		}
		out.WriteString(text)
	}
	return out.Bytes()
}

// checkUntracked refuses trees that hold too much that git does not know.
func (r *Repo) checkUntracked(ctx context.Context, paths []string) error {
	list, err := zlist(r.run(ctx, append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, paths...)...))
	if err != nil {
		return err
	}
	type file struct {
		path string
		size int64
	}
	var files []file
	var total int64
	for _, path := range list {
		if info, err := os.Lstat(filepath.Join(r.Top, path)); err == nil && info.Mode().IsRegular() {
			files = append(files, file{path, info.Size()})
			total += info.Size()
		}
	}
	if total <= maxUntracked {
		return nil
	}
	slices.SortFunc(files, func(a, b file) int { return int(min(max(b.size-a.size, -1), 1)) })
	var largest []string
	for _, f := range files[:min(3, len(files))] {
		largest = append(largest, fmt.Sprintf("%s (%d MB)", f.path, f.size/1e6))
	}
	return &Error{Kind: TooMuch, Files: largest, Reason: fmt.Sprintf(
		"%s has %.1f GB of files that git neither knows nor ignores, too much to hash at every launch: put them into .gitignore or .git/info/exclude, or name the paths that matter; the largest are", r.Top, float64(total)/1e9)}
}

func orAll(paths []string) []string {
	if len(paths) == 0 {
		return []string{"."}
	}
	return paths
}

// counter counts what passes to a writer that may be nil.
type counter struct {
	to  io.Writer
	n   int64
	err error
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if c.to != nil && c.err == nil {
		_, c.err = c.to.Write(p)
	}
	return len(p), nil
}
