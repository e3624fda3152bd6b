package docker

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
)

// cgroup is the kernel's account of a container.
type cgroup struct {
	// dir is its folder; empty if it cannot be seen from here.
	dir string
	v1  bool
	// cached is the maximum that reclaimable files took, v1's only.
	cached *engine.Peak
}

// cgroupOf finds the cgroup of a container by its first process, and only if that is this
// machine's: the daemon's numbers may belong to another namespace.
func cgroupOf(pid int, id string) cgroup {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return cgroup{}
	}
	var found cgroup
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || !strings.Contains(f[2], id) {
			continue
		}
		switch {
		case strings.Contains(","+f[1]+",", ",memory,"):
			return cgroup{dir: filepath.Join("/sys/fs/cgroup/memory", f[2]), v1: true, cached: new(engine.Peak)}
		case f[1] == "":
			found.dir = filepath.Join("/sys/fs/cgroup", f[2])
		}
	}
	if found.dir == "" {
		return cgroup{}
	}
	if _, err := os.Stat(filepath.Join(found.dir, "memory.current")); err != nil {
		return cgroup{}
	}
	return found
}

// bytes is the memory in use without cached files, or, if larger, the maximum ever in use
// less the maximum that such files ever took: a spike between two samples. Only cgroup v1
// has that mark for certain; it includes files, whose size at the time is unknown.
func (c cgroup) bytes() int64 {
	if !c.v1 {
		used := c.number("memory.current", "")
		return used - min(used, c.number("memory.stat", "inactive_file"))
	}
	used := c.number("memory.usage_in_bytes", "")
	files := min(used, c.number("memory.stat", "total_inactive_file"))
	c.cached.Raise(files)
	return max(used-files, c.number("memory.max_usage_in_bytes", "")-c.cached.Load())
}

// number reads a file that is a number, or the line of it with that name.
func (c cgroup) number(file, name string) int64 {
	text, _ := os.ReadFile(filepath.Join(c.dir, file))
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 0 && (name == "" || f[0] == name) {
			n, _ := strconv.ParseInt(f[len(f)-1], 10, 64)
			return n
		}
	}
	return 0
}

// pids are the processes in it, and in those below it.
func (c cgroup) pids() (list []int) {
	if c.dir == "" {
		return nil
	}
	_ = filepath.WalkDir(c.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "cgroup.procs" {
			return nil
		}
		text, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				list = append(list, pid)
			}
		}
		return nil
	})
	return list
}
