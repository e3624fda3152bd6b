// Package source identifies by content what an engine is built from and runs: revisions and
// working trees through the git command, the files that its command and its scripts name,
// the folders that Python imports from, and what its processes have open. It knows no plan,
// and starts no engine.
package source

import (
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
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

type File struct {
	Path string `json:"path"`
	// Size is in bytes, Modified in nanoseconds since 1970.
	Size     int64 `json:"size"`
	Modified int64 `json:"modified"`
	// Changed is when it or what is known of it was changed last, in nanoseconds since 1970:
	// unlike Modified, no program of a user can set it.
	Changed int64 `json:"changed,omitempty"`
	// Digest is the SHA-256 of its content. Of a file beyond 1 GiB it is "parts:" and the
	// SHA-256 of its size and of 64 KiB at each of 256 places from start to end. One that
	// was replaced while it was open has Replaced, which equals nothing on disk.
	Digest string `json:"digest"`
}

// Used are the files that a launch ran.
type Used struct {
	// Named were known before it by its command, Opened were seen open while it ran.
	Named  []File `json:"named,omitempty"`
	Opened []File `json:"opened,omitempty"`
	// Wrote are the command's own outputs, such as results.
	Wrote []string `json:"wrote,omitempty"`
}

// Complete reports whether all of its content was read.
func (f File) Complete() bool { return !strings.HasPrefix(f.Digest, partsOf) }

// Replaced is the digest of a file that no longer was on disk while a process had it open.
const Replaced = "replaced"

const (
	// wholeLimit is the largest file that is read whole. Models are larger: reading one
	// would take minutes and push the engine's pages out of memory.
	wholeLimit = 1 << 30
	parts      = 256
	partSize   = 64 << 10
	partsOf    = "parts:"
)

// Reader digests files. It reads each once, as long as its size and times stay. The zero
// value is ready to use, also by several goroutines.
type Reader struct {
	mu    sync.Mutex
	known map[string]File
}

// Learn makes digests on record known, so files with the same size and times are not
// read.
func (r *Reader) Learn(files []File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range files {
		if _, known := r.known[f.Path]; !known && f.Digest != Replaced {
			r.learn(f)
		}
	}
}

func (r *Reader) learn(f File) {
	if r.known == nil {
		r.known = map[string]File{}
	}
	r.known[f.Path] = f
}

// File is the file at a path, through links. The error is the file system's.
func (r *Reader) File(path string) (File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, err
	}
	f, err := look(real)
	if err != nil {
		return File{}, err
	}
	r.mu.Lock()
	known := r.known[real]
	r.mu.Unlock()
	if known.Digest != "" && f.Same(known) {
		f.Digest = known.Digest
	} else if f.Digest, err = digest(f); err != nil {
		return File{}, err
	}
	r.mu.Lock()
	r.learn(f)
	r.mu.Unlock()
	f.Path = path
	return f, nil
}

// look is a regular file without its digest, through links.
func look(path string) (File, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return File{}, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return File{}, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a file")}
	}
	return File{Path: path, Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano()}, nil
}

// Same reports whether the file is unchanged since other was read.
func (f File) Same(other File) bool {
	return f.Size == other.Size && f.Modified == other.Modified && f.Changed == other.Changed
}

func digest(f File) (string, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h, kind := sha256.New(), ""
	if f.Size <= wholeLimit {
		_, err = io.Copy(h, file)
	} else {
		kind = partsOf
		fmt.Fprintln(h, f.Size)
		for i := int64(0); i < parts && err == nil; i++ {
			_, err = io.Copy(h, io.NewSectionReader(file, i*(f.Size-partSize)/(parts-1), partSize))
		}
	}
	return kind + hex.EncodeToString(h.Sum(nil)), err
}

const (
	// entriesLimit and bytesLimit are how much of a folder is searched for code.
	entriesLimit = 20_000
	bytesLimit   = 512 << 20
)

// code are the endings of files that programs load by themselves, out of a folder that
// they were started in or given.
var code = []string{
	".py", ".pyx", ".pyd", ".so", ".sh", ".bash", ".pl", ".lua", ".js", ".mjs", ".jinja", ".cu", ".cuh", ".cc", ".cpp", ".h", ".hpp",
	".ptx", ".cubin", ".metal",
}

// IsCode reports whether a file's name is one of code; libraries have versions after it.
func IsCode(path string) bool {
	name := filepath.Base(path)
	return slices.Contains(code, filepath.Ext(name)) || strings.Contains(name, ".so.")
}

// Folder is a folder that code is loaded from: its code counts, or if Whole all that is not
// hidden, compiled from Python or a log.
type Folder struct {
	Dir   string
	Whole bool
}

// walk calls found for each of its files until that returns an error. Of more than limit
// entries that is the error.
func (f Folder) walk(limit int, found func(path string) error) error {
	entries := 0
	return filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && path != f.Dir, errors.Is(err, fs.ErrNotExist):
			return nil // an engine cannot read it either
		case err != nil:
			return err
		}
		name := d.Name()
		switch entries++; {
		case entries > limit:
			return fmt.Errorf("%s has more than %d files", f.Dir, limit)
		case d.IsDir() && path != f.Dir && (name[0] == '.' || name == "__pycache__" || name == "node_modules"):
			return filepath.SkipDir
		case d.IsDir(), name[0] == '.', !f.Whole && !IsCode(name), isOutput(name):
			return nil
		}
		return found(path)
	})
}

// List are its files, sorted. The error says what makes it unknown: it cannot be read, or is
// too large to be read each time.
func (f Folder) List() (paths []string, err error) {
	size := int64(0)
	err = f.walk(entriesLimit, func(path string) error {
		file, err := look(path)
		if err != nil {
			return nil //nolint:nilerr // a link to nothing, or a socket: nothing loads it
		}
		if size += file.Size; file.Size <= wholeLimit && size > bytesLimit {
			return fmt.Errorf("%s has more than %d MB of files", f.Dir, bytesLimit>>20)
		}
		paths = append(paths, path)
		return nil
	})
	return paths, err
}

// Since is one of its files, except some, that was made or changed after a time; empty if
// none was, or if there are too many to load code from.
func (f Folder) Since(when time.Time, but func(path string) bool) (changed string) {
	_ = f.walk(50*entriesLimit, func(path string) error {
		if but(path) {
			return nil
		}
		if file, err := look(path); err == nil && file.Changed > when.UnixNano() {
			changed = path
			return fs.SkipAll
		}
		return nil
	})
	return changed
}

// MayBeWritten reports whether a program that is started may write a file: it is no code.
func MayBeWritten(path string) bool { return !IsCode(path) && !isExecutable(path) }

func isOutput(name string) bool {
	return slices.Contains([]string{".pyc", ".log", ".pid", ".out", ".tmp"}, filepath.Ext(name))
}
