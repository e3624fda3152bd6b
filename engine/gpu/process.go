package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/logscan"
)

// Process is a process that computes on a GPU.
type Process struct {
	PID int
	// GPU is the UUID of the GPU.
	GPU string
	// MiB is the memory it holds there; nil if nvidia-smi does not report it.
	MiB *float64
	// Name is the program, without its arguments, which may contain secrets. Empty if
	// unknown.
	Name string
}

// String describes the process for people.
func (p Process) String() string {
	name, holds := p.Name, "an unknown amount of memory"
	if name == "" {
		name = "a program that this user cannot see"
	}
	if p.MiB != nil {
		holds = fmt.Sprintf("%.0f MiB", *p.MiB)
	}
	return fmt.Sprintf("process %d (%s) holds %s", p.PID, name, holds)
}

// Ignored reports whether the process is tolerated on a GPU, or its program matches one
// of the globs.
func (p Process) Ignored(globs []string) bool { return ignored(p.Name, globs) }

// Processes are all processes that compute on this machine's GPUs. Those in other PID
// namespaces are missing, or have other numbers there.
func Processes(ctx context.Context) ([]Process, error) {
	out, err := smi(ctx, processQuery...)
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseProcesses(out)
}

// processQuery queries processes. The name comes last, since it may contain commas.
var processQuery = []string{"--query-compute-apps=pid,gpu_uuid,used_memory,process_name", "--format=csv,noheader,nounits"}

// parseProcesses parses one process per line.
func parseProcesses(out string) ([]Process, error) {
	var list []Process
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "No running") {
			continue
		}
		cells := strings.SplitN(line, ",", 4)
		if len(cells) != 4 {
			return nil, fmt.Errorf("nvidia-smi printed a process with %d values, not 4: %q", len(cells), logscan.Clean(line))
		}
		pid, err := strconv.Atoi(strings.TrimSpace(cells[0]))
		if err != nil {
			return nil, fmt.Errorf("nvidia-smi printed a process ID that is not a number: %q", logscan.Clean(line))
		}
		p := Process{PID: pid}
		p.GPU, _ = value(cells[1])
		if text, ok := value(cells[2]); ok {
			if mib, err := strconv.ParseFloat(text, 64); err == nil && mib-mib == 0 {
				p.MiB = &mib
			}
		}
		if name, ok := value(cells[3]); ok {
			p.Name = program(name)
		}
		if p.Name == "" {
			p.Name = comm(p.PID)
		}
		list = append(list, p)
	}
	return list, nil
}

// program is a process name without the arguments that newer drivers add.
func program(name string) string {
	first, _, _ := strings.Cut(name, " ")
	return logscan.Clean(first)
}

// comm is the kernel's short name of a process, empty if hidden.
func comm(pid int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return logscan.Clean(strings.TrimSpace(string(text)))
}

// FollowProcesses has nvidia-smi list the processes on the GPUs periodically until ctx
// ends, which costs far less than starting it each time. each is called with every
// complete list, and its time. If no process is on any GPU, nvidia-smi prints nothing,
// and nothing is called: that may as well mean that it hangs. It returns as follow does.
func FollowProcesses(ctx context.Context, every time.Duration, each func([]Process, time.Time)) error {
	r := &rounds{each: each, quiet: every / 4}
	r.end = time.AfterFunc(time.Hour, r.flush)
	defer r.close()
	return follow(ctx, 0, append(processQuery[:2:2], "-lms", millis(every)), r.line)
}

// rounds groups the lines of one list: they come at once, and none comes twice.
type rounds struct {
	each  func([]Process, time.Time)
	quiet time.Duration

	mu   sync.Mutex
	end  *time.Timer
	list []Process
	at   time.Time
	// broken is set if a line could not be read; an incomplete list does not count.
	broken, closed bool
}

func (r *rounds) line(line string, now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Process
	if err == nil {
		found, err = parseProcesses(line)
	}
	for _, p := range r.list {
		if err == nil && len(found) == 1 && p.PID == found[0].PID && p.GPU == found[0].GPU {
			r.finish() // the next list followed immediately
			break
		}
	}
	if len(r.list) == 0 && !r.broken {
		r.at = now
	}
	r.broken = r.broken || err != nil
	r.list = append(r.list, found...)
	r.end.Reset(r.quiet)
}

// finish delivers a list. r.mu must be held.
func (r *rounds) finish() {
	if len(r.list) > 0 && !r.broken && !r.closed {
		r.each(r.list, r.at)
	}
	r.list, r.broken = nil, false
}

func (r *rounds) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish()
}

// close drops an incomplete list: nvidia-smi may have ended in the middle of it.
func (r *rounds) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.end.Stop()
}

// ignored compares a program by its path and by its last element.
func ignored(name string, globs []string) bool {
	for _, list := range [][]string{tolerated, globs} {
		for _, glob := range list {
			whole, _ := path.Match(glob, name)
			base, _ := path.Match(glob, path.Base(name))
			if name != "" && (whole || base) {
				return true
			}
		}
	}
	return false
}
