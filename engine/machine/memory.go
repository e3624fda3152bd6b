package machine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Held is a file that a process has mapped or open.
type Held struct {
	// Path is where the process sees it; " (deleted)" follows if it is not there any more.
	Path string
	// Mapped is how a part of it is mapped, such as "r-xp"; FD is its descriptor if it is
	// open.
	Mapped, FD string
}

// Holds are the regular files that a process has mapped or open, see proc_pid_maps(5); false
// if that is not shown to this user.
func Holds(pid int) (held []Held, shown bool) {
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	maps, mapsErr := os.ReadFile(proc + "maps")
	for line := range strings.Lines(string(maps)) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6) // addresses, how, offset, device, inode, path
		if len(cells) == 6 && cells[4] != "0" {
			held = append(held, Held{Path: strings.TrimLeft(cells[5], " "), Mapped: cells[1]})
		}
	}
	open, openErr := os.ReadDir(proc + "fd")
	for _, fd := range open {
		path, _ := os.Readlink(proc + "fd/" + fd.Name())
		if !filepath.IsAbs(path) {
			continue // a socket, or a pipe
		}
		if info, err := os.Stat(proc + "fd/" + fd.Name()); err == nil && info.Mode().IsRegular() {
			held = append(held, Held{Path: path, FD: fd.Name()})
		}
	}
	return held, mapsErr == nil && openErr == nil
}

// Meter adds up the host memory of an engine's processes. The zero value is ready to use, also
// by several goroutines.
type Meter struct {
	mu sync.Mutex
	// shared is what was found when it was last searched for, and next when it may be again.
	shared int64
	next   time.Time
}

// Read is the memory of processes: what the kernel counts for each as its own or as a part
// of a mapped file on a disk, and once for all of them the shared memory that they have
// mapped (memfds, files in /dev/shm, System V segments) and huge pages. The latter are
// searched for if search is set, but in at most a fiftieth of the time: the kernel walks
// the page tables. peak is the highest resident set of any one since it started its
// program. Both are in bytes.
func (m *Meter) Read(pids []int, search bool) (now, peak int64) {
	var most int64
	for _, pid := range pids {
		status := readText("/proc/" + strconv.Itoa(pid) + "/status")
		resident, _ := kib(status, "VmRSS:")
		shared, _ := kib(status, "RssShmem:")
		highest, _ := kib(status, "VmHWM:")
		now += (resident - shared) << 10
		most, peak = max(most, shared<<10), max(peak, highest<<10)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if start := time.Now(); search && !start.Before(m.next) {
		m.shared = sharedBy(pids)
		m.next = start.Add(50 * time.Since(start))
	}
	return now + max(m.shared, most), peak
}

// sharedBy is the shared memory and the huge pages of processes, in bytes. Each page counts
// in each process by the part that is its share (PSS); of processes that this user may not
// look into, those of the one that has most.
func sharedBy(pids []int) int64 {
	var sum, common, unseen int64
	for _, pid := range pids {
		proc := "/proc/" + strconv.Itoa(pid)
		rollup := readText(proc + "/smaps_rollup")
		if rollup == "" {
			status := readText(proc + "/status")
			shared, _ := kib(status, "RssShmem:")
			huge, _ := kib(status, "HugetlbPages:")
			unseen = max(unseen, shared+huge)
			continue
		}
		shared, _ := kib(rollup, "Pss_Shmem:")
		huge, _ := kib(rollup, "Private_Hugetlb:")
		hugeOfMany, _ := kib(rollup, "Shared_Hugetlb:")
		sum, common = sum+shared+huge, max(common, hugeOfMany)
	}
	return (sum + common + unseen) << 10
}
