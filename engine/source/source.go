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
	// Digest is the SHA-256 of its content. Of data beyond 1 GiB it is "parts:" and the
	// SHA-256 of its size and of 64 KiB at each of 256 places from start to end. One that
	// was replaced while it was open has Replaced, which equals nothing on disk.
	Digest string `json:"digest"`
}

// Complete reports whether all of its content was read.
func (f File) Complete() bool { return !strings.HasPrefix(f.Digest, partsOf) }

// Replaced is the digest of a file that no longer was on disk while a process had it open.
const Replaced = "replaced"

const (
	// wholeLimit is the largest file of data that is read whole. Models are larger: reading
	// one would take minutes and push the engine's pages out of memory.
	wholeLimit = 1 << 30
	parts      = 256
	partSize   = 64 << 10
	partsOf    = "parts:"
)

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
	if f.Size <= wholeLimit || IsCode(f.Path) {
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

// code are the endings of files that programs load by themselves, out of a folder that
// they were started in or given.
var code = []string{
	".py", ".pyx", ".pyd", ".pyc", ".so", ".sh", ".bash", ".pl", ".lua", ".js", ".mjs", ".jinja",
	".cu", ".cuh", ".cc", ".cpp", ".h", ".hpp", ".ptx", ".cubin", ".metal",
}

// IsCode reports whether a file's name is one of code; libraries have versions after it.
func IsCode(path string) bool {
	name := filepath.Base(path)
	return slices.Contains(code, filepath.Ext(name)) || strings.Contains(name, ".so.")
}

// Holds is which of a folder's files count.
type Holds string

const (
	// HoldsCode is a folder of which its code counts, Holds everything but what is hidden.
	HoldsCode Holds = "code"
	HoldsAll  Holds = "all"
	// HoldsPackages is a folder that Python's packages are installed in: all of it counts.
	HoldsPackages Holds = "packages"
	// HoldsLibrary is Python's own library, of which its code counts, without such folders in it.
	HoldsLibrary Holds = "library"
)

// Root is a folder that code is loaded from. What Python compiles, logs and the like never
// count.
type Root struct {
	Dir   string `json:"dir"`
	Holds Holds  `json:"holds"`
}

// walk calls found for each of its files, by its path below the root, in the order of names,
// and follows links. Files below own do not count. The error says what makes it unknown.
func (root Root) walk(own []string, found func(name string, file File)) error {
	visited := map[string]bool{}
	var folder func(dir, name string) error
	folder = func(dir, name string) error {
		if slices.ContainsFunc(own, func(o string) bool { return dir == o || strings.HasPrefix(dir, o+"/") }) {
			return nil
		}
		entries, err := os.ReadDir(dir)
		isEnvironment := func(e fs.DirEntry) bool { return e.Name() == "pyvenv.cfg" || e.Name() == "conda-meta" }
		if name != "" && root.Holds != HoldsPackages && slices.ContainsFunc(entries, isEnvironment) {
			return nil // what Python imports from it is a root of its own
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && name != "" {
			return nil // an engine cannot read it either
		}
		for _, e := range entries {
			base, isFile := e.Name(), e.Type().IsRegular()
			path, below := dir+"/"+base, name+base
			hidden := base[0] == '.' && root.Holds != HoldsPackages
			if hidden || base == "__pycache__" || base == "node_modules" && root.Holds != HoldsPackages {
				continue
			}
			if root.Holds == HoldsLibrary && strings.HasSuffix(base, "-packages") {
				continue // a root of its own
			}
			if isDir := e.IsDir(); isDir || !isFile {
				real, info := path, fs.FileInfo(nil)
				if !isDir {
					if info, err = os.Stat(path); err != nil {
						continue // a link to nothing: nothing loads it
					}
					isDir, isFile = info.IsDir(), info.Mode().IsRegular()
				}
				if isDir {
					if e.Type()&fs.ModeSymlink != 0 {
						if real, err = filepath.EvalSymlinks(path); err != nil || visited[real] ||
							isDerived(real+"/") ||
							strings.HasPrefix(dir+"/", real+"/") {
							continue
						}
						visited[real] = true
					}
					if err := folder(real, below+"/"); err != nil {
						return err
					}
					continue
				}
			}
			if !isFile || isOutput(base) || !IsCode(base) && (root.Holds == HoldsCode || root.Holds == HoldsLibrary) {
				continue
			}
			if file, err := look(path); err == nil {
				found(below, file)
			}
		}
		return err
	}
	real, err := filepath.EvalSymlinks(root.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return folder(real, "")
}

// Since is one of its files, except some, that was made or changed after a time; empty if
// none was.
func (root Root) Since(when time.Time, but func(path string) bool) (changed string) {
	_ = root.walk(nil, func(name string, file File) {
		if path := root.Dir + "/" + name; changed == "" && file.Changed > when.UnixNano() && !but(path) {
			changed = path
		}
	})
	return changed
}

// MayBeWritten reports whether a program that is started may write a file: it is no code.
func MayBeWritten(path string) bool { return !IsCode(path) && !isExecutable(path) }

func isOutput(name string) bool {
	return slices.Contains([]string{".log", ".pid", ".out", ".tmp"}, filepath.Ext(name))
}
