package machine

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine/source"
)

// Meter adds up the host memory of an engine's processes. The zero value is ready to use, also
// by several goroutines.
type Meter struct {
	mu sync.Mutex
	// inMemory tells by device which file systems lie in memory.
	inMemory map[uint64]uint32
	// pids are all processes so far: their System V segments outlive them.
	pids map[int]bool
	// shared is what was found when it was last searched for, and next when it may be again.
	shared int64
	next   time.Time
	// opened is memory of this process, or of a child, that one of them was seen to have open.
	opened string
}

// memoryFile is the memory of a process or a thread, see proc_pid_mem(5).
var memoryFile = regexp.MustCompile(`^/proc/(\d+)/(?:task/\d+/)?mem$`)

// Opened is memory of this process, or of one of its children, that one of the processes was seen
// to have open: "/proc/1234/mem"; empty if none was. One that was closed between two searches, and
// process_vm_readv(2), leave no trace.
func (m *Meter) Opened() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened
}

// Read is the memory of processes: what the kernel counts for each as its own or as a part
// of a mapped file on a disk, and once for all of them what lies in memory as a file, mapped
// or only open: memfds, files in /dev/shm and other tmpfs, System V segments, huge pages. The
// latter are searched for if search is set, but in at most a fiftieth of the time. peak is
// the highest resident set of any one since it started its program. Both are in bytes.
func (m *Meter) Read(pids []int, search bool) (now, peak int64) {
	resident := make(map[int]int64, len(pids)) // of files in memory
	for _, pid := range pids {
		status := readText("/proc/" + strconv.Itoa(pid) + "/status")
		bytes := func(name string) int64 {
			n, _ := kib(status, name)
			return n << 10
		}
		resident[pid] = bytes("RssShmem:") + bytes("HugetlbPages:")
		now += bytes("VmRSS:") - bytes("RssShmem:")
		peak = max(peak, bytes("VmHWM:"))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if start := time.Now(); search && !start.Before(m.next) {
		m.shared = m.search(pids, resident)
		m.next = start.Add(50 * time.Since(start))
	}
	return now + m.shared, peak
}

// inFiles is what a process has mapped of files that lie in memory, in bytes by file; hidden is
// set if it has more that no file shows: what this user may not see, or copies of huge pages.
type inFiles struct {
	mapped map[source.FileID]int64
	hidden bool
}

// search adds up the files that lie in memory, each once; resident is how much of them each
// process has mapped. Where nothing shows the size of a file, as of one without a name and a
// descriptor, it is the rest of what is resident in the process where most is.
func (m *Meter) search(pids []int, resident map[int]int64) (sum int64) {
	if m.pids == nil {
		m.inMemory, m.pids = map[uint64]uint32{}, map[int]bool{}
	}
	sizes := map[source.FileID]int64{} // those known
	processes := map[int]inFiles{}
	attached := map[source.FileID]bool{}
	for _, pid := range pids {
		m.pids[pid] = true
		processes[pid] = m.filesOf(pid, sizes)
		for file := range processes[pid].mapped {
			attached[file] = true
		}
	}
	for file, s := range segments() {
		if attached[file] || m.pids[s.creator] {
			sizes[file] = s.bytes
		}
	}
	for _, bytes := range sizes {
		sum += bytes
	}
	counted := map[source.FileID]bool{}
	mostFirst := func(a, b int) int { return cmp.Compare(resident[b], resident[a]) }
	for _, pid := range slices.SortedFunc(slices.Values(pids), mostFirst) {
		rest, unknown := resident[pid], processes[pid].hidden
		for file, length := range processes[pid].mapped {
			if bytes, known := sizes[file]; known {
				rest -= min(bytes, length)
			} else if !counted[file] {
				counted[file], unknown = true, true
			}
		}
		if unknown {
			sum += max(0, rest)
		}
	}
	return sum
}

// filesOf is what a process has of files that lie in memory. It adds the sizes that are shown.
func (m *Meter) filesOf(pid int, sizes map[source.FileID]int64) inFiles {
	held, shown := source.OpenFiles(pid)
	own := inFiles{map[source.FileID]int64{}, !shown}
	for _, h := range held {
		if of := memoryFile.FindStringSubmatch(h.Path); of != nil {
			stat, _ := ReadStat("/proc/" + of[1] + "/stat")
			if self := os.Getpid(); of[1] == strconv.Itoa(self) || stat.Parent == self {
				m.opened = h.Path
			}
		}
		in := m.fileSystem(pid, h)
		switch {
		case strings.HasPrefix(h.Path, "/SYSV"):
			h.File.Dev = 0 // the numbers of segments are their own
		case in == 0:
			continue
		case in == hugetlbfs && strings.HasSuffix(h.Mapped, "p"):
			own.hidden = true
			continue
		}
		if h.FD != "" {
			sizes[h.File] = h.Kept
			continue
		}
		own.mapped[h.File] += h.Length
		for _, path := range []string{h.Entry, "/proc/" + strconv.Itoa(pid) + "/root" + h.Path} {
			if file, kept, ok := source.Stat(path); ok && file == h.File {
				sizes[file] = kept
			}
		}
	}
	return own
}

// The file systems that lie in memory, see statfs(2).
const tmpfs, ramfs, hugetlbfs uint32 = 0x01021994, 0x858458f6, 0x958458f6

// fileSystem is the one in memory that a process's file lies in, 0 if it is on a disk.
func (m *Meter) fileSystem(pid int, h source.OpenFile) uint32 {
	if unix.Major(h.File.Dev) != 0 {
		return 0 // a block device's
	}
	if in, known := m.inMemory[h.File.Dev]; known {
		return in
	}
	at := h.Entry
	if h.FD == "" { // map_files is not shown to every user
		switch {
		case strings.HasPrefix(h.Path, "/memfd:"), strings.HasPrefix(h.Path, "/dev/zero (deleted)"):
			return tmpfs
		case strings.HasPrefix(h.Path, "/anon_hugepage"):
			return hugetlbfs
		}
		at = "/proc/" + strconv.Itoa(pid) + "/root" + filepath.Dir(h.Path)
	}
	var fs unix.Statfs_t
	if unix.Statfs(at, &fs) == nil {
		m.inMemory[h.File.Dev] = 0
		if in := uint32(fs.Type); in == tmpfs || in == ramfs || in == hugetlbfs {
			m.inMemory[h.File.Dev] = in
		}
	}
	return m.inMemory[h.File.Dev]
}

// segment is a System V segment: who made it, and the bytes in memory and in swap.
type segment struct {
	creator int
	bytes   int64
}

// segments are this machine's System V segments, by the numbers that they are mapped
// under.
func segments() map[source.FileID]segment {
	all := map[source.FileID]segment{}
	text, _ := os.ReadFile("/proc/sysvipc/shm")
	for line := range strings.Lines(string(text)) {
		cells := strings.Fields(line)
		if len(cells) < 16 || cells[0] == "key" {
			continue
		}
		id, _ := strconv.ParseUint(cells[1], 10, 64)
		creator, _ := strconv.Atoi(cells[4])
		resident, _ := strconv.ParseInt(cells[14], 10, 64)
		swapped, _ := strconv.ParseInt(cells[15], 10, 64)
		all[source.FileID{Inode: id}] = segment{creator, resident + swapped}
	}
	return all
}
