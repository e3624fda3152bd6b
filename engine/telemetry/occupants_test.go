package telemetry

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/gpu"
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
		none  bool // the engine's processes are not known
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
		{"memory of nobody", [][]gpu.Process{{engine, worker}, {engine, worker}}, false, map[string]float64{"a": 9000, "b": 4000}, 1, 0, "6000 MiB that no process accounts for"},
		{"before the engine is there", [][]gpu.Process{nil}, false, map[string]float64{"a": 3, "b": 3}, 0, 0, ""},
		{"nothing is shown", [][]gpu.Process{nil}, false, map[string]float64{"a": 9000, "b": 3}, -1, 0, "none of the engine's own"},
		{"nothing is shown of shared memory", [][]gpu.Process{nil}, false, nil, -1, -1, "none of the engine's own"},
		{"other numbers are shown", [][]gpu.Process{{holds(99, "a", 3000, "x")}, {holds(99, "a", 3000, "x")}}, false, map[string]float64{"a": 3100, "b": 0}, -1, 0, "none of the engine's own"},
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
	// An amount that is not known makes the sum unknown.
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
