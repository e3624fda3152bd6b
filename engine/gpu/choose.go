package gpu

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Choose picks GPUs by index ("0"), by UUID ("GPU-8f…", or an unambiguous prefix) or by
// MIG device ("MIG-…", which stands for its GPU, by parents). "all" is every GPU, "none"
// none. A name that matches no GPU is an error that lists the existing ones.
func Choose(all []GPU, parents map[string]string, names []string) ([]GPU, error) {
	chosen := map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		switch {
		case name == "none" || name == "void":
			return nil, nil
		case name == "all":
			return all, nil
		}
		found, err := one(all, parents, name)
		if err != nil {
			return nil, err
		}
		chosen[found.UUID] = true
	}
	var out []GPU
	for _, g := range all {
		if chosen[g.UUID] {
			out = append(out, g)
		}
	}
	return out, nil
}

func one(all []GPU, parents map[string]string, name string) (GPU, error) {
	if len(all) == 0 {
		return GPU{}, fmt.Errorf("GPU %q is requested, but nvidia-smi shows none on this machine", name)
	}
	if uuid, ok := parents[name]; ok {
		name = uuid
	}
	index, err := strconv.Atoi(name)
	byIndex := err == nil
	var fits []GPU
	for _, g := range all {
		if byIndex && g.Index == index || !byIndex && len(name) > len("GPU-") && strings.HasPrefix(g.UUID, name) {
			fits = append(fits, g)
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	var there []string
	for _, g := range all {
		there = append(there, g.String())
	}
	if len(fits) > 1 {
		return GPU{}, fmt.Errorf("%q matches several UUIDs; there are %s", name, strings.Join(there, ", "))
	}
	return GPU{}, fmt.Errorf("there is no GPU %q; there are %s", name, strings.Join(there, ", "))
}

// Visible are the GPUs that a program sees with CUDA_VISIBLE_DEVICES set to list, as CUDA
// interprets it: the first name without a match hides those after it.
//
// CUDA counts by speed unless CUDA_DEVICE_ORDER is PCI_BUS_ID, and nvidia-smi by bus. If
// GPUs differ, an index is therefore ambiguous: then all of them are returned, and sure
// is false.
func Visible(all []GPU, parents map[string]string, list, order string) (visible []GPU, sure bool) {
	alike := order == "PCI_BUS_ID"
	if !alike {
		alike = !slices.ContainsFunc(all, func(g GPU) bool { return g.Name != all[0].Name })
	}
	seen := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if _, err := strconv.Atoi(name); err == nil && !alike {
			return all, false
		}
		g, err := one(all, parents, name)
		if err != nil {
			break
		}
		if !seen[g.UUID] {
			visible = append(visible, g)
		}
		seen[g.UUID] = true
	}
	return visible, true
}

// parseParents parses `nvidia-smi -L`: the MIG devices, each with the UUID of its GPU.
func parseParents(out string) map[string]string {
	parents := map[string]string{}
	gpu := ""
	for line := range strings.Lines(out) {
		_, rest, ok := strings.Cut(line, "(UUID: ")
		if !ok {
			continue
		}
		uuid, _, _ := strings.Cut(rest, ")")
		if strings.HasPrefix(uuid, "MIG-") {
			parents[uuid] = gpu
		} else {
			gpu = uuid
		}
	}
	return parents
}

// tolerated compute on GPUs as part of the system, hold little memory there, and never
// leave.
var tolerated = []string{"nvidia-cuda-mps-server", "nvidia-persistenced", "nv-hostengine", "dcgm*", "Xorg", "Xwayland", "gnome-shell", "kwin_*"}

// Occupancy is who or what is using some GPUs.
type Occupancy struct {
	// Processes are those that hold memory there.
	Processes []Process
	// Hidden are GPUs with more memory in use than when idle, for which no process
	// accounts: it is held in another container, or by a process about to end.
	Hidden []GPU
}

// Free reports whether nobody is there.
func (o Occupancy) Free() bool { return len(o.Processes) == 0 && len(o.Hidden) == 0 }

// String says who is there.
func (o Occupancy) String() string {
	var words []string
	for _, p := range o.Processes {
		words = append(words, p.String())
	}
	for _, g := range o.Hidden {
		used, _ := g.Number("memory.used")
		words = append(words, fmt.Sprintf("%.0f MiB of GPU %d are used by something that nvidia-smi does not show, such as a process in another container", used, g.Index))
	}
	return strings.Join(words, "; ")
}

// Foreign returns who is using the GPUs with these UUIDs, besides tolerated programs and
// those whose name matches one of the globs in ignore. idleMiB is the memory that may be
// in use on a GPU that nobody computes on.
func Foreign(ctx context.Context, uuids []string, ignore []string, idleMiB float64) (Occupancy, error) {
	var o Occupancy
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

func foreign(gpus []GPU, processes []Process, uuids, ignore []string, idleMiB float64) (o Occupancy) {
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

// Look returns who is using the GPUs, see Foreign.
type Look func(ctx context.Context) (Occupancy, error)

// WaitFree polls until nobody is using the GPUs, for up to wait, and returns who still
// is. changed is called whenever that changes, so a waiting person knows for whom. An
// error of look ends the wait.
func WaitFree(ctx context.Context, look Look, every, wait time.Duration, changed func(Occupancy)) (Occupancy, error) {
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

// who is there, without the memory, which changes all the time.
func (o Occupancy) who() string {
	var b strings.Builder
	for _, p := range o.Processes {
		fmt.Fprint(&b, p.PID, p.GPU, ";")
	}
	for _, g := range o.Hidden {
		fmt.Fprint(&b, g.UUID, ";")
	}
	return b.String()
}
