package gpu

import (
	"context"
	"sync"
	"time"
)

// FollowProcesses has nvidia-smi list the processes on the GPUs every so often
// until ctx ends, which costs far less than to start it each time. each is
// called with every list that is whole, and when it was made. Where no process is
// on any GPU, nvidia-smi prints nothing, and nothing is called: that may as well
// mean that it hangs. It returns as follow does.
func FollowProcesses(ctx context.Context, every time.Duration, each func([]Process, time.Time)) error {
	r := &rounds{each: each, quiet: every / 4}
	r.end = time.AfterFunc(time.Hour, r.flush)
	defer r.close()
	return follow(ctx, 0, append(processQuery[:2:2], "-lms", millis(every)), r.line)
}

// rounds puts lines together that belong to one list: they come at once, and none
// comes twice.
type rounds struct {
	each  func([]Process, time.Time)
	quiet time.Duration

	mu   sync.Mutex
	end  *time.Timer
	list []Process
	at   time.Time
	// broken: a line could not be read, and a list with a hole is none.
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
			r.finish() // the next list came at its heels
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

// finish hands out a list. r.mu must be held.
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

// close drops what is not whole: nvidia-smi may have ended in the middle of it.
func (r *rounds) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.end.Stop()
}
