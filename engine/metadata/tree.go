package metadata

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// file is one file of a model.
type file struct {
	// path is where it is read, name what it is called in the model.
	path, name string
	size       int64
	mtime      string
	// blob is the digest by which a Hugging Face cache stores a large file; empty
	// for others.
	blob string
}

// tree is files of this machine or of the engine's.
type tree interface {
	// list returns all files below a path, or the path itself where it is a
	// file, in order of their names.
	list(ctx context.Context, path string) ([]file, error)
	// read copies at most limit bytes of a file.
	read(ctx context.Context, path string, limit int64, to io.Writer) error
	// whole is the size up to which a model is read to its end.
	whole() int64
}

// maxFiles bounds a model: whoever names their home folder learns so.
const maxFiles = 10000

type hostTree struct{}

// About a second of one core.
func (hostTree) whole() int64 { return 512 << 20 }

// blobName is the name of a large file in a Hugging Face cache: its SHA-256.
var blobName = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (hostTree) list(ctx context.Context, root string) (files []file, err error) {
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			if strings.HasPrefix(e.Name(), ".") && path != root {
				return fs.SkipDir
			}
			return nil
		}
		// A cache's snapshots are links to its blobs.
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name == "." {
			name = filepath.Base(path)
		}
		f := file{path: path, name: filepath.ToSlash(name), size: info.Size(), mtime: strconv.FormatInt(info.ModTime().UnixNano(), 10)}
		if target, linkErr := os.Readlink(path); linkErr == nil && blobName.MatchString(filepath.Base(target)) && filepath.Base(filepath.Dir(target)) == "blobs" {
			f.blob = filepath.Base(target)
		}
		if files = append(files, f); len(files) > maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		return err
	})
	return files, err
}

func (hostTree) read(_ context.Context, path string, limit int64, to io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, io.LimitReader(f, limit))
	return err
}

// engineTree is files where the engine lives, listed with find and read with
// head.
type engineTree struct{ run Run }

// What a command prints comes through memory.
func (engineTree) whole() int64 { return 16 << 20 }

func (t engineTree) list(ctx context.Context, root string) (files []file, err error) {
	out, err := t.run.text(ctx, time.Minute, "find", "-L", root, "-type", "f", "-printf", `%s %T@ %P\n`)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(cells) != 3 {
			return nil, fmt.Errorf("find printed %q", brief(line))
		}
		size, err := strconv.ParseInt(cells[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("find printed %q", brief(line))
		}
		f := file{path: root + "/" + cells[2], name: cells[2], size: size, mtime: cells[1]}
		if cells[2] == "" {
			f.path, f.name = root, filepath.Base(root)
		}
		if files = append(files, f); len(files) > maxFiles {
			return nil, fmt.Errorf("it has more than %d files", maxFiles)
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

func (t engineTree) read(ctx context.Context, path string, limit int64, to io.Writer) error {
	out, err := t.run.text(ctx, time.Minute, "head", "-c", strconv.FormatInt(limit, 10), path)
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, out)
	return err
}
