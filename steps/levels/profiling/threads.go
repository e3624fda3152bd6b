package profiling

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/trace"
)

// threadsOf is how long each thread of processes has been on a CPU so far, in µs by its name,
// by the operating system: without a profiler that slows it down, and for profiles without
// the host's side. A process or thread that ends meanwhile is left out; without the
// schedstat of Linux there are none.
func threadsOf(proc string, pids ...int) map[string]float64 {
	all := map[string]float64{}
	for _, pid := range pids {
		folders, _ := filepath.Glob(filepath.Join(proc, strconv.Itoa(pid), "task", "*"))
		for _, folder := range folders {
			name, err1 := os.ReadFile(filepath.Join(folder, "comm"))
			used, err2 := os.ReadFile(filepath.Join(folder, "schedstat"))
			first, _, _ := strings.Cut(string(used), " ")
			ns, err3 := strconv.ParseInt(first, 10, 64)
			if cmp.Or(err1, err2, err3) == nil {
				all[fmt.Sprintf("%s, thread %s", strings.TrimSpace(string(name)), filepath.Base(folder))] = float64(
					ns) / 1e3
			}
		}
	}
	return all
}

// threadTimes is how long each thread was busy since an earlier time, busiest first. One that
// started since counts from its start; one that ended is unknown.
func threadTimes(before, now map[string]float64) (busy []trace.Thread) {
	for name, us := range now {
		if us >= before[name] { // or it is another with the same number
			us -= before[name]
		}
		if us > 0 {
			busy = append(busy, trace.Thread{Name: name, Total: us})
		}
	}
	slices.SortFunc(busy, func(a, b trace.Thread) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return busy
}
