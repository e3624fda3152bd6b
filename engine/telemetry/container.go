package telemetry

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// containerUse is the memory that a container's control group holds.
type containerUse struct {
	root string
	tape *tape
	// folder is the control group once it was found, name its file of memory in
	// use; of is the container that was looked for, and when.
	folder, name string
	of           string
	looked       time.Time
}

// Below /sys/fs/cgroup: where Docker and Podman put containers, with systemd or
// without, in version 2 and 1 of control groups.
var groups = []string{
	"system.slice/docker-ID.scope", "docker/ID", "machine.slice/libpod-ID.scope", "libpod_parent/libpod-ID",
	"user.slice/user-*.slice/user@*.service/user.slice/docker-ID.scope", "user.slice/user-*.slice/user@*.service/user.slice/libpod-ID.scope",
}

// sample takes one value. As docker stats has it, files that are only kept
// because nobody else needs the memory are not counted: an engine reads its
// weights through them.
func (c *containerUse) sample(id string, own []int) {
	if !plainID(id) {
		return
	}
	if c.folder == "" {
		if c.of == id && time.Since(c.looked) < ownEvery {
			return
		}
		c.of, c.looked = id, time.Now()
		if !c.find(id, own) {
			return
		}
	}
	now := time.Now()
	used, err := number(filepath.Join(c.folder, c.name))
	if err != nil {
		return // it has ended
	}
	used -= min(used, c.inactive())
	c.tape.add(measure.ContainerMemory, "", "GB", now, used/1e9)
}

// plainID reports whether a container's ID can be part of a path and of a
// pattern.
func plainID(id string) bool {
	return id != "" && strings.Trim(id, "0123456789abcdef") == ""
}

// inactive is the page cache that is only kept, in bytes.
func (c *containerUse) inactive() float64 {
	text, err := os.ReadFile(filepath.Join(c.folder, "memory.stat"))
	if err != nil {
		return 0
	}
	name := "inactive_file "
	if c.name != current {
		name = "total_inactive_file "
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return n
		}
	}
	return 0
}

// The files of memory in use, in version 2 and 1.
const (
	current = "memory.current"
	usage   = "memory.usage_in_bytes"
)

// find looks for the container's control group: where engines of containers put
// it, then where its processes say that they are.
func (c *containerUse) find(id string, own []int) bool {
	var folders []string
	for _, g := range groups {
		folders = append(folders, strings.ReplaceAll(g, "ID", id))
	}
	for _, pid := range own {
		text, err := os.ReadFile(c.root + "proc/" + strconv.Itoa(pid) + "/cgroup")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			cells := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(cells) == 3 && strings.Contains(cells[2], id) && (cells[1] == "" || strings.Contains(cells[1], "memory")) {
				folders = append(folders, upTo(cells[2], id))
			}
		}
	}
	for _, folder := range folders {
		for _, f := range []struct{ under, name string }{{"", current}, {"unified", current}, {"memory", usage}} {
			found, _ := filepath.Glob(filepath.Join(c.root, "sys/fs/cgroup", f.under, folder, f.name))
			if len(found) == 1 {
				c.folder, c.name = filepath.Dir(found[0]), f.name
				c.tape.untell("container")
				return true
			}
		}
	}
	c.tape.tell("container", "the memory of the container is not known: there is no control group of it below /sys/fs/cgroup")
	return false
}

// upTo cuts a path after the element that has the ID: what lies below is only a
// part of the container.
func upTo(path, id string) string {
	at := strings.Index(path, id)
	end := strings.IndexByte(path[at:], '/')
	if end < 0 {
		return path
	}
	return path[:at+end]
}

// inContainer reports whether a process is in the control group of a container.
func inContainer(pid int, id string) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return err == nil && strings.Contains(string(text), id)
}
