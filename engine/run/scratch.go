package run

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine/machine"
)

// scratch is what lies in the folders that every program may leave files in, by its path:
// shared memory, and temporary files of mxflow and of the engine.
func scratch(env []string) map[string]bool {
	found := map[string]bool{}
	for _, dir := range []string{"/dev/shm", os.TempDir(), lastEnv(env, "TMPDIR")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			found[filepath.Join(dir, e.Name())] = true
		}
	}
	return found
}

// leastLeft is the least that a temporary file holds to be named, in bytes.
const leastLeft = 1 << 20

// LeftFiles implements engine.Leaver. Files are the engine's if they were made while it ran,
// belong to its user, and no process that still runs has them mapped or open.
func (p *process) LeftFiles() (paths []string, bytes int64) {
	sizes := map[string]int64{}
	for path := range scratch(p.env) {
		if p.scratch[path] || strings.HasPrefix(filepath.Base(path), "mxflow") {
			continue
		}
		_ = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err == nil && d.Type().IsRegular() && unix.Lstat(file, &st) == nil && int(st.Uid) == os.Getuid() {
				sizes[path] += st.Blocks * 512
			}
			return nil
		})
	}
	// Other programs leave small things all the time.
	maps.DeleteFunc(sizes, func(path string, size int64) bool { return size < leastLeft && !strings.HasPrefix(path, "/dev/shm/") })
	var running []string
	if len(sizes) > 0 {
		running, _ = filepath.Glob("/proc/[0-9]*")
	}
	for _, proc := range running {
		pid, _ := strconv.Atoi(filepath.Base(proc))
		held, _ := machine.Holds(pid)
		for _, h := range held {
			for path := range sizes {
				if h.Path == path || strings.HasPrefix(h.Path, path+"/") {
					delete(sizes, path)
				}
			}
		}
	}
	for path, size := range sizes {
		paths, bytes = append(paths, path), bytes+size
	}
	slices.Sort(paths)
	return paths, bytes
}
