package process

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// Guardian is an engine.Guardian: a process of its own, which reads from a pipe what
// runs. The pipe ends with mxflow, whatever ended it, and the process ends what is
// left then. It is started when there is first something to guard, and again when it
// is lost.
type Guardian struct {
	argv []string

	mu sync.Mutex
	// wards are those that have not ended, for a guardian process that is started late.
	wards map[string]guarded
	// to is what the process reads from, nil where none runs; and starts how often one
	// was started.
	to     *os.File
	cmd    *exec.Cmd
	starts int
}

// guarded is a line to the guardian process: all that it knows of one ward.
type guarded struct {
	// Ward is the mark that its processes carry.
	Ward string `json:"ward"`
	// Processes are start times by pid.
	Processes map[int]uint64 `json:"processes,omitempty"`
	Ended     bool           `json:"ended,omitempty"`
}

const (
	// mostStarts bounds how often a guardian process is started: one that somebody or
	// something keeps ending is given up.
	mostStarts = 4
	// tellWait is how long a guardian process that does not read may hold up mxflow; the
	// pipe holds hundreds of lines before.
	tellWait = time.Second
	// guardianOwner marks the process itself, so that it is swept neither as part of an
	// mxflow that a step of another one runs, nor with a mark that this one inherited.
	guardianOwner = "guardian"
	// guardianName is what ps shows, and is no part of it: who ends all processes
	// called mxflow is to spare the one that cleans up behind them.
	guardianName = "mx-guard"
)

// NewGuardian is a guardian whose process is started by a command: one that calls
// ServeGuardian with its standard input.
func NewGuardian(command ...string) engine.Guardian {
	return &Guardian{argv: command, wards: map[string]guarded{}}
}

// Guard implements engine.Guardian.
func (g *Guardian) Guard(mark string) engine.Ward {
	g.tell(guarded{Ward: mark})
	return ward{g, mark}
}

// ward is an engine.Ward.
type ward struct {
	guardian *Guardian
	mark     string
}

// Runs implements engine.Ward.
func (w ward) Runs(processes map[int]uint64) {
	w.guardian.tell(guarded{Ward: w.mark, Processes: processes})
}

// Ended implements engine.Ward.
func (w ward) Ended() { w.guardian.tell(guarded{Ward: w.mark, Ended: true}) }

// tell keeps a line and writes it to the process. One that does not take it is ended,
// which ended notices; it is never let go while it lives, since it would take the end
// of its pipe for that of mxflow.
func (g *Guardian) tell(line guarded) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if line.Ended {
		delete(g.wards, line.Ward)
	} else {
		g.wards[line.Ward] = line
	}
	if g.to == nil {
		g.begin()
	} else {
		g.write(line)
	}
}

func (g *Guardian) write(line guarded) {
	text, err := json.Marshal(line)
	if err == nil {
		_ = g.to.SetWriteDeadline(time.Now().Add(tellWait))
		_, err = g.to.Write(append(text, '\n'))
	}
	if err != nil {
		_ = g.cmd.Process.Kill()
	}
}

// begin starts a process and tells it everything, where there is something to tell.
// Without one an apply goes on: the next one sweeps. g.mu must be held.
func (g *Guardian) begin() {
	if len(g.wards) == 0 || g.starts >= mostStarts {
		return
	}
	g.starts++
	from, to, err := os.Pipe()
	if err != nil {
		return
	}
	defer from.Close()
	// A session of its own: no signal to mxflow's group or terminal reaches it. It needs
	// nothing of the environment, and holds no folder.
	cmd := &exec.Cmd{
		Path: g.argv[0], Args: g.argv, Dir: "/", Env: []string{envOwner + "=" + guardianOwner}, Stdin: from,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		to.Close()
		return
	}
	g.to, g.cmd = to, cmd
	go g.await(cmd, to)
	for _, line := range g.wards {
		g.write(line)
	}
}

// await waits for the end of a process, which only comes when it is lost, and starts
// another one.
func (g *Guardian) await(cmd *exec.Cmd, to *os.File) {
	_ = cmd.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	to.Close()
	g.to, g.cmd = nil, nil
	g.begin()
}

// ServeGuardian is the guardian process: it reads what runs until mxflow is gone, and
// ends what is left then as Sweep does. Unlike Sweep it need not hold any lock: what
// another mxflow starts meanwhile is no ward of this one.
func ServeGuardian(told io.Reader) error {
	_ = os.WriteFile("/proc/self/comm", []byte(guardianName), 0o644)
	wards := map[string]guarded{}
	for lines := json.NewDecoder(told); ; {
		var line guarded
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err // mxflow may well live
		}
		if line.Ended {
			delete(wards, line.Ward)
		} else {
			wards[line.Ward] = line
		}
	}
	if len(wards) == 0 {
		return nil
	}
	_, err := sweep(guardedMark, markOf(wards, procID.env))
	return err
}

// guardedMark is the mark of all that a guardian ends, for sweep.
const guardedMark = "guarded"

// markOf makes one mark of those of the wards. What carries somebody else's is spared
// although it was seen among their processes: that of an mxflow in a step, which has a
// guardian itself.
func markOf(wards map[string]guarded, env func(procID, string) string) func(procID) string {
	known := map[procID]bool{}
	for _, w := range wards {
		for pid, start := range w.Processes {
			known[procID{pid, start}] = true
		}
	}
	return func(id procID) string {
		mark := env(id, envWard)
		if _, ours := wards[mark]; ours {
			return guardedMark
		}
		switch {
		case mark != "" || env(id, envOwner) != "":
			return "another's"
		case known[id]:
			return guardedMark
		}
		return ""
	}
}
