package telemetry

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/engine/gpu"
)

// view is what one look shows of a GPU.
type view struct {
	// ownMiB is what the engine holds; nil where that is not known.
	ownMiB *float64
	// foreign is the number of processes that are not the engine's, -1 where that
	// is not known; who they are, and why it is not known, in words.
	foreign int
	who     []string
	why     string
}

// occupants tells the engine's processes on GPUs from others.
type occupants struct {
	gpus   []string
	ignore []string
	idle   float64
	// kin says whether a process belongs to those of own or to the container.
	kin func(pid int, own []int, container string) relation
	// strangers are processes that do not exist here, and GPUs with memory that
	// nobody accounts for, as of the look before.
	strangers map[stranger]bool
}

type stranger struct {
	pid int
	gpu string
}

// look judges one list of processes. What does not exist here any more, or is
// not accounted for, may be about to be gone or have just come: it counts when it
// is there twice. nvidia-smi numbers processes as the machine does; inside a
// container it may show other numbers or nothing at all, and nothing can be said
// then unless it shows the engine's own.
func (o *occupants) look(list []gpu.Process, own []int, container string, used map[string]float64) map[string]view {
	if len(own) == 0 {
		o.strangers = nil
		return nil
	}
	views, now := map[string]view{}, map[stranger]bool{}
	for _, uuid := range o.gpus {
		v := view{}
		var ownMiB, shown float64
		ownSeen, allKnown, gone := false, true, 0
		for _, p := range list {
			if p.GPU != "" && p.GPU != uuid {
				continue
			}
			if p.MiB != nil {
				shown += *p.MiB
			}
			key := stranger{p.PID, uuid}
			rel := o.kin(p.PID, own, container)
			switch {
			case rel == kindred:
				ownSeen = true
				if p.MiB != nil && p.GPU != "" {
					ownMiB += *p.MiB
				} else {
					allKnown = false
				}
			case p.Ignored(o.ignore):
			case rel == missing:
				now[key] = true
				if o.strangers[key] {
					gone++
					v.who = append(v.who, p.String()+", which does not exist where mxflow runs")
				}
			default:
				v.foreign++
				v.who = append(v.who, p.String())
			}
		}
		if ownSeen && allKnown {
			v.ownMiB = &ownMiB
		}
		total, known := used[uuid]
		hidden := known && total-shown > o.idle
		key := stranger{-1, uuid}
		now[key] = hidden
		switch {
		case ownSeen:
			v.foreign += gone
			if hidden && o.strangers[key] {
				v.foreign++
				v.who = append(v.who, fmt.Sprintf("%.0f MiB that no process accounts for, such as of one in another container", total-shown))
			}
		case v.foreign > 0: // at least those
		case known && !hidden && gone == 0:
		default:
			v = view{foreign: -1, why: "nvidia-smi shows none of the engine's own processes there, as in a container of its own"}
		}
		views[uuid] = v
	}
	o.strangers = now
	return views
}

// relation is what a process is to the engine.
type relation int

const (
	foreign relation = iota
	kindred
	// missing: there is no such process here.
	missing
)

// kinship looks among the ancestors of a process for one of own, and in its
// control group for the container.
func kinship(pid int, own []int, container string) relation {
	for p, depth := pid, 0; p > 1 && depth < 64; depth++ {
		if slices.Contains(own, p) {
			return kindred
		}
		p = parent(p)
	}
	switch {
	case container != "" && inContainer(pid, container):
		return kindred
	case !exists(pid):
		return missing
	}
	return foreign
}
