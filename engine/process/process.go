// Package process launches engines as child processes of this machine: their
// command and environment, port, log, memory, children and exit. It also ends
// what a killed mxflow left behind. It does not know containers, nor what an
// engine answers.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/ready"
)

// Launcher starts engines as child processes that listen on a loopback port. The zero
// value is ready to use.
//
// The engine runs in its own process group, with /dev/null as its input and the log file
// as its output. On Linux a guard is its parent, from which everything that it starts
// descends, and which ends all of that even if mxflow is killed; elsewhere there is no
// guard. All processes have the launch's environment (MXFLOW_OWNER, MXFLOW_LAUNCH), by
// which Sweep finds leftovers if the guard was killed too.
type Launcher struct {
	// LogLimit limits the log file, in bytes; zero means 256 MiB. Beyond it the middle of
	// the log is dropped, see logCutMark.
	LogLimit int64
}

// process is an Instance. Its life:
//
//	Launch ─▶ running ──▶ exited ──▶ gone
//	            │  Stop ────┴─────────▲
//
// exited: the direct child has ended but is not reaped, so that its process
// group id stays ours. gone: nothing of the launch runs, everything is reaped.
type process struct {
	spec    engine.Spec
	kind    kinds.Kind
	of      string // Failure.Of
	port    int    // 0 without one
	url     string
	argv    []string
	env     []string
	log     *logscan.File
	started time.Time
	child   *child
	family  *family
	found   map[string]bool // by scratch, before the start
	watched chan struct{}   // closed when the watch has ended
	endWait chan struct{}   // closed to end the watch

	startup atomic.Int64 // ns, 0 before ready
	peak    engine.Peak  // bytes

	stopper engine.Stopper
}

var _ engine.Launcher = Launcher{}

// Launch implements Launcher.
func (p Launcher) Launch(ctx context.Context, spec engine.Spec, l engine.Launch) (engine.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, engine.StartFailure(err, "it was cancelled before it started")
	}
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	port, failure := portFor(spec)
	if failure != nil {
		return nil, failure
	}
	cmd, failure := command(spec, l, port)
	if failure != nil {
		releasePort(port)
		return nil, failure
	}
	inst, failure := p.start(cmd, spec, kind, l)
	if failure != nil {
		releasePort(port)
		return nil, failure
	}
	inst.port, inst.url = port, "http://127.0.0.1:"+strconv.Itoa(port)
	go func() {
		inst.watch()
		releasePort(port)
	}()
	return inst, nil
}

func (p Launcher) start(cmd *exec.Cmd, spec engine.Spec, kind kinds.Kind, l engine.Launch) (*process, *engine.Failure) {
	log, err := logscan.Open(l.LogPath, p.LogLimit, l.Evidence)
	if err != nil {
		return nil, engine.StartFailure(err, "cannot write its log: %v", err)
	}
	// One file description for both, to keep the order of arrival, and no pipe through
	// mxflow: a busy or stuck mxflow never slows the engine.
	cmd.Stdout, cmd.Stderr = log.Out, log.Out
	if l.OutPath != "" {
		out, err := os.OpenFile(l.OutPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			log.Close()
			return nil, engine.StartFailure(err, "cannot write its output: %v", err)
		}
		defer out.Close()
		cmd.Stdout = out
	}
	inst := &process{
		spec: spec, kind: kind, log: log,
		watched: make(chan struct{}), endWait: make(chan struct{}), found: scratch(cmd.Env),
		started: time.Now(), argv: cmd.Args, env: cmd.Env,
	}
	inst.child, err = spawn(cmd, l.CPUs)
	if err != nil {
		log.Close()
		return nil, explainStart(cmd, err)
	}
	inst.family = newFamily(inst.child, l, spec.StopGrace)
	return inst, nil
}

// BaseURL implements Instance.
func (p *process) BaseURL() string { return p.url }

// Access implements Instance.
func (p *process) Access() engine.Access { return engine.Access{BaseURL: p.url} }

// About implements Instance.
func (p *process) About() map[string]string {
	return map[string]string{"resolved_command": strings.Join(p.argv, " ")}
}

// Output implements Instance. The program is looked up as the engine's own is.
func (p *process) Output(ctx context.Context, argv ...string) ([]byte, error) {
	if len(argv) == 0 {
		return nil, errors.New("no command to run")
	}
	path, failure := findProgram(argv[0], p.spec.Dir, p.env)
	if failure != nil {
		return nil, failure
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.spec.Dir, p.env, time.Second
	return cmd.Output()
}

// Ready implements Instance.
func (p *process) Ready(ctx context.Context) error {
	took, err := ready.Waiter{
		Kind: p.kind, Model: p.spec.Model, Access: p.Access(), Started: p.started, Limit: p.spec.ReadyTimeout,
		Exited: p.child.exited, Exit: p.Exit, Failure: p.failure, Others: p.Others,
	}.Wait(ctx)
	if err == nil {
		p.startup.CompareAndSwap(0, int64(took))
	}
	return err
}

// Startup implements Instance.
func (p *process) Startup() time.Duration { return time.Duration(p.startup.Load()) }

// Exited implements Instance.
func (p *process) Exited() <-chan struct{} { return p.child.exited }

// LogPath implements Instance.
func (p *process) LogPath() string { return p.log.Path }

// PeakMemory implements Instance. On Linux it is the larger of two lower bounds: the memory
// of all processes of the launch at one instant, five times a second (machine.Meter), and
// the kernel's own high-water mark of any one of them, which misses no spike. Elsewhere it
// is 0.
func (p *process) PeakMemory() int64 { return p.peak.Load() }

// Exit implements Instance.
func (p *process) Exit() *engine.Exit {
	select {
	case <-p.child.exited:
		exit := p.child.exit
		return &exit
	default:
		return nil
	}
}

// failure describes what broke together with the state of the process.
func (p *process) failure(op string, cause error, format string, args ...any) *engine.Failure {
	return &engine.Failure{
		Of: p.of, Op: op, Reason: fmt.Sprintf(format, args...), Err: cause,
		Exit: p.Exit(), LogTail: logscan.Tail(p.log.Path, engine.TailLines),
	}
}

// killWait is how long the kernel gets to end processes after SIGKILL. Only a process
// stuck in a driver needs longer, and that one may never end.
const killWait = 30 * time.Second

// Stop implements Instance. The error is a *Failure that names what could not be ended;
// calling it again tries again.
func (p *process) Stop(ctx context.Context) error { return p.stopper.Stop(ctx, p.end) }

// end stops everything and returns when it is gone.
func (p *process) end(hurry <-chan struct{}) error {
	p.sampleMemory(true) // the last chance to read the high-water marks
	grace := time.NewTimer(p.spec.StopGrace)
	defer grace.Stop()
	if !p.family.until(p.family.terminate, grace.C, hurry) {
		limit := time.NewTimer(killWait)
		defer limit.Stop()
		if !p.family.until(p.family.kill, limit.C, nil) {
			return p.failure("stop", nil, "%s did not end within %s of SIGKILL; "+
				"a process stuck in a driver ends only with it (see dmesg)", p.family.describe(), engine.Brief(killWait))
		}
	}
	if p.child.unguarded() {
		return p.failure("stop", nil, "its guard (mx-guard, process %d) was killed, so other processes that it started may "+
			"still be running: find them (ps), end them, and leave mx-guard alone", p.child.guard)
	}
	close(p.endWait)
	<-p.watched // before reaping: the watch must not see a reused group ID
	p.child.reap()
	return nil
}

// until calls step, which signals whatever is left and reports whether there was
// anything, until nothing is left (true), or the time is up or hurry is closed (false).
func (f *family) until(step func() bool, timeUp <-chan time.Time, hurry <-chan struct{}) bool {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		if !step() {
			return true
		}
		select {
		case <-timeUp:
			return false
		case <-hurry:
			return false
		case <-time.After(wait):
		}
	}
}

func describePIDs(pids []int) string {
	words := make([]string, len(pids))
	for i, pid := range pids {
		words[i] = fmt.Sprint(pid)
	}
	if len(words) == 1 {
		return "process " + words[0]
	}
	return fmt.Sprintf("%d processes (%s)", len(words), strings.Join(words, ", "))
}

const (
	// watchEvery is how often a running engine's memory and log are checked.
	watchEvery = 200 * time.Millisecond
	// findEvery is how many of those checks pass between searches of the whole process
	// table for new children: the search costs far more, and must not disturb the
	// measurement.
	findEvery = 5
)

// watch monitors a running engine until Stop has finished: it samples memory, remembers
// children (one that leaves the group and loses its parent can only be recognized if it
// was seen before), and limits the log.
func (p *process) watch() {
	defer close(p.watched)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-p.endWait:
			p.log.Close()
			return
		case <-tick.C:
		}
		p.sampleMemory(n%findEvery == 0)
		p.log.Bound()
	}
}

// sampleMemory raises the peak; search looks for new processes first.
func (p *process) sampleMemory(search bool) {
	p.peak.Raise(p.family.memory(search))
}

const aCommand = "command" // Failure.Of

// StartCommand starts spec's command with its folder and environment: same marks, same
// log, same way to stop as Launcher, but nothing is waited for and {port} is not
// replaced. A StopGrace of zero kills at once. The error is a *Failure.
func StartCommand(spec engine.Spec, l engine.Launch) (engine.Command, error) {
	cmd, failure := command(spec, l, 0)
	if failure != nil {
		failure.Of = aCommand
		return nil, failure
	}
	p, failure := Launcher{}.start(cmd, spec, kinds.Kind{}, l)
	if failure != nil {
		failure.Of = aCommand
		return nil, failure
	}
	p.of = aCommand
	go p.watch()
	return p, nil
}

// Leftover is a process left behind by a dead mxflow and ended by Sweep.
type Leftover struct {
	PID int
	// Command is its command line, safe to print and cut at 300 bytes. It may contain the
	// plan's values, secrets included.
	Command string
	// Launch is its Launch.ID; empty if the process hides it.
	Launch string
}
