package git

import (
	"bytes"
	"cmp"
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

// maxUntracked limits how much untracked data is read for a hash: weights or build
// outputs that are not ignored would take minutes each time.
const maxUntracked = 1 << 30

// Tree is the state of a working tree on disk: committed, staged, changed and new files,
// but not ignored ones.
type Tree struct {
	Commit string
	// Hash covers paths, modes and contents. Equal hashes are equal trees.
	Hash string
	// Clean is set if it equals Commit.
	Clean bool
}

// Snapshot hashes the working tree, or the part of it under paths (relative to the
// repository's root). If diff is given, all differences from HEAD are written to it as a
// patch for git apply. Checked out submodules are included.
//
// It works on a copy of the index, which recognizes unchanged files by their times, so
// only changed ones are read; new objects go to a temporary folder. Nothing is written to
// the repository.
func (r *Repo) Snapshot(ctx context.Context, paths []string, diff io.Writer) (t Tree, err error) {
	if r.Bare {
		return t, &Error{Kind: NotRepository, Reason: r.Top + " is a bare repository, without files to hash"}
	}
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
	}, paths...)
	if len(paths) == 0 {
		add = append(add, ".")
	}
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
	err = aside.start(ctx, call{stdout: changed, args: append([]string{
		"diff-tree", "-p", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", base, tree, "--",
	}, paths...)})
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
	return r.list(ctx, "diff-tree", "-r", "--name-only", "-z", a, b)
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
			continue // not checked out: there is only the commit
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

// checkUntracked rejects trees with too much untracked data.
func (r *Repo) checkUntracked(ctx context.Context, paths []string) error {
	list, err := r.list(ctx, append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, paths...)...)
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
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(b.size, a.size) })
	var largest []string
	for _, f := range files[:min(3, len(files))] {
		largest = append(largest, fmt.Sprintf("%s (%d MB)", f.path, f.size/1e6))
	}
	return &Error{Kind: TooMuch, Files: largest, Reason: fmt.Sprintf(
		"%s has %.1f GB of untracked files, too much to hash at every launch: add them to .gitignore or .git/info/exclude, or list the paths that matter; the largest are", r.Top, float64(total)/1e9)}
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

// State is the uncommitted state of a working tree.
type State struct {
	// Changed are tracked files that differ from HEAD, staged or not; Untracked those
	// that git neither tracks nor ignores.
	Changed, Untracked []string
}

// Status reads the state of the working tree. Nothing is written, including the index.
func (r *Repo) Status(ctx context.Context) (s State, err error) {
	list, err := r.list(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none")
	if err != nil {
		return s, err
	}
	for _, entry := range list { // two letters, a space, the path
		if path, untracked := strings.CutPrefix(entry, "?? "); untracked {
			s.Untracked = append(s.Untracked, path)
		} else if len(entry) > 3 {
			s.Changed = append(s.Changed, entry[3:])
		}
	}
	return s, nil
}

// inProgress names an unfinished operation in the working tree; empty if there is none.
func (r *Repo) inProgress() string {
	for _, op := range []struct{ file, name string }{
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase or am"},
		{"sequencer", "cherry-pick or revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Stat(filepath.Join(r.GitDir, op.file)); err == nil {
			return op.name
		}
	}
	return ""
}

// Settled returns an error if tracked files differ from HEAD, or an operation is in
// progress. Submodules at another commit count as changed.
func (r *Repo) Settled(ctx context.Context) error {
	if op := r.inProgress(); op != "" {
		return &Error{Kind: Busy, Reason: "a " + op + " is in progress in " + r.Top + ": finish or abort it first"}
	}
	s, err := r.Status(ctx)
	if err != nil {
		return err
	}
	if len(s.Changed) > 0 {
		return &Error{Kind: InTheWay, Files: s.Changed, Reason: "uncommitted changes in " + r.Top + " are in the way and were left unchanged; commit or stash them"}
	}
	return nil
}

// aside is a repository seen through a separate index and object folder.
type aside struct {
	*Repo
	dir string
}

// aside copies the index, with its time: git treats an entry as new as the index as
// possibly changed since, and a newer index would hide that. Marks that make git skip
// files ("assume unchanged", sparse checkouts) are removed in the copy.
func (r *Repo) aside(ctx context.Context) (*aside, error) {
	dir, err := os.MkdirTemp("", "mxflow-git-*")
	if err != nil {
		return nil, &Error{Kind: Other, Reason: "cannot create a copy of git's index: " + err.Error()}
	}
	seen := *r
	a := &aside{Repo: &seen, dir: dir}
	index := filepath.Join(dir, "index")
	objects := filepath.Join(dir, "objects")
	own, err := r.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err == nil {
		err = os.Mkdir(objects, 0o700)
	}
	if err == nil {
		err = copyIndex(filepath.Join(r.GitDir, "index"), index)
	}
	seen.env = []string{"GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quotePath(own)}
	if err == nil {
		err = a.unmark(ctx)
	}
	if err != nil {
		a.remove()
		return nil, err
	}
	return a, nil
}

// quotePath quotes a path in a colon-separated list.
func quotePath(path string) string {
	if !strings.ContainsAny(path, `:"`) {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

func copyIndex(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever added
	}
	if err != nil {
		return &Error{Kind: Other, Reason: "cannot read git's index: " + err.Error()}
	}
	defer in.Close()
	// The time is read before the bytes: too old a time only makes git check.
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// unmark makes git check every file.
func (a *aside) unmark(ctx context.Context) error {
	list, err := a.list(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	var marked strings.Builder
	for _, entry := range list {
		// "H path" is an ordinary file; lower case is assumed unchanged, S skipped.
		if tag, path, ok := strings.Cut(entry, " "); ok && (tag == "S" || tag != strings.ToUpper(tag)) {
			marked.WriteString(path + "\x00")
		}
	}
	if marked.Len() == 0 {
		return nil
	}
	for _, mark := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		_, err := a.runWith(ctx, call{
			stdin: strings.NewReader(marked.String()),
			args:  []string{"-c", "core.sparseCheckout=false", "update-index", mark, "-z", "--stdin"},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *aside) remove() { _ = os.RemoveAll(a.dir) }
