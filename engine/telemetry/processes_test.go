package telemetry

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/measure"
)

func TestOccupants(t *testing.T) {
	holds := func(pid int, on string, mib float64, name string) gpu.Process {
		return gpu.Process{PID: pid, GPU: on, MiB: &mib, Name: name}
	}
	engine, worker := holds(10, "a", 3000, "python3"), holds(11, "b", 4000, "python3")
	for _, test := range []struct {
		name string
		// looks are what nvidia-smi shows, one look after the other.
		looks [][]gpu.Process
		none  bool // the engine's processes are unknown
		used  map[string]float64
		// foreign on a and b after the last look, -1 for unknown.
		a, b int
		said string
	}{
		{"the engine alone", [][]gpu.Process{{engine, worker}}, false, map[string]float64{"a": 3500, "b": 4500}, 0, 0, ""},
		{"a stranger", [][]gpu.Process{{engine, worker, holds(20, "b", 1, "x")}}, false, nil, 0, 1, "process 20 (x) holds 1 MiB"},
		{"two strangers", [][]gpu.Process{{engine, worker, holds(20, "b", 1, "x"), holds(21, "b", 1, "x")}}, false, nil, 0, 2, ""},
		{"on no GPU in particular", [][]gpu.Process{{engine, worker, {PID: 20}}}, false, nil, 1, 1, "an unknown amount"},
		{"on a GPU that is not the engine's", [][]gpu.Process{{engine, worker, holds(20, "c", 1, "x")}}, false, nil, 0, 0, ""},
		{"tolerated", [][]gpu.Process{{engine, worker, holds(20, "a", 1, "/usr/bin/Xorg"), holds(21, "a", 1, "watcher")}}, false, nil, 0, 0, ""},
		{"about to be gone", [][]gpu.Process{{engine, worker, holds(99, "a", 1, "x")}}, false, nil, 0, 0, ""},
		{"in another container", [][]gpu.Process{{engine, worker, holds(99, "a", 1, "x")}, {engine, worker, holds(99, "a", 1, "x")}}, false, nil, 1, 0, "does not exist where mxflow runs"},
		{"memory for a moment", [][]gpu.Process{{engine, worker}}, false, map[string]float64{"a": 9000, "b": 4000}, 0, 0, ""},
		{"memory of nobody", [][]gpu.Process{{engine, worker}, {engine, worker}}, false, map[string]float64{"a": 9000, "b": 4000}, 1, 0, "6000 MiB not attributed to any process"},
		{"before the engine is there", [][]gpu.Process{nil}, false, map[string]float64{"a": 3, "b": 3}, 0, 0, ""},
		{"nothing is shown", [][]gpu.Process{nil}, false, map[string]float64{"a": 9000, "b": 3}, -1, 0, "none of the engine's processes"},
		{"nothing is shown of shared memory", [][]gpu.Process{nil}, false, nil, -1, -1, "none of the engine's processes"},
		{"other numbers are shown", [][]gpu.Process{{holds(99, "a", 3000, "x")}, {holds(99, "a", 3000, "x")}}, false, map[string]float64{"a": 3100, "b": 0}, -1, 0, "none of the engine's processes"},
		{"nobody knows the engine", [][]gpu.Process{{engine, holds(20, "a", 1, "x")}}, true, nil, -2, -2, ""},
	} {
		own := []int{10, 11}
		if test.none {
			own = nil
		}
		o := occupants{gpus: []string{"a", "b"}, ignore: []string{"watch*"}, idle: 1024, kin: func(pid int, own []int, _ string) relation {
			switch {
			case slices.Contains(own, pid):
				return kindred
			case pid == 99:
				return missing
			}
			return foreign
		}}
		var views map[string]view
		for _, list := range test.looks {
			views = o.look(list, own, "", test.used)
		}
		got := func(uuid string) (int, string) {
			v, ok := views[uuid]
			if !ok {
				return -2, ""
			}
			return v.foreign, strings.Join(v.who, "; ") + v.why
		}
		a, saidA := got("a")
		b, saidB := got("b")
		if a != test.a || b != test.b || !strings.Contains(saidA+saidB, test.said) {
			t.Errorf("%s: %d and %d, %q %q", test.name, a, b, saidA, saidB)
		}
	}
	// An unknown amount makes the sum unknown.
	o := occupants{gpus: []string{"a"}, kin: func(int, []int, string) relation { return kindred }}
	if v := o.look([]gpu.Process{engine, {PID: 11, GPU: "a"}}, []int{10}, "", nil)["a"]; v.ownMiB != nil || v.foreign != 0 {
		t.Errorf("got %+v", v)
	}
	if v := o.look([]gpu.Process{engine, worker}, []int{10}, "", nil)["a"]; v.ownMiB == nil || *v.ownMiB != 3000 {
		t.Errorf("got %+v", v)
	}
}

func TestKinship(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc: ", err)
	}
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	gone := child.Process.Pid
	own := []int{os.Getpid()}
	if got := kinship(gone, own, ""); got != kindred {
		t.Errorf("a child is %v", got)
	}
	if got := kinship(os.Getppid(), own, ""); got != foreign {
		t.Errorf("the parent is %v", got)
	}
	child.Process.Kill()
	child.Wait()
	if got := kinship(gone, own, ""); got != missing {
		t.Errorf("what has ended is %v", got)
	}
	for _, pid := range []int{0, -1} {
		if got := kinship(pid, own, ""); got != missing {
			t.Errorf("process %d is %v", pid, got)
		}
	}
}

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
	// It appears only after the first look, and disappears again.
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

// TestRealContainer reads the memory of a container that docker started.
func TestRealContainer(t *testing.T) {
	docker := func(in string, args ...string) (string, error) {
		cmd := exec.Command("docker", args...)
		if in != "" {
			f, err := os.Open(in)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd.Stdin = f
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = errors.New(string(out))
		}
		return strings.TrimSpace(string(out)), err
	}
	_, err := docker("", "version")
	enginetest.Require(t, "docker", err)
	busybox, err := exec.LookPath("busybox")
	enginetest.Require(t, "docker", err)
	image := filepath.Join(t.TempDir(), "image.tar")
	if out, err := exec.Command("tar", "-chf", image, "-C", filepath.Dir(busybox), filepath.Base(busybox)).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	name, err := docker(image, "import", "-", "mxflow-telemetry-test:"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer docker("", "rmi", "-f", name)
	// 64 MiB that the process holds itself.
	id, err := docker("", "run", "-d", "--network", "none", name, "/busybox", "sh", "-c",
		`a=$(/busybox head -c 67108864 /dev/zero | /busybox tr '\0' x); /busybox sleep 600; echo $a`)
	if err != nil {
		t.Fatal(err)
	}
	defer docker("", "rm", "-f", id)
	leader, err := docker("", "inspect", "-f", "{{.State.Pid}}", id)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(leader)
	if !inContainer(pid, id) || inContainer(os.Getpid(), id) {
		t.Errorf("process %d is not seen in its container", pid)
	}
	if got := kinship(pid, []int{os.Getpid()}, id); got != kindred {
		t.Errorf("a process of the container is %v", got)
	}
	r := begin(t, Config{Host: true, Every: 10 * time.Millisecond, Container: id, Own: func() []int { return []int{pid} }})
	large := func() bool {
		r.tape.mu.Lock()
		defer r.tape.mu.Unlock()
		s := r.tape.series[track{measure.ContainerMemory, ""}]
		return s != nil && s.Value[len(s.Value)-1] > 0.06
	}
	until(t, r, func() bool { return large() || r.told("container") })
	series, notes := r.Stop()
	if len(notes) != 0 {
		t.Errorf("notes: %q", notes)
	}
	if m := find(series, measure.ContainerMemory, ""); len(m.Value) == 0 || m.Value[len(m.Value)-1] > 1 {
		t.Errorf("the container holds %v", m.Value)
	}
	if c := find(series, measure.EngineCPU, ""); len(c.At) == 0 {
		t.Error("the container's process was not seen")
	}
}
