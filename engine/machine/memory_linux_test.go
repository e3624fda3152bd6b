package machine

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// held is how much a process of TestMemory holds.
const held = 64 << 20

// A process of TestMemory holds memory until its input ends, or reads how much others hold.
func init() {
	roles["MXFLOW_TEST_HOLD"] = func(how string) {
		if how != "read" {
			hold(how)
			fmt.Println("ready")
			_, _ = io.Copy(io.Discard, os.Stdin)
			return
		}
		var pids []int
		for _, arg := range os.Args[1:] {
			pid, _ := strconv.Atoi(arg)
			pids = append(pids, pid)
		}
		now, _ := (&Meter{}).Read(pids, true)
		fmt.Println(now)
	}
}

var kept []byte

func hold(how string) {
	fill := func(fd, flags int) {
		var err error
		if kept, err = unix.Mmap(fd, 0, held, unix.PROT_READ|unix.PROT_WRITE, flags); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for i := 0; i < held; i += 4096 {
			kept[i]++
		}
	}
	write := func(fd int) {
		for page := make([]byte, 1<<20); ; {
			if n, _ := unix.Seek(fd, 0, io.SeekCurrent); n >= held {
				return
			}
			if _, err := unix.Write(fd, page); err != nil {
				os.Exit(1)
			}
		}
	}
	var fd int
	switch how {
	case "nothing":
	case "private":
		fill(-1, unix.MAP_PRIVATE|unix.MAP_ANON)
	case "shared":
		fill(-1, unix.MAP_SHARED|unix.MAP_ANON)
	case "huge":
		fill(-1, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_HUGETLB)
	case "memfd":
		fd, _ = unix.MemfdCreate("weights", 0)
		write(fd)
	case "file", "unlinked", "mapped":
		name := fmt.Sprintf("/dev/shm/mxflow-test-%d", os.Getpid())
		fd, _ = unix.Open(name, unix.O_RDWR|unix.O_CREAT, 0o600)
		write(fd)
		switch {
		case how == "mapped":
			fill(fd, unix.MAP_SHARED)
			_ = unix.Close(fd)
		case how == "unlinked":
			_ = unix.Unlink(name)
		}
	case "inherited": // descriptor 3 is a memfd; it is mapped, and closed
		_ = unix.Ftruncate(3, held)
		fill(3, unix.MAP_SHARED)
		_ = unix.Close(3)
	case "segment":
		id, _ := unix.SysvShmGet(unix.IPC_PRIVATE, held, unix.IPC_CREAT|0o600)
		memory, _ := unix.SysvShmAttach(id, 0, 0)
		for i := 0; i < held; i += 4096 {
			memory[i] = 1
		}
		_ = unix.SysvShmDetach(memory)
		fmt.Println(id)
	}
}

// TestMemory: what an engine holds counts once, wherever it lies, for root and for users who may not see all.
func TestMemory(t *testing.T) {
	users := []uint32{uint32(os.Getuid())}
	if users[0] == 0 {
		users = append(users, 65534)
	}
	run := func(uid uint32, how string, memfd *os.File, args ...string) (*exec.Cmd, io.Closer, *bufio.Reader) {
		cmd := exec.Command("/proc/self/exe", args...)
		cmd.Env = []string{"MXFLOW_TEST_HOLD=" + how}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
			Uid: uid, Gid: uid,
			NoSetGroups: os.Getuid() != 0,
		}}
		if memfd != nil {
			cmd.ExtraFiles = []*os.File{memfd}
		}
		in, err := cmd.StdinPipe()
		must.Do(t, err)
		out, err := cmd.StdoutPipe()
		must.Do(t, err)
		must.Do(t, cmd.Start())
		return cmd, in, bufio.NewReader(out)
	}
	read := func(uid uint32, pids []string) int {
		cmd, _, out := run(uid, "read", nil, pids...)
		text, _ := out.ReadString('\n')
		_ = cmd.Wait()
		n, err := strconv.Atoi(strings.TrimSpace(text))
		must.Do(t, err)
		return n
	}
	for _, uid := range users {
		for _, how := range []string{
			"private", "shared", "huge", "memfd", "file", "unlinked", "mapped",
			"inherited", "segment",
		} {
			t.Run(fmt.Sprint(how, " of ", uid), func(t *testing.T) {
				fd, err := unix.MemfdCreate("inherited", unix.MFD_CLOEXEC)
				must.Do(t, err)
				memfd := os.NewFile(uintptr(fd), "inherited")
				processes := 1
				if how == "inherited" {
					processes = 2
				}
				var pids, base []string
				start := func(how string) string {
					given := memfd
					if how != "inherited" {
						given = nil
					}
					cmd, in, out := run(uid, how, given)
					t.Cleanup(func() {
						in.Close()
						_ = cmd.Wait()
						_ = os.Remove(fmt.Sprintf("/dev/shm/mxflow-test-%d", cmd.Process.Pid))
					})
					line, err := out.ReadString('\n')
					if id, wrong := strconv.Atoi(strings.TrimSpace(line)); how == "segment" && wrong == nil {
						t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
						line, err = out.ReadString('\n')
					}
					if line != "ready\n" {
						t.Skipf("this machine has none: %q, %v", line, err)
					}
					return strconv.Itoa(cmd.Process.Pid)
				}
				for range processes {
					pids, base = append(pids, start(how)), append(base, start("nothing"))
				}
				memfd.Close()
				if got := read(uid, pids) - read(uid, base); got < held*9/10 || got > held*12/10 {
					t.Errorf("it counts %.0f MB, and holds %.0f", float64(got)/1e6, held/1e6)
				}
			})
		}
	}
}
