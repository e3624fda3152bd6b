package process

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// killWait is how long the kernel gets to end processes after SIGKILL. Only a
// process stuck in a driver needs longer, and that one may never end.
const killWait = 30 * time.Second

// Stop implements Instance. The error is a *Failure that names what could not
// be ended; calling again tries again.
func (p *process) Stop(ctx context.Context) error { return p.stopper.Stop(ctx, p.end) }

// end stops everything and returns when it is gone.
func (p *process) end(hurry <-chan struct{}) error {
	p.sampleMemory(true) // the last chance to see the high-water marks
	grace := time.NewTimer(p.spec.StopGrace)
	defer grace.Stop()
	if !p.family.until(p.family.terminate, grace.C, hurry) {
		limit := time.NewTimer(killWait)
		defer limit.Stop()
		if !p.family.until(p.family.kill, limit.C, nil) {
			return p.failure("stop", nil, "%s did not end within %s of SIGKILL; "+
				"a process stuck in a driver ends only with it (see dmesg)", p.family.describe(), engine.Brief(killWait))
		}
	}
	close(p.endWait)
	<-p.watched // before reaping: the watch must not see a group id given away
	p.child.reap()
	return nil
}

// until calls step, which signals whatever is left and reports whether there
// was anything, again and again until nothing is left (true), or the time is up
// or there is a hurry (false).
func (f *family) until(step func() bool, timeUp <-chan time.Time, hurry <-chan struct{}) bool {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		if !step() {
			return true
		}
		select {
		case <-timeUp:
			return false
		case <-hurry:
			return false
		case <-time.After(wait):
		}
	}
}

func describePIDs(pids []int) string {
	words := make([]string, len(pids))
	for i, pid := range pids {
		words[i] = fmt.Sprint(pid)
	}
	if len(words) == 1 {
		return "process " + words[0]
	}
	return fmt.Sprintf("%d processes (%s)", len(words), strings.Join(words, ", "))
}
