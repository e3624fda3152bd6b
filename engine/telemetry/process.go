package telemetry

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// hz is how many ticks the kernel counts a second for user space, on every
// architecture that Go runs on.
const hz = 100

// engineUse counts what the engine's processes take of the host.
type engineUse struct {
	root string
	tape *tape
	// ticks are the processor ticks of every process seen, as last read, those
	// that have ended included, so that their sum never falls.
	ticks map[procID]float64
}

// procID is one process for all time: numbers are given again, start times not.
type procID struct {
	pid   int
	start string
}

// sample reads the processes of own. Their resident sets are added up, so memory
// that they share counts once for each.
func (e *engineUse) sample(own []int) {
	if len(own) == 0 {
		return
	}
	now := time.Now()
	var pages float64
	seen := false
	for _, pid := range own {
		cells := stat(e.root, pid)
		if cells == nil {
			continue
		}
		user, err1 := strconv.ParseFloat(cells[statUser], 64)
		system, err2 := strconv.ParseFloat(cells[statSystem], 64)
		resident, err3 := strconv.ParseFloat(cells[statResident], 64)
		if err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		seen = true
		e.ticks[procID{pid, cells[statStart]}] = user + system
		pages += resident
	}
	if !seen {
		return
	}
	var sum float64
	for _, n := range e.ticks {
		sum += n
	}
	e.tape.add(measure.EngineCPU, "", "s", now, sum/hz)
	e.tape.add(measure.EngineMemory, "", "GB", now, pages*float64(os.Getpagesize())/1e9)
}

// Places of cells behind the name in /proc/PID/stat, see proc_pid_stat(5), where
// they are numbered from 1 and the name is the second.
const (
	statParent   = 4 - 3
	statUser     = 14 - 3
	statSystem   = 15 - 3
	statStart    = 22 - 3
	statResident = 24 - 3
)

// stat is /proc/PID/stat behind the name, which may hold anything; nil where
// there is no such process.
func stat(root string, pid int) []string {
	text, err := os.ReadFile(root + "proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	cells := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(cells) <= statResident {
		return nil
	}
	return cells
}

// parent is the parent of a process, 0 where it is not known.
func parent(pid int) int {
	cells := stat("/", pid)
	if cells == nil {
		return 0
	}
	n, _ := strconv.Atoi(cells[statParent])
	return n
}
