package machine

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

// machineOf is a folder that stands for "/".
func machineOf(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir() + "/"
	for path, text := range files {
		write(t, root+path, text)
	}
	return root
}

func TestHost(t *testing.T) {
	root := machineOf(t, map[string]string{
		"proc/stat":    "cpu  100 10 40 1000 50 5 5 10 90 0\ncpu0 1 2 3\nintr 7\n",
		"proc/meminfo": "MemTotal:       1000000 kB\nMemFree:          1 kB\nMemAvailable:    250000 kB\n",
		"proc/10/stat": stat10("S", 200, 100, 7),
		"proc/11/stat": stat10("R", 50, 0, 8),
	})
	tp := still()
	h := newHost(root, tp)
	h.sample([]int{10, 11, 12}, false)
	// 20 ticks of 80 were busy; a process ended, and another got its PID.
	write(t, root+"proc/stat", "cpu  110 10 45 1050 60 5 5 15 95 0\n")
	write(t, root+"proc/10/stat", stat10("S", 300, 100, 7))
	write(t, root+"proc/11/stat", stat10("R", 5, 0, 9))
	h.sample([]int{10, 11, 12}, false)
	series, notes := tp.result()
	sound(t, series)
	for name, want := range map[string][]float64{
		measure.HostCPU:    {20.0 / 80},
		measure.HostMemory: {750000 * 1024 / 1e9, 750000 * 1024 / 1e9},
		measure.EngineCPU:  {3.5, 4.55},
	} {
		if got := find(series, name, "").Value; !slices.EqualFunc(got, want, func(a, b float64) bool {
			return math.Abs(a-b) < 1e-9
		}) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if len(notes) != 0 {
		t.Errorf("notes: %q", notes)
	}
}

// stat10 is a /proc/PID/stat of a process with an awkward name.
func stat10(state string, user, system, start int) string {
	return "10 (a) b (c) " + state + " 1 10 10 0 -1 0 0 0 0 0 " + strconv.Itoa(user) + " " + strconv.Itoa(system) +
		" 9 9 20 0 1 0 " + strconv.Itoa(start) + " 123456 1000 18446744073709551615 0 0\n"
}

func TestHostWithoutAnything(t *testing.T) {
	tp := still()
	for _, files := range []map[string]string{
		nil,
		{"proc/stat": "", "proc/meminfo": "MemTotal: x kB\nMemAvailable: 1 kB\n", "proc/10/stat": "10 (x) S 1"},
		{"proc/stat": "cpu 1 2 3\n", "proc/10/stat": "10"},
		{"proc/stat": "cpu a b c d e f\n", "proc/10/stat": ""},
	} {
		h := newHost(machineOf(t, files), tp)
		h.sample([]int{10}, false)
		h.sample([]int{10}, false)
	}
	if series, notes := tp.result(); len(series) != 0 || len(notes) != 0 {
		t.Errorf("%v, %q", series, notes)
	}
}
