package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/internal/foreign"
)

// GPUProcess is a process that computes on a GPU.
type GPUProcess struct {
	PID int
	GPU string
	// MiB is the memory it holds there; nil if it is not reported.
	MiB *float64
	// Name is the program, without its arguments, which may contain secrets. Empty if
	// unknown.
	Name string
}

func (p GPUProcess) String() string {
	name, holds := p.Name, "an unknown amount of memory"
	if name == "" {
		name = "a program that this user cannot see"
	}
	if p.MiB != nil {
		holds = fmt.Sprintf("%.0f MiB", *p.MiB)
	}
	return fmt.Sprintf("process %d (%s) holds %s", p.PID, name, holds)
}

// tolerated compute on GPUs as part of the system, hold little memory there, and never
// leave.
var tolerated = []string{
	"nvidia-cuda-mps-server", "nvidia-persistenced", "nv-hostengine", "dcgm*", "Xorg", "Xwayland",
	"gnome-shell", "kwin_*",
}

// ignored reports whether the process is tolerated on a GPU, or its program matches one of
// the globs, by its path or by its last element.
func (p GPUProcess) ignored(globs []string) bool {
	return p.Name != "" && slices.ContainsFunc(slices.Concat(tolerated, globs), func(glob string) bool {
		whole, _ := path.Match(glob, p.Name)
		base, _ := path.Match(glob, path.Base(p.Name))
		return whole || base
	})
}

// processQuery queries processes. The name comes last, since it may contain commas.
var processQuery = []string{
	"--query-compute-apps=pid,gpu_uuid,used_memory,process_name",
	"--format=csv,noheader,nounits",
}

func nvidiaProcesses(ctx context.Context) ([]GPUProcess, error) {
	out, err := smi(ctx, processQuery...)
	if err != nil {
		return nil, err
	}
	return parseProcesses(out)
}

func parseProcesses(out string) (list []GPUProcess, err error) {
	for line := range strings.Lines(out) {
		p, ok, err := parseProcess(line)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, p)
		}
	}
	return list, nil
}

// parseProcess parses a line of processQuery; false if it names no process.
func parseProcess(line string) (p GPUProcess, ok bool, err error) {
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "No running") {
		return p, false, nil
	}
	cells := strings.SplitN(line, ",", 4)
	if len(cells) != 4 {
		return p, false,
			fmt.Errorf("nvidia-smi printed a process with %d values, not 4: %q", len(cells), foreign.Clean(line))
	}
	if p.PID, err = strconv.Atoi(strings.TrimSpace(cells[0])); err != nil {
		return p, false, fmt.Errorf("nvidia-smi printed a process ID that is not a number: %q", foreign.Clean(line))
	}
	p.GPU, _ = value(cells[1])
	if text, known := value(cells[2]); known {
		if mib, err := strconv.ParseFloat(text, 64); err == nil && mib-mib == 0 {
			p.MiB = &mib
		}
	}
	name, known := value(cells[3])
	p.named(name, known)
	return p, true, nil
}

// named sets a process's program by what a tool says, else by the system.
func (p *GPUProcess) named(name string, known bool) {
	if known {
		name, _, _ = strings.Cut(name, " ") // newer drivers add the arguments
		p.Name = foreign.Clean(name)
	} else if s, err := statOf("/", p.PID); err == nil {
		p.Name = foreign.Clean(s.Name)
	}
}

// Occupancy lists the processes and other users of some GPUs.
type Occupancy struct {
	Processes []GPUProcess
	// Hidden are GPUs with more memory in use than when idle, for which no process
	// accounts, and how many MiB: it is held in another container, or by a process about to
	// end.
	Hidden map[string]float64
	// own are the processes of the engine there.
	own []GPUProcess
}

func (o Occupancy) Free() bool { return len(o.Processes) == 0 && len(o.Hidden) == 0 }

func (o Occupancy) String() string {
	var words []string
	for _, p := range o.Processes {
		words = append(words, p.String())
	}
	for _, uuid := range keys(o.Hidden) {
		words = append(words,
			fmt.Sprintf("%.0f MiB of %s are used by something that %s does not show, such as a process in another "+
				"container", o.Hidden[uuid], uuid, shownBy()))
	}
	return strings.Join(words, "; ")
}

// Occupants returns the users of the GPUs with these UUIDs, besides tolerated programs
// and those whose name matches one of the globs in ignore. idleMiB is the memory that may
// be in use on an idle GPU.
func Occupants(ctx context.Context, uuids []string, ignore []string, idleMiB float64) (Occupancy, error) {
	processes, err := gpuProcesses(ctx)
	if err != nil {
		return Occupancy{}, err
	}
	gpus, err := GPUs(ctx)
	if err != nil {
		return Occupancy{}, err
	}
	used := map[string]float64{}
	for _, g := range gpus {
		if n, ok := g.Number("memory.used"); ok {
			used[g.UUID] = n
		}
	}
	return occupancyOf(used, processes, uuids, ignore, idleMiB, func(int) bool { return false }), nil
}

// occupancyOf is who is using GPUs by a list of processes and the memory in use, in MiB,
// where it is known; own tells the engine's processes.
func occupancyOf(used map[string]float64, processes []GPUProcess, uuids, ignore []string, idleMiB float64,
	own func(pid int) bool,
) (o Occupancy) {
	counted, known := map[string]float64{}, map[string]bool{}
	for _, p := range processes {
		if p.MiB != nil {
			counted[p.GPU] += *p.MiB
		}
		// A process on an unnamed GPU may be on any.
		switch on := p.GPU == "" || slices.Contains(uuids, p.GPU); {
		case on && own(p.PID):
			o.own = append(o.own, p)
		case on && !p.ignored(ignore):
			o.Processes = append(o.Processes, p)
			known[p.GPU] = true
		}
	}
	for _, uuid := range uuids {
		if rest := used[uuid] - counted[uuid]; rest > idleMiB && !known[uuid] && !known[""] {
			o.Hidden = put(o.Hidden, uuid, rest)
		}
	}
	return o
}

// poll calls check until it is done or fails, for up to wait.
func poll(ctx context.Context, every, wait time.Duration, check func() (done bool, err error)) error {
	for end := time.Now().Add(wait); ; {
		done, err := check()
		switch {
		case done || err != nil:
			return err
		case ctx.Err() != nil || !time.Now().Before(end):
			return context.Cause(ctx)
		}
		sleep(ctx, min(every, time.Until(end)))
	}
}

// sleep waits for d; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// WaitFree polls until the GPUs are free, for up to wait, and returns the remaining
// users. changed is called whenever these change, to tell a waiting person. An error of
// look ends the wait.
func WaitFree(ctx context.Context, look func(context.Context) (Occupancy, error), every, wait time.Duration,
	changed func(Occupancy),
) (o Occupancy, err error) {
	who := ""
	err = poll(ctx, every, wait, func() (bool, error) {
		if o, err = look(ctx); err != nil || o.Free() {
			return true, err
		}
		before := who
		who = "" // without the memory, which changes all the time
		for _, p := range o.Processes {
			who += fmt.Sprint(p.PID, p.GPU, ";")
		}
		who += strings.Join(keys(o.Hidden), ";")
		if who != before && changed != nil {
			changed(o)
		}
		return false, nil
	})
	return o, err
}

// Calm is the state that GPUs must reach before a launch.
type Calm struct {
	// MaxTemperature is in °C.
	MaxTemperature float64
	// Timeout is how long it may take; 0 checks once. Every is the time between two
	// checks; 0 means a second.
	Timeout, Every time.Duration
	// Waiting, if not nil, is called after each check that finds them not calm yet, with
	// what is in the way.
	Waiting func(what string)
}

// Settle waits until every one of these GPUs is calm. The error says which one was not
// and by how much; a temperature that the driver does not report is an error at once.
func Settle(ctx context.Context, gpus []string, want Calm) error {
	if len(gpus) == 0 {
		return errors.New("no GPUs to wait for")
	}
	if want.Every <= 0 {
		want.Every = time.Second
	}
	rest := ""
	err := poll(ctx, want.Every, want.Timeout, func() (bool, error) {
		all, err := GPUs(ctx)
		if err != nil {
			return true, cmp.Or(context.Cause(ctx), fmt.Errorf("cannot wait for the GPUs: %w", err))
		}
		if rest, err = want.look(all, gpus); rest != "" && want.Waiting != nil {
			want.Waiting(rest)
		}
		return rest == "", err
	})
	if err == nil && rest != "" {
		err = fmt.Errorf("after waiting for %s, %s", want.Timeout, rest)
	}
	return err
}

// look describes what is still in the way, empty if all is as wanted.
func (want Calm) look(all []GPU, uuids []string) (rest string, err error) {
	var words []string
	for _, uuid := range uuids {
		i := slices.IndexFunc(all, func(g GPU) bool { return g.UUID == uuid })
		switch {
		case len(all) == 0:
			return "", fmt.Errorf("cannot wait for GPU %s: %w", uuid, ErrNoGPU)
		case i < 0:
			return "", fmt.Errorf("cannot wait for GPU %s: %s does not show it", uuid, shownBy())
		}
		switch n, ok := all[i].Number("temperature.gpu"); {
		case !ok:
			return "", fmt.Errorf("cannot wait for the temperature of %s: the driver does not report it", all[i])
		case n > want.MaxTemperature:
			words = append(words,
				fmt.Sprintf("the temperature of %s is %g °C (required ≤ %g)", all[i], n, want.MaxTemperature))
		}
	}
	return strings.Join(words, "; "), nil
}
