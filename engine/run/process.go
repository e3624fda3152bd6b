// Package run launches engines without containers: processes of this machine, and servers
// that are already running. It waits until they are ready, stops everything that it
// started, and ends the leftovers of a killed mxflow. It sends no requests besides
// readiness checks.
package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/internal/group"
)

// Launcher starts engines as child processes that listen on a loopback port. The zero value
// is ready to use.
//
// The engine runs in its own process group, with /dev/null as its input and the log file as
// its output. On Linux a guard is its parent, from which everything that it starts
// descends, and which ends all of that even if mxflow is killed; elsewhere there is no
// guard. All processes have the launch's environment (MXFLOW_OWNER, MXFLOW_LAUNCH), by
// which Sweep finds leftovers if the guard was killed too.
type Launcher struct {
	// LogLimit limits the log file, in bytes; zero means 256 MiB. Beyond it the middle of
	// the log is dropped.
	LogLimit int64
}

type process struct {
	*child
	*Activity
	spec    engine.Spec
	kind    kinds.Kind
	of      string // Failure.Of
	port    int    // 0 without one
	release func() // gives the port back
	argv    []string
	env     []string
	log     *logscan.File
	watched sync.WaitGroup
	endWait chan struct{} // closed to end the watch

	peak    engine.Peak // bytes
	meter   machine.Meter
	stopper engine.Stopper
}

var _ engine.Launcher = Launcher{}

func (p Launcher) Launch(ctx context.Context, spec engine.Spec, l engine.Launch) (engine.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, engine.StartFailure(err, "it was cancelled before it started")
	}
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	port, release, failure := portFor(spec)
	if failure != nil {
		return nil, failure
	}
	inst, failure := p.start(spec, kind, l, port)
	if failure != nil {
		release()
		return nil, failure
	}
	inst.release = release
	return inst, nil
}

// StartCommand starts spec's command with its folder and environment: same marks, same log,
// same way to stop as Launcher, but nothing is waited for and {port} is not replaced. A
// StopGrace of zero kills at once. The error is a *Failure.
func StartCommand(spec engine.Spec, l engine.Launch) (engine.Command, error) {
	const command = "command" // Failure.Of
	p, failure := Launcher{}.start(spec, kinds.Kind{}, l, 0)
	if failure != nil {
		failure.Of = command
		return nil, failure
	}
	p.of = command
	return p, nil
}

func (p Launcher) start(spec engine.Spec, kind kinds.Kind, l engine.Launch, port int) (*process, *engine.Failure) {
	cmd, failure := command(spec, l, port)
	if failure != nil {
		return nil, failure
	}
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
		spec: spec, kind: kind, log: log, port: port, release: func() {}, argv: cmd.Args, env: cmd.Env,
		endWait: make(chan struct{}),
	}
	if inst.child, err = spawn(cmd, l, spec.StopGrace); err != nil {
		log.Close()
		return nil, explainStart(cmd, err)
	}
	inst.Activity = &Activity{Port: port, Log: log.Path, PIDs: inst.PIDs}
	inst.watched.Go(inst.watch)
	return inst, nil
}

func (p *process) BaseURL() string { return "http://127.0.0.1:" + strconv.Itoa(p.port) }

func (p *process) Access() engine.Access { return engine.Access{BaseURL: p.BaseURL()} }

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
	cmd := group.Command(ctx, path, argv[1:]...)
	cmd.Dir, cmd.Env = p.spec.Dir, p.env
	return cmd.Output()
}

func (p *process) Ready(ctx context.Context) error {
	return Waiter{
		Kind: p.kind, Model: p.spec.Model, Access: p.Access(), Lifetime: &p.Lifetime, Limit: p.spec.ReadyTimeout,
		Failure: p.failure, PortUser: p.PortUser, Activity: p.Activity,
	}.Wait(ctx)
}

func (p *process) LogPath() string { return p.log.Path }

// PeakMemory implements Instance. On Linux it is the larger of two lower bounds: the memory
// of all processes of the launch at one instant, five times a second (machine.Meter), and
// the kernel's own high-water mark of any one of them, which misses no spike. Elsewhere it
// is 0.
func (p *process) PeakMemory() int64 { return p.peak.Load() }

// Opened implements engine.Intruder, on Linux.
func (p *process) Opened() string { return p.meter.Opened() }

// PIDs implements Resident: the launch's processes as last seen. The watch searches the
// process table about once a second.
func (p *process) PIDs() []int { return p.pids(false) }

func (p *process) PortUser() (who string, seen bool) {
	return PortUser(p.port, p.pids)
}

// Leftovers implements engine.Leaver; what outlives the engine is known on Linux only.
func (p *process) Leftovers() []string { return p.leftovers() }

// failure describes what broke together with the state of the process.
func (p *process) failure(op string, cause error, format string, args ...any) *engine.Failure {
	return &engine.Failure{
		Of: p.of, Op: op, Reason: fmt.Sprintf(format, args...), Err: cause,
		Exit: p.Exit(), LogTail: logscan.Tail(p.log.Path, engine.TailLines),
	}
}

// Stop implements Instance. The error is a *Failure that names what could not be ended;
// calling it again tries again.
func (p *process) Stop(ctx context.Context) error {
	return p.stopper.Stop(ctx, func(hurry <-chan struct{}) error {
		p.sampleMemory(true) // the last chance to read the high-water marks
		if err := p.end(p.spec.StopGrace, hurry); err != nil {
			return p.failure("stop", err, "%v", err)
		}
		close(p.endWait)
		p.watched.Wait()
		p.release()
		return nil
	})
}

const (
	// watchEvery is how often a running engine's memory and log are checked.
	watchEvery = 200 * time.Millisecond
	// findEvery is how many of those checks pass between searches of the whole process
	// table for new children: the search costs far more, and must not disturb the
	// measurement.
	findEvery = 5
)

// watch samples the memory of a running engine and limits its log, until Stop has finished.
func (p *process) watch() {
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

// sampleMemory raises the peak: the larger of what all known processes take now, and of the
// most that any one of them took; search looks for new processes first.
func (p *process) sampleMemory(search bool) {
	now, most := p.meter.Read(p.pids(search), search)
	p.peak.Raise(max(now, most))
}

func describePIDs(pids []int) string {
	words := make([]string, len(pids))
	for i, pid := range pids {
		words[i] = strconv.Itoa(pid)
	}
	if len(words) == 1 {
		return "process " + words[0]
	}
	return fmt.Sprintf("%d processes (%s)", len(words), strings.Join(words, ", "))
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
