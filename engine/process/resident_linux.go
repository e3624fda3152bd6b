package process

import "os"

// PIDs implements Resident: the processes that were last seen of the launch. The
// process table is searched by the watch, about once a second.
func (p *process) PIDs() []int { return p.family.pids() }

func (f *family) pids() (list []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.known {
		if id.alive() {
			list = append(list, id.pid)
		}
	}
	return list
}

// Descendants are a process and all that descend from it, without this one;
// none where it is not there.
func Descendants(pid int) (list []int) {
	leader, err := readProc(pid)
	if err != nil {
		return nil
	}
	table, err := processTable()
	if err != nil {
		return nil
	}
	self := os.Getpid()
	set := map[procID]proc{leader.procID: leader}
	descend(table, set, func(p proc) bool { return p.pid == self })
	for id, p := range set {
		if !p.gone {
			list = append(list, id.pid)
		}
	}
	return list
}
