package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

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
func (r *Repo) Snapshot(ctx context.Context, paths []string, diff io.Writer) (Tree, error) {
	return r.snapshot(ctx, paths, diff, "")
}

// snapshot is Snapshot for a tree that lies in a folder of another one.
func (r *Repo) snapshot(ctx context.Context, paths []string, diff io.Writer, folder string) (t Tree, err error) {
	if r.bare {
		return t, broken("%s is a bare repository, without files to hash", r.Top)
	}
	if t.Commit, _, err = r.Head(ctx); err != nil {
		return t, err
	}
	if err := r.checkUntracked(ctx, paths); err != nil {
		return t, err
	}
	aside, err := r.withOwnIndex(ctx)
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(filepath.Dir(aside.gitDir))
	add := append([]string{
		"-c", "core.looseCompression=0", "-c", "core.fsync=none", "-c", "core.splitIndex=false",
		"-c", "core.sparseCheckout=false", "-c", "core.checkStat=default", "-c", "core.trustctime=true", "-c",
		"advice.addEmbeddedRepo=false",
		"add", "--all", "--",
	}, paths...)
	if len(paths) == 0 {
		add = append(add, ".")
	}
	if _, err := aside.Run(ctx, add...); err != nil {
		return t, err
	}
	tree, err := aside.Run(ctx, "write-tree")
	if err != nil {
		return t, err
	}
	list, err := aside.Run(ctx, append([]string{"ls-tree", "-r", "-z", tree, "--"}, paths...)...)
	if err != nil {
		return t, err
	}
	base := t.Commit
	if base == "" {
		if base, err = aside.Run(ctx, "hash-object", "-t", "tree", "--stdin", "-w"); err != nil {
			return t, err
		}
	}
	patch := &counter{to: diff}
	if err := aside.run(ctx, nil, patch, append([]string{
		"diff-tree", "-p", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=none",
		"--src-prefix=a/" + folder, "--dst-prefix=b/" + folder, base, tree, "--",
	}, paths...)...); err != nil {
		return t, err
	}
	h := sha256.New()
	io.WriteString(h, list)
	for _, entry := range strings.Split(list, "\x00") {
		meta, path, _ := strings.Cut(entry, "\t")
		dir := filepath.Join(r.Top, path)
		if !strings.HasPrefix(meta, "160000 ") {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
			continue // a submodule that is not checked out: there is only the commit
		}
		sub, err := OpenRepo(ctx, dir)
		if err != nil {
			return t, err
		}
		inside, err := sub.snapshot(ctx, nil, patch, folder+path+"/")
		if err != nil {
			return t, err
		}
		fmt.Fprintf(h, "%s\x00%s\x00", path, inside.Hash)
	}
	t.Hash, t.Clean = hex.EncodeToString(h.Sum(nil)), patch.n == 0
	return t, nil
}

// PatchedApart names the files that two patches of Snapshot leave in different states.
func PatchedApart(was, is []byte) (files []string) {
	// A file's header is "path b/path", with one path twice, as renames are not detected.
	byFile := func(patch []byte) map[string]string {
		files := map[string]string{}
		for _, part := range strings.Split("\n"+string(patch), "\ndiff --git a/")[1:] {
			header, _, _ := strings.Cut(part, "\n")
			files[header[:max(0, len(header)-len(" b/"))/2]] = part
		}
		return files
	}
	before, now := byFile(was), byFile(is)
	maps.DeleteFunc(before, func(file, part string) bool {
		same := now[file] == part
		if same {
			delete(now, file)
		}
		return same
	})
	maps.Copy(before, now)
	return slices.Sorted(maps.Keys(before))
}

// counter counts what passes to a writer that may be nil.
type counter struct {
	to io.Writer
	n  int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	if c.to == nil {
		return len(p), nil
	}
	return c.to.Write(p)
}

// checkUntracked rejects trees with too much untracked data: weights or build outputs that
// are not ignored would take minutes each time.
func (r *Repo) checkUntracked(ctx context.Context, paths []string) error {
	const most = 1 << 30
	list, err := r.List(ctx, append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, paths...)...)
	if err != nil {
		return err
	}
	sizes, total := map[string]int64{}, int64(0)
	for _, path := range list {
		if info, err := os.Lstat(filepath.Join(r.Top, path)); err == nil && info.Mode().IsRegular() {
			sizes[path] = info.Size()
			total += info.Size()
		}
	}
	if total <= most {
		return nil
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) })
	return broken("%s has %.1f GB of untracked files, too much to hash at every launch: add them to .gitignore or "+
		".git/info/exclude, or list the paths that matter; the largest are: %s",
		r.Top, float64(total)/1e9, FileList(list[:min(3, len(list))]))
}

// withOwnIndex is the repository seen through a separate index and object folder. It copies the
// index, with its time: git treats an entry as new as the index as possibly changed since,
// and a newer index would hide that. Marks that make git skip files ("assume unchanged",
// sparse checkouts) are removed in the copy.
func (r *Repo) withOwnIndex(ctx context.Context) (_ *Repo, err error) {
	own, err := r.Run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mxflow-git-*")
	if err != nil {
		return nil, fmt.Errorf("cannot create a copy of git's index: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	index, objects := filepath.Join(dir, "index"), filepath.Join(dir, "objects")
	if err := errors.Join(os.Mkdir(objects, 0o700), copyIndex(filepath.Join(r.gitDir, "index"), index)); err != nil {
		return nil, fmt.Errorf("cannot create a copy of git's index: %w", err)
	}
	// A path with a colon must be quoted in a list.
	a := &Repo{Top: r.Top, gitDir: objects, env: []string{
		"GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strconv.Quote(own),
	}}
	list, err := a.List(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return nil, err
	}
	var marked strings.Builder
	for _, entry := range list {
		// "H path" is an ordinary file; lower case is assumed unchanged, S skipped.
		if tag, path, ok := strings.Cut(entry, " "); ok && (tag == "S" || tag != strings.ToUpper(tag)) {
			marked.WriteString(path + "\x00")
		}
	}
	for _, mark := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if marked.Len() > 0 {
			err = errors.Join(err, a.run(ctx, strings.NewReader(marked.String()), io.Discard,
				"-c", "core.sparseCheckout=false", "update-index", mark, "-z", "--stdin"))
		}
	}
	return a, err
}

func copyIndex(from, to string) error {
	// The time is read before the bytes: too old a time only makes git check.
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever added
	}
	text, readErr := os.ReadFile(from)
	if err := errors.Join(err, readErr); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, text, 0o600), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
