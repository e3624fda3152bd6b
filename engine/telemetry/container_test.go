package telemetry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestContainer(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	stats := "anon 5\ninactive_file 1000000000\ntotal_inactive_file 2000000000\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"systemd, version 2": {map[string]string{"sys/fs/cgroup/system.slice/docker-" + id + ".scope/": current}, 9},
		"version 2":          {map[string]string{"sys/fs/cgroup/docker/" + id + "/": current}, 9},
		"version 1":          {map[string]string{"sys/fs/cgroup/memory/docker/" + id + "/": usage}, 8},
		"systemd, version 1": {map[string]string{"sys/fs/cgroup/memory/system.slice/docker-" + id + ".scope/": usage}, 8},
		"rootless":           {map[string]string{"sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + id + ".scope/": current}, 9},
		"podman":             {map[string]string{"sys/fs/cgroup/machine.slice/libpod-" + id + ".scope/": current}, 9},
		"where its process is, version 2": {map[string]string{
			"proc/10/cgroup": "0::/a.slice/docker-" + id + ".scope/init\n", "sys/fs/cgroup/a.slice/docker-" + id + ".scope/": current,
		}, 9},
		"where its process is, version 1": {map[string]string{
			"proc/10/cgroup": "3:cpu:/x\n2:memory:/kube/" + id + "\n0::/x\n", "sys/fs/cgroup/memory/kube/" + id + "/": usage,
		}, 8},
	} {
		files := map[string]string{}
		for path, text := range test.files {
			if strings.HasSuffix(path, "/") {
				files[path+text], files[path+"memory.stat"] = "10000000000\n", stats
			} else {
				files[path] = text
			}
		}
		tp := newTape(time.Now())
		c := containerUse{root: machineOf(t, files), tape: tp}
		c.sample(id, []int{10})
		series, notes := tp.done()
		if m := find(series, measure.ContainerMemory, ""); len(m.Value) != 1 || m.Value[0] != test.want || len(notes) != 0 {
			t.Errorf("%s: %v, %q", name, m, notes)
		}
	}
	// It is there later than it is looked for, and is gone again.
	root := machineOf(t, nil)
	tp := newTape(time.Now())
	c := containerUse{root: root, tape: tp}
	c.sample(id, nil)
	if _, notes := tp.done(); len(notes) != 1 || !strings.Contains(notes[0], "no control group") {
		t.Errorf("not there: %q", notes)
	}
	folder := filepath.Join(root, "sys/fs/cgroup/docker", id)
	write(t, filepath.Join(folder, current), "7\n")
	c.looked = time.Time{}
	c.sample(id, nil)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	c.sample(id, nil)
	if series, notes := tp.done(); len(notes) != 0 || len(series) != 1 || len(series[0].At) != 1 {
		t.Errorf("%v, %q", series, notes)
	}
	for _, bad := range []string{"", "*", "../x", "docker", "ABC"} {
		if plainID(bad) {
			t.Errorf("%q can be an ID", bad)
		}
	}
}
