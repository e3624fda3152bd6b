package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// aside is a repository seen through an index and an object folder of our own.
type aside struct {
	repo *Repo
	dir  string
	env  []string
}

// aside copies the index, with its time: git takes an entry that is as new as
// the index for one that may have changed since, and a newer index would hide
// that. Marks by which git passes over files ("assume unchanged", sparse
// checkouts) are taken off in the copy.
func (r *Repo) aside(ctx context.Context) (*aside, error) {
	dir, err := os.MkdirTemp("", "mxflow-git-*")
	if err != nil {
		return nil, &Error{Kind: Other, Reason: "no room for a copy of git's index: " + err.Error()}
	}
	a := &aside{repo: r, dir: dir}
	index := filepath.Join(dir, "index")
	objects := filepath.Join(dir, "objects")
	own, err := r.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err == nil {
		err = os.Mkdir(objects, 0o700)
	}
	if err == nil {
		err = copyIndex(filepath.Join(r.GitDir, "index"), index)
	}
	a.env = []string{"GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quotePath(own)}
	if err == nil {
		err = a.unmark(ctx)
	}
	if err != nil {
		a.remove()
		return nil, err
	}
	return a, nil
}

// quotePath protects a path in a list that : separates.
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
		return &Error{Kind: Other, Reason: "git's index cannot be read: " + err.Error()}
	}
	defer in.Close()
	// The time is taken before the bytes: too old a time only makes git look.
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

// unmark makes git look at every file.
func (a *aside) unmark(ctx context.Context) error {
	list, err := zlist(a.run(ctx, "ls-files", "-v", "-z"))
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
		_, err := a.repo.runWith(ctx, call{
			env: a.env, stdin: strings.NewReader(marked.String()),
			args: []string{"-c", "core.sparseCheckout=false", "update-index", mark, "-z", "--stdin"},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *aside) run(ctx context.Context, args ...string) (string, error) {
	return a.repo.runWith(ctx, call{env: a.env, args: args})
}

// start runs git with its output streamed to w.
func (a *aside) start(ctx context.Context, args []string, w io.Writer) error {
	return a.repo.start(ctx, call{env: a.env, args: args, stdout: w})
}

func (a *aside) remove() { _ = os.RemoveAll(a.dir) }
