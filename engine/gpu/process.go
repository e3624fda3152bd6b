package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is a process that computes on a GPU.
type Process struct {
	PID int
	// GPU is the UUID of the GPU.
	GPU string
	// MiB is the memory it holds there; nil where nvidia-smi does not say.
	MiB *float64
	// Name is the program, without its arguments, which may hold secrets. Empty
	// where it cannot be known.
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

// Processes are all processes that compute on this machine's GPUs. Those in
// other PID namespaces are not among them, or have other numbers there.
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

// processQuery asks for processes. The name comes last, since it may have commas
// in it.
var processQuery = []string{"--query-compute-apps=pid,gpu_uuid,used_memory,process_name", "--format=csv,noheader,nounits"}

// parseProcesses reads one process a line.
func parseProcesses(out string) ([]Process, error) {
	var list []Process
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "No running") {
			continue
		}
		cells := strings.SplitN(line, ",", 4)
		if len(cells) != 4 {
			return nil, fmt.Errorf("nvidia-smi describes a process in %d values, not 4: %q", len(cells), cut(line))
		}
		pid, err := strconv.Atoi(strings.TrimSpace(cells[0]))
		if err != nil {
			return nil, fmt.Errorf("nvidia-smi names a process that is no number: %q", cut(line))
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

// program is a process name without what newer drivers add: arguments.
func program(name string) string {
	first, _, _ := strings.Cut(name, " ")
	return cut(first)
}

// comm is the kernel's short name of a process, empty where it is hidden.
func comm(pid int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return cut(strings.TrimSpace(string(text)))
}
