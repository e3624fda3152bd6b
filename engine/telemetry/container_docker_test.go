package telemetry

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/measure"
)

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
