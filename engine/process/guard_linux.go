package process

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
)

// A guard is a process between mxflow and what a launch starts: another process of this
// same program, the parent of the engine and a child subreaper, so whatever the engine
// ever forks descends from it, whatever session, environment or parent that gives up. It
// reads a pipe that ends with mxflow, and then ends everything below it.
//
// guardName is its first argument, which selects this role, and what ps shows. It does
// not contain "mxflow": killing all processes of that name must spare the one that cleans
// up.
const (
	guardName = "mx-guard"
	// guardOwner marks the guard itself, so it is not swept because of a mark that this
	// mxflow inherited.
	guardOwner = "guard"
)

// Every program that launches engines can be their guard, tests included, so this is not
// in main.
func init() {
	if len(os.Args) > 0 && os.Args[0] == guardName {
		os.Exit(guard())
	}
}

// order is what a guard must start.
type order struct {
	Path, Dir string
	Args, Env []string
	CPUs      []int
}

// report is a line of a guard: first how the start went, then how the engine ended.
type report struct {
	PID   int          `json:",omitempty"`
	Errno int          `json:",omitempty"`
	Error string       `json:",omitempty"`
	Exit  *engine.Exit `json:",omitempty"`
}

func (r report) err() error {
	switch {
	case r.Errno != 0:
		return syscall.Errno(r.Errno)
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}

// The files of a guard besides its standard input and output, for the engine's own
// output.
const guardedOut, guardedErr = 3, 4

// guard is the whole life of a guard; it returns its exit status.
func guard() int {
	// The engine dies with the thread that forks it, so this thread must live to the end.
	runtime.LockOSThread()
	_ = os.WriteFile("/proc/self/comm", []byte(guardName), 0o644)
	// Not ignored: that would be inherited. It ends with mxflow, and a request to all
	// processes to end reaches mxflow too.
	signal.Reset() // what the rest of the program does about them
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
	out := json.NewEncoder(os.Stdout)
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return 1 // mxflow is gone already
	}
	child, err := o.start()
	if err != nil {
		errno, _ := errors.AsType[syscall.Errno](err)
		_ = out.Encode(report{Errno: int(errno), Error: err.Error()})
		return 1
	}
	_ = out.Encode(report{PID: child})
	go func() {
		exit := reapUntil(child)
		_ = out.Encode(report{Exit: &exit})
		for { // a process that waits for others to be gone must not see them as zombies
			reapOthers(child)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return endBelow(child)
}

// start makes this process the guard, and starts the engine.
func (o order) start() (pid int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	// The processes it guards, of the same user, must not access its memory and its
	// pipes.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, err
	}
	stdout, stderr := os.NewFile(guardedOut, "stdout"), os.NewFile(guardedErr, "stderr")
	defer stdout.Close()
	defer stderr.Close()
	unix.CloseOnExec(guardedOut)
	unix.CloseOnExec(guardedErr)
	cmd := &exec.Cmd{
		Path: o.Path, Args: o.Args, Env: o.Env, Dir: o.Dir, Stdout: stdout, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	}
	if err := startOn(cmd, o.CPUs); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// reapUntil reaps the guard's adopted children until the engine has ended, and leaves
// that a zombie: until then its process group ID cannot be reused.
func reapUntil(child int) engine.Exit {
	for {
		pid, exit, err := awaitExit()
		if err != nil || pid == child {
			return exit
		}
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}
}

// reapOthers reaps the guard's ended children, except the engine.
func reapOthers(engine int) {
	table, _ := processTable()
	for _, p := range table {
		if p.gone && p.ppid == os.Getpid() && p.pid != engine {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	}
}

// endBelow ends all descendants of this process.
func endBelow(group int) int {
	self, err := readProc(os.Getpid())
	if err != nil {
		return 1
	}
	limit := time.Now().Add(killWait)
	for wait := time.Millisecond; time.Now().Before(limit); wait = min(2*wait, 50*time.Millisecond) {
		_ = unix.Kill(-group, unix.SIGKILL)
		if table, err := processTable(); err == nil {
			below := runningBelow(table, self)
			if len(below) == 0 {
				return 0
			}
			for id := range below {
				_ = id.signal(unix.SIGKILL, always)
			}
		}
		time.Sleep(wait)
	}
	return 1
}

// runningBelow is a process's running descendants.
func runningBelow(table []proc, top proc) map[procID]proc {
	set := map[procID]proc{top.procID: top}
	descend(table, set, func(proc) bool { return false })
	delete(set, top.procID)
	for id, p := range set {
		if p.gone {
			delete(set, id)
		}
	}
	return set
}

// child is what a launch started, behind its guard. Once ended it stays a zombie until
// reap.
type child struct {
	pid    int
	guard  int // a zombie of ours until reap, so its session ID is not reused
	exited chan struct{}
	exit   engine.Exit // valid once exited is closed
	// lost is closed when the guard has ended, which it only does by itself when told.
	lost   chan struct{}
	cmd    *exec.Cmd
	orders io.Closer
}

// spawn starts cmd, whose output goes to files, in its own process group behind a guard.
func spawn(cmd *exec.Cmd, cpus []int) (*child, error) {
	dir, err := filepath.Abs(cmd.Dir)
	if err != nil {
		return nil, err
	}
	// Its own session: no signal to mxflow's group or terminal reaches it. It needs no
	// environment, and holds no folder. The path is the running program's, even if the
	// file was replaced.
	g := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{guardName}, Dir: "/", Env: []string{envOwner + "=" + guardOwner},
		ExtraFiles:  []*os.File{cmd.Stdout.(*os.File), cmd.Stderr.(*os.File)},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	orders, err := g.StdinPipe()
	if err != nil {
		return nil, err
	}
	reports, err := g.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.Start(); err != nil {
		return nil, err
	}
	c := &child{guard: g.Process.Pid, exited: make(chan struct{}), lost: make(chan struct{}), cmd: g, orders: orders}
	in := json.NewDecoder(reports)
	var first report
	if err = json.NewEncoder(orders).Encode(order{Path: cmd.Path, Dir: dir, Args: cmd.Args, Env: cmd.Env, CPUs: cpus}); err == nil {
		err = in.Decode(&first)
	}
	if err == nil {
		err = first.err()
	}
	if err != nil {
		orders.Close()
		_ = g.Wait()
		return nil, err
	}
	c.pid = first.PID
	go func() {
		defer close(c.lost)
		// Without a guard its child has ended too, as far as can be known.
		c.exit = engine.Exit{Code: -1, Signal: signalName(unix.SIGKILL)}
		var last report
		if err := in.Decode(&last); err == nil && last.Exit != nil {
			c.exit = *last.Exit
		}
		close(c.exited)
		_, _ = io.Copy(io.Discard, reports)
	}()
	return c, nil
}

// unguarded reports whether the guard has ended without being told.
func (c *child) unguarded() bool {
	select {
	case <-c.lost:
		return true
	default:
		return false
	}
}

// reap ends the guard. It may be called once, when nothing else of the launch runs. A
// stopped guard is continued, to report how the engine ended.
func (c *child) reap() {
	_ = c.cmd.Process.Signal(unix.SIGCONT)
	select {
	case <-c.exited:
	case <-time.After(killWait):
	}
	_ = c.cmd.Process.Kill()
	<-c.lost
	c.orders.Close()
	_ = c.cmd.Wait()
}
