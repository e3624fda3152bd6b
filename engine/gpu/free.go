package gpu

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"
)

// tolerated compute on GPUs as part of the system, hold little memory there, and
// never leave.
var tolerated = []string{"nvidia-cuda-mps-server", "nvidia-persistenced", "nv-hostengine", "dcgm*", "Xorg", "Xwayland", "gnome-shell", "kwin_*"}

// Occupied is who or what is on some GPUs.
type Occupied struct {
	// Processes are those that hold memory there.
	Processes []Process
	// Hidden are GPUs of which more memory is used than is idle and that no
	// process accounts for: it is held in another container, or by a process that
	// is about to be gone.
	Hidden []GPU
}

// Free reports that nobody is there.
func (o Occupied) Free() bool { return len(o.Processes) == 0 && len(o.Hidden) == 0 }

// String says who is there.
func (o Occupied) String() string {
	var words []string
	for _, p := range o.Processes {
		words = append(words, p.String())
	}
	for _, g := range o.Hidden {
		used, _ := g.Number("memory.used")
		words = append(words, fmt.Sprintf("%.0f MiB of GPU %d are used by what nvidia-smi does not show, such as a process in another container", used, g.Index))
	}
	return strings.Join(words, "; ")
}

// Foreign looks who is on the GPUs of these UUIDs, besides what is tolerated and
// programs whose name matches one of the globs in ignore. idleMiB is what may be
// used on a GPU that nobody computes on.
func Foreign(ctx context.Context, uuids []string, ignore []string, idleMiB float64) (Occupied, error) {
	var o Occupied
	processes, err := Processes(ctx)
	if err != nil {
		return o, err
	}
	gpus, err := List(ctx)
	if err != nil {
		return o, err
	}
	return foreign(gpus, processes, uuids, ignore, idleMiB), nil
}

func foreign(gpus []GPU, processes []Process, uuids, ignore []string, idleMiB float64) (o Occupied) {
	asked, counted := map[string]bool{}, map[string]float64{}
	for _, uuid := range uuids {
		asked[uuid] = true
	}
	named := map[string]bool{}
	for _, p := range processes {
		if p.MiB != nil {
			counted[p.GPU] += *p.MiB
		}
		// A process on an unnamed GPU may be on any.
		if (p.GPU != "" && !asked[p.GPU]) || ignored(p.Name, ignore) {
			continue
		}
		o.Processes = append(o.Processes, p)
		named[p.GPU], named[""] = true, named[""] || p.GPU == ""
	}
	for _, g := range gpus {
		used, ok := g.Number("memory.used")
		if !asked[g.UUID] || !ok || named[g.UUID] || named[""] {
			continue
		}
		if used-counted[g.UUID] > idleMiB {
			o.Hidden = append(o.Hidden, g)
		}
	}
	return o
}

// Ignored reports that the process is tolerated on a GPU, or that its program
// matches one of the globs.
func (p Process) Ignored(globs []string) bool { return ignored(p.Name, globs) }

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

// Look asks who is on the GPUs, see Foreign.
type Look func(ctx context.Context) (Occupied, error)

// WaitFree looks every so often until nobody is on the GPUs, for up to wait, and
// says who still is. changed is called whenever somebody else is there than
// before, so that whoever waits knows for whom. An error of look ends the wait.
func WaitFree(ctx context.Context, look Look, every, wait time.Duration, changed func(Occupied)) (Occupied, error) {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	told := ""
	for {
		o, err := look(ctx)
		if err != nil || o.Free() {
			return o, err
		}
		if who := o.who(); who != told && changed != nil {
			changed(o)
			told = who
		}
		select {
		case <-ctx.Done():
			return o, context.Cause(ctx)
		case <-limit.C:
			return o, nil
		case <-time.After(every):
		}
	}
}

// who is there, without how much each holds, which changes all the time.
func (o Occupied) who() string {
	var b strings.Builder
	for _, p := range o.Processes {
		fmt.Fprint(&b, p.PID, p.GPU, ";")
	}
	for _, g := range o.Hidden {
		fmt.Fprint(&b, g.UUID, ";")
	}
	return b.String()
}
