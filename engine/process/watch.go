package process

import "time"

const (
	// watchEvery is how often a running engine's memory and log are looked at.
	watchEvery = 200 * time.Millisecond
	// findEvery is how many of those looks pass between searches of the whole
	// process table for new children: the search costs far more than a look,
	// and must not disturb what is being measured.
	findEvery = 5
)

// watch looks after a running engine until Stop has finished: it samples
// memory, remembers children (one that leaves the group and loses its parent
// can later only be known by having been seen), and keeps the log bounded.
func (p *process) watch() {
	defer close(p.watched)
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

// sampleMemory raises the peak; search looks for new processes first.
func (p *process) sampleMemory(search bool) {
	now := p.family.memory(search)
	for {
		peak := p.peak.Load()
		if now <= peak || p.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}
