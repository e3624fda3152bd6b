package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
)

// A guard is a process between mxflow and what a launch starts: another process of this
// same program, the parent of the engine and a child subreaper, so whatever the engine
// ever forks descends from it, whatever session, environment or parent that gives up. It
// ends all of that, in order when it is told to, and at once when its standard input ends,
// as it does with mxflow.
//
// guardName is its first argument, which selects this role, and what ps shows. It does
// not contain "mxflow": killing all processes of that name must spare the one that cleans
// up.
const (
	guardName = "mx-guard"
	// guardOwner marks the guard itself, so it is not swept because of a mark that this
	// mxflow inherited.
	guardOwner = "guard"
	// mostLinger is how long workers, and trackers of their resources, take at most to
	// notice that their engine is gone.
	mostLinger = 2 * time.Second
)

// Every program that launches engines can be their guard, tests included, so this is not
// in main.
func init() {
	if len(os.Args) > 0 && os.Args[0] == guardName {
		os.Exit(guard())
	}
}

// order is what a guard must start. A second one, of whatever content, tells it to end
// that in order.
type order struct {
	Path, Dir string
	Args, Env []string
	// Linger is how long processes that outlive the engine may take to end by themselves.
	Linger time.Duration
}

// report is a line of a guard: how the start went, with the PID of the engine and when it
// began (see procID), then how the engine ended, then that nothing is left of the launch, and
// what had to be ended after Linger.
type report struct {
	PID   int          `json:",omitempty"`
	Start uint64       `json:",omitempty"`
	Errno int          `json:",omitempty"`
	Error string       `json:",omitempty"`
	Exit  *engine.Exit `json:",omitempty"`
	Ended bool         `json:",omitempty"`
	Left  []string     `json:",omitempty"`
}

// guard is the whole life of a guard; it returns its exit status.
func guard() int {
	// The engine dies with the thread that forks it, so this thread must live to the end.
	runtime.LockOSThread()
	_ = os.WriteFile("/proc/self/comm", []byte(guardName), 0o644)
	// Not ignored: that would be inherited. It ends with mxflow, and a request to all
	// processes to end reaches mxflow too.
	signal.Reset() // what the rest of the program does about them
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var o order
	if err := in.Decode(&o); err != nil {
		return 1 // mxflow is gone already
	}
	child, err := o.start()
	if err != nil {
		errno, _ := errors.AsType[syscall.Errno](err)
		_ = out.Encode(report{Errno: int(errno), Error: err.Error()})
		return 1
	}
	started, _ := readProc(child) // before it is reaped, so its PID is nobody else's
	_ = out.Encode(report{PID: child, Start: started.start})

	exited, empty := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(empty)
		for {
			var status unix.WaitStatus
			switch pid, err := unix.Wait4(-1, &status, 0, nil); {
			case err == unix.EINTR:
			case err != nil: // it has no child: nothing descends from it, and nothing ever will
				return
			case pid == child:
				exit := exitOf(syscall.WaitStatus(status))
				_ = out.Encode(report{Exit: &exit})
				close(exited)
			}
		}
	}()
	stop, kill := make(chan struct{}), make(chan struct{})
	go func() {
		if in.Decode(&order{}) == nil {
			close(stop)
		}
		_ = in.Decode(&order{})
		close(kill)
	}()
	select {
	case <-stop:
	case <-kill:
	}
	_ = out.Encode(report{Ended: true, Left: endBelow(child, o.Linger, kill, exited, empty)})
	return 0
}

// Private keeps other processes of the same user out of this one's memory, in which the
// prompts of a launch lie before they are sent, see prctl(2). Root's read it all the same.
func Private() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// start makes this process the guard, and starts the engine.
func (o order) start() (pid int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	// The processes it guards, of the same user, must not access its memory and its
	// pipes.
	if err := Private(); err != nil {
		return 0, err
	}
	stdout, stderr := os.NewFile(3, "stdout"), os.NewFile(4, "stderr")
	defer stdout.Close()
	defer stderr.Close()
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	cmd := &exec.Cmd{
		Path: o.Path, Args: o.Args, Env: o.Env, Dir: o.Dir, Stdout: stdout, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// endBelow ends all descendants of this process, and returns the names of those that had to
// be ended although the engine was gone. The engine's group is asked first, as Ctrl-C at a
// terminal would; processes that left the group are the engine's to end, and asked only
// when it is gone. Each gets one SIGTERM: a second one makes many servers give up their
// graceful shutdown.
func endBelow(group int, linger time.Duration, kill, exited, empty <-chan struct{}) []string {
	var alone time.Time // since when the engine is gone
	asked, left := map[procID]bool{}, map[procID]string{}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		if isClosed(exited) && alone.IsZero() {
			alone = time.Now()
		}
		late := !alone.IsZero() && time.Since(alone) >= linger
		first := len(asked) == 0
		table, _ := processTable() // what cannot be seen is looked for again
		for _, p := range descendants(table, map[int]bool{os.Getpid(): true}, none) {
			if late {
				left[p.procID] = p.name()
			}
			switch {
			case isClosed(kill):
				if p.pgid == group { // at once, so none of it forks meanwhile
					_ = unix.Kill(-group, unix.SIGKILL)
				}
				_ = p.signal(unix.SIGKILL)
			case !asked[p.procID] && (late || first && p.pgid == group):
				asked[p.procID] = true
				_ = p.signal(unix.SIGTERM)
				_ = p.signal(unix.SIGCONT) // a stopped process receives nothing
			}
		}
		select {
		case <-empty:
			return slices.Sorted(maps.Values(left))
		case <-time.After(wait):
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// child is the process tree of a launch, behind its guard.
type child struct {
	engine.Lifetime
	launch engine.Launch
	guard  *exec.Cmd
	orders io.WriteCloser
	// ended is closed when the guard has ended, and last is its last report: nothing if
	// it was killed.
	ended chan struct{}
	last  report

	mu   sync.Mutex
	seen []procID // the engine, and by searches
}

// spawn starts cmd, whose output goes to files, in its own process group behind a guard.
func spawn(cmd *exec.Cmd, l engine.Launch, grace time.Duration) (*child, error) {
	c := &child{launch: l, ended: make(chan struct{})}
	c.Begin()
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
	c.guard, c.orders = g, orders
	in := json.NewDecoder(reports)
	err = json.NewEncoder(orders).Encode(order{
		Path: cmd.Path, Dir: dir, Args: cmd.Args, Env: cmd.Env, Linger: min(mostLinger, grace/2),
	})
	if err != nil {
		orders.Close()
		_ = g.Wait()
		return nil, err
	}
	var first report
	switch _ = in.Decode(&first); {
	case first.Errno != 0:
		err = syscall.Errno(first.Errno)
	case first.Error != "":
		err = errors.New(first.Error)
	}
	// A guard that is killed first says nothing, and may have started the engine.
	if err != nil {
		orders.Close()
		_ = g.Wait()
		return nil, err
	}
	c.seen = []procID{{first.PID, first.Start}}
	go func() {
		defer close(c.ended)
		// Without a guard its child has ended too, as far as can be known.
		exit := report{Exit: &engine.Exit{Code: -1, Signal: signalName(unix.SIGKILL)}}
		_ = in.Decode(&exit)
		c.End(*exit.Exit)
		_ = in.Decode(&c.last)
		_ = g.Wait()
	}()
	return c, nil
}

// end tells the guard to end everything, at once after the grace period or when hurry is
// closed, and returns when it has. The error is why there may be something left.
func (c *child) end(grace time.Duration, hurry <-chan struct{}) error {
	_ = c.guard.Process.Signal(unix.SIGCONT) // if another process stopped it
	_ = json.NewEncoder(c.orders).Encode(order{})
	select {
	case <-c.ended:
	case <-hurry:
	case <-time.After(grace):
	}
	c.orders.Close()
	select {
	case <-c.ended:
	case <-time.After(killWait / 3):
	}
	if !isClosed(c.ended) || !c.last.Ended {
		// Somebody killed or stopped the guard: processes seen before, and those with the
		// marks, can be found without it.
		c.mu.Lock()
		_, _ = killAll(func(table []proc) (found []proc) {
			top := map[int]bool{}
			for _, p := range table {
				marked := p.env(envLaunch) == c.launch.ID && p.env(envOwner) == c.launch.Owner
				if !p.gone && (marked || slices.Contains(c.seen, p.procID)) {
					top[p.pid] = true
					found = append(found, p)
				}
			}
			return append(found, descendants(table, top, none)...)
		})
		c.mu.Unlock()
		_ = c.guard.Process.Signal(unix.SIGCONT)
		select {
		case <-c.ended:
		case <-time.After(time.Second):
		}
	}
	switch {
	case !isClosed(c.ended):
		return fmt.Errorf(
			"%s did not end within %s of SIGKILL; a process stuck in a driver ends only with it (see dmesg)",
			describePIDs(c.pids(true)), engine.Brief(killWait))
	case !c.last.Ended:
		return fmt.Errorf(
			"its guard (mx-guard, process %d) was killed, so other processes that it started may still be "+
				"running: find them (ps), end them, and leave mx-guard alone", c.guard.Process.Pid)
	}
	return nil
}

// leftovers names the processes that had to be ended although the engine was gone.
func (c *child) leftovers() []string { return c.last.Left }

// pids are the processes of the launch, as the last search found them; search looks again.
// One that was seen stays part of it, whoever its parent is.
func (c *child) pids(search bool) (pids []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if search && !isClosed(c.ended) {
		table, _ := processTable() // what cannot be seen is not gone
		for _, p := range descendants(table, map[int]bool{c.guard.Process.Pid: true}, none) {
			if !slices.Contains(c.seen, p.procID) {
				c.seen = append(c.seen, p.procID)
			}
		}
	}
	c.seen = slices.DeleteFunc(c.seen, func(id procID) bool { return !id.alive() })
	for _, id := range c.seen {
		pids = append(pids, id.pid)
	}
	return pids
}
