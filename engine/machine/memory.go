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
)

// OpenFile is a file that a process has mapped or open.
type OpenFile struct {
	File FileID
	// Path is where the process sees it; " (deleted)" follows if it is not there any more.
	Path string
	// Mapped is how a part of it is mapped, such as "r-xp", and Length how many bytes;
	// FD is its descriptor if it is open, and kept how many bytes are kept for it. entry is
	// its link below /proc/PID.
	Mapped string
	Length int64
	FD     string
	kept   int64
	entry  string
}

// FileID identifies a file, whatever it is called.
type FileID struct{ dev, inode uint64 }

// Holds are the regular files that a process has mapped or open, see proc_pid_maps(5); false
// if that is not shown to this user.
func Holds(pid int) (held []OpenFile, shown bool) {
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	maps, mapsErr := os.ReadFile(proc + "maps")
	for line := range strings.Lines(string(maps)) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6) // addresses, how, offset, device, inode, path
		if len(cells) < 6 || cells[4] == "0" {
			continue
		}
		low, high, _ := strings.Cut(cells[0], "-")
		major, minor, _ := strings.Cut(cells[3], ":")
		dev := unix.Mkdev(uint32(hexadecimal(major)), uint32(hexadecimal(minor)))
		inode, _ := strconv.ParseUint(cells[4], 10, 64)
		held = append(held, OpenFile{
			File: FileID{dev, inode}, Path: strings.TrimLeft(cells[5], " "), Mapped: cells[1],
			Length: int64(hexadecimal(high) - hexadecimal(low)), entry: "map_files/" + cells[0],
		})
	}
	open, openErr := os.ReadDir(proc + "fd")
	for _, fd := range open {
		entry := "fd/" + fd.Name()
		path, _ := os.Readlink(proc + entry)
		if !filepath.IsAbs(path) {
			continue // a socket, or a pipe
		}
		if id, kept, ok := stat(proc + entry); ok {
			held = append(held, OpenFile{File: id, Path: path, FD: fd.Name(), kept: kept, entry: entry})
		}
	}
	return held, mapsErr == nil && openErr == nil
}

func hexadecimal(text string) uint64 {
	n, _ := strconv.ParseUint(text, 16, 64)
	return n
}

// stat is which regular file is at a path, and how many bytes are kept for it.
func stat(path string) (id FileID, bytes int64, ok bool) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return id, 0, false
	}
	return FileID{uint64(st.Dev), st.Ino}, st.Blocks * 512, true
}

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
	inFiles := make(map[int]int64, len(pids))
	for _, pid := range pids {
		status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		kib := map[string]int64{}
		for line := range strings.Lines(string(status)) {
			if name, value, ok := strings.Cut(line, ":"); ok {
				kib[name], _ = strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, " kB\n")), 10, 64)
			}
		}
		inFiles[pid] = (kib["RssShmem"] + kib["HugetlbPages"]) << 10
		now += (kib["VmRSS"] - kib["RssShmem"]) << 10
		peak = max(peak, kib["VmHWM"]<<10)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if start := time.Now(); search && !start.Before(m.next) {
		m.shared = m.search(pids, inFiles)
		m.next = start.Add(50 * time.Since(start))
	}
	return now + m.shared, peak
}

// search adds up the files that lie in memory. The size of one that has neither a name nor a
// descriptor is not shown to every user: it is what is resident of it in the process where
// most is.
func (m *Meter) search(pids []int, resident map[int]int64) (sum int64) {
	if m.pids == nil {
		m.inMemory, m.pids = map[uint64]uint32{}, map[int]bool{}
	}
	sizes := map[FileID]int64{}
	mapped := map[int]map[FileID]int64{}
	for _, pid := range pids {
		m.pids[pid] = true
		held, shown := Holds(pid)
		mapped[pid] = map[FileID]int64{}
		its := FileID{^uint64(0), uint64(pid)} // whatever this process alone has
		if !shown {
			mapped[pid][its] = 0
		}
		proc := "/proc/" + strconv.Itoa(pid)
		for _, h := range held {
			if of := memoryFile.FindStringSubmatch(h.Path); of != nil {
				stat, _ := ReadStat("/proc/" + of[1] + "/stat")
				if self := os.Getpid(); of[1] == strconv.Itoa(self) || stat.Parent == self {
					m.opened = h.Path
				}
			}
			switch lies := m.liesIn(proc, h); {
			case strings.HasPrefix(h.Path, sysV):
				h.File.dev = 0 // their numbers are their own
			case lies == 0:
				continue
			case lies == hugetlbfs && strings.HasSuffix(h.Mapped, "p"):
				mapped[pid][its] = 0 // a copy, which its file does not show
				continue
			}
			if h.FD != "" {
				sizes[h.File] = h.kept
				continue
			}
			mapped[pid][h.File] += h.Length
			for _, path := range []string{proc + "/" + h.entry, proc + "/root" + h.Path} {
				if id, kept, ok := stat(path); ok && id == h.File {
					sizes[h.File] = kept
				}
			}
		}
	}
	for id, s := range segments() {
		attached := slices.ContainsFunc(pids, func(pid int) bool { return mapped[pid][id] > 0 })
		if attached || m.pids[s.creator] {
			sizes[id] = s.bytes
		}
	}
	for _, bytes := range sizes {
		sum += bytes
	}
	counted := map[FileID]bool{}
	most := func(a, b int) int { return cmp.Compare(resident[b], resident[a]) }
	for _, pid := range slices.SortedFunc(slices.Values(pids), most) {
		rest, more := resident[pid], false
		for id, length := range mapped[pid] {
			if bytes, known := sizes[id]; known {
				rest -= min(bytes, length)
			} else {
				more = more || !counted[id]
				counted[id] = true
			}
		}
		if more {
			sum += max(0, rest)
		}
	}
	return sum
}

// The file systems that lie in memory, see statfs(2).
const tmpfs, ramfs, hugetlbfs uint32 = 0x01021994, 0x858458f6, 0x958458f6

// liesIn is the file system in memory that a file lies in, 0 if it is on a disk.
func (m *Meter) liesIn(proc string, h OpenFile) uint32 {
	if unix.Major(h.File.dev) != 0 {
		return 0 // a block device's
	}
	if is, known := m.inMemory[h.File.dev]; known {
		return is
	}
	at := proc + "/" + h.entry
	if h.FD == "" {
		switch {
		case strings.HasPrefix(h.Path, "/memfd:"), strings.HasPrefix(h.Path, "/dev/zero (deleted)"):
			return tmpfs
		case strings.HasPrefix(h.Path, "/anon_hugepage"):
			return hugetlbfs
		}
		at = proc + "/root" + filepath.Dir(h.Path)
	}
	var fs unix.Statfs_t
	if unix.Statfs(at, &fs) == nil {
		m.inMemory[h.File.dev] = 0
		if is := uint32(fs.Type); is == tmpfs || is == ramfs || is == hugetlbfs {
			m.inMemory[h.File.dev] = is
		}
	}
	return m.inMemory[h.File.dev]
}

// sysV is how the names of mapped System V segments start.
const sysV = "/SYSV"

// segment is a System V segment: who made it, and the bytes in memory and in swap.
type segment struct {
	creator int
	bytes   int64
}

// segments are this machine's System V segments, by the numbers that they are mapped
// under.
func segments() map[FileID]segment {
	all := map[FileID]segment{}
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
		all[FileID{inode: id}] = segment{creator, resident + swapped}
	}
	return all
}
