package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

// patience is how long anything that must happen may take before a scenario
// fails. It is no measure of speed: passing scenarios never wait so long.
const patience = 60 * time.Second

// cmdExits is
//
//	exits STATUS program [args...]
//
// exec for a program whose exit status matters, not only that it failed.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS program [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := endOf(exit); got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", args[1], got, args[0])
	}
}

// endOf is an exit status, or the name of the signal that ended a process.
func endOf(exit *exec.ExitError) string {
	if exit == nil {
		return "0"
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return strconv.Itoa(exit.ExitCode())
}

// processes are those a scenario has started in the background, by name.
type (
	processes    map[string]*background
	processesKey struct{}
)

type background struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid once done is closed
	// guards are those that guard has met.
	guards []int
}

// cmdStart is
//
//	start NAME program [args...]
//
// It runs a program in the background with its output in NAME.out and NAME.err,
// where it can be read while the program goes on.
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME program [args...]")
	}
	path := args[1]
	if path == "mxflow" {
		path = Program
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{
		"PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR", "PLANS", "NO_COLOR",
		"MXFLOW_EMBEDDED_FAULT", "DOCKER_HOST",
	} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stdout, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ts.Check(cmd.Start())
	b := &background{cmd: cmd, done: make(chan struct{})}
	go func() {
		b.err = cmd.Wait()
		close(b.done)
	}()
	ts.Value(processesKey{}).(processes)[args[0]] = b
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-b.done
	})
}

func started(ts *testscript.TestScript, name string) *background {
	b := ts.Value(processesKey{}).(processes)[name]
	if b == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return b
}

// cmdSignal is
//
//	signal NAME INT|KILL|HUP|TERM|STOP
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || unix.SignalNum("SIG"+args[1]) == 0 {
		ts.Fatalf("usage: signal NAME INT|KILL|HUP|TERM|STOP")
	}
	ts.Check(started(ts, args[0]).cmd.Process.Signal(unix.SignalNum("SIG" + args[1])))
}

// cmdGuard is
//
//	guard NAME [SIGNAL]
//	guard NAME gone
//
// It waits until what start started has a guard that was not asked for before, and
// sends it a signal; or until none of those that were asked for is left.
func cmdGuard(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 || len(args) == 2 && args[1] != "gone" &&
		unix.SignalNum("SIG"+args[1]) == 0 {
		ts.Fatalf("usage: guard NAME [SIGNAL|gone]")
	}
	b := started(ts, args[0])
	gone := args[len(args)-1] == "gone"
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		var there []int
		for _, pid := range guards() {
			// One of an mxflow that has ended has another parent.
			if slices.Contains(b.guards, pid) == gone && (gone || parentOf(pid) == b.cmd.Process.Pid) {
				there = append(there, pid)
			}
		}
		switch {
		case gone && len(there) == 0:
			return
		case !gone && len(there) > 0:
			b.guards = append(b.guards, there...)
			if len(args) == 2 {
				ts.Check(unix.Kill(there[0], unix.SignalNum("SIG"+args[1])))
			}
			return
		}
	}
	ts.Fatalf("of guard %s: %v, and what came of it was not so within %s", args, b.guards, patience)
}

// guards are the guard processes of all that run mxflow on this machine, once
// they are at work.
func guards() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, file := range files {
		name, _ := os.ReadFile(file)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline")) // empty for one that has ended
		if string(name) == "mx-guard\n" && len(line) > 0 {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}

// cmdFinish is
//
//	finish NAME STATUS
//
// It waits for the end of what start started. STATUS is an exit status, or the
// signal that ended it, such as SIGKILL.
func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: finish NAME STATUS")
	}
	b := started(ts, args[0])
	select {
	case <-b.done:
	case <-time.After(patience):
		ts.Fatalf("%s has not ended", args[0])
	}
	var exit *exec.ExitError
	if b.err != nil && !errors.As(b.err, &exit) {
		ts.Fatalf("%v", b.err)
	}
	if got := endOf(exit); got != args[1] {
		ts.Fatalf("%s ended with %s, want %s\n%s%s", args[0], got, args[1],
			ts.ReadFile(args[0]+".out"), ts.ReadFile(args[0]+".err"))
	}
}

// cmdWaitFor is
//
//	wait-for FILE REGEXP
//
// It waits until a file, which need not exist yet, has a line that matches.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-for FILE REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var text []byte
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		if text, err = os.ReadFile(ts.MkAbs(args[0])); err == nil && pattern.Match(text) {
			return
		}
	}
	for name := range sorted.All(ts.Value(processesKey{}).(processes)) { // which say why
		for _, printed := range []string{ts.ReadFile(name + ".out"), ts.ReadFile(name + ".err")} {
			ts.Logf("%s printed: %s", name, printed[max(0, len(printed)-2000):])
		}
	}
	ts.Fatalf("%s never had %q, but only:\n%s", filepath.Base(args[0]), args[1], bytes.TrimSpace(text))
}

// cmdNoEngines is
//
//	no-engines STATE-DIR
//
// Nothing that was started on behalf of the state directory runs any more. The
// kernel may need a moment to end the child of a killed parent, so this polls. A
// child that its parent's end met between fork and exec has no mark yet; it is known
// by the lock of the state directory, which it holds until then.
func cmdNoEngines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: no-engines STATE-DIR")
	}
	mark := []byte("MXFLOW_OWNER=" + apply.Owner(ts.MkAbs(args[0])))
	var left []string
	for limit := time.Now().Add(patience / 6); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		held, by, err := store.AtWork(ts.MkAbs(args[0]))
		ts.Check(err)
		if left = marked(mark); held {
			left = append(left, fmt.Sprintf("who holds the lock: %+v", by))
		}
		if len(left) == 0 {
			return
		}
	}
	ts.Fatalf("still running: %s", strings.Join(left, "; "))
}

// marked lists the processes with an entry in their environment.
func marked(entry []byte) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		// A process that ends meanwhile, or of another user, cannot be read.
		environ, _ := os.ReadFile(file)
		for _, kv := range bytes.Split(environ, []byte{0}) {
			if bytes.Equal(kv, entry) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				list = append(list, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
	}
	return list
}
