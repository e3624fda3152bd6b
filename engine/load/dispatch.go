package load

import (
	"sync"
	"time"
)

// send sends conversations in order, at most atOnce at a time (0 is any number),
// each at its time, or without times as soon as there is a place. It returns
// when all are answered.
func (r *runner) send(list []job, atOnce int, at []time.Time) {
	// places holds, for each place that is free, since when it is.
	var places chan time.Time
	if atOnce > 0 {
		places = make(chan time.Time, min(atOnce, len(list)))
		now := time.Now()
		for range cap(places) {
			places <- now
		}
	}
	var wake alarm
	if at != nil {
		wake = r.alarms(r.ctx)
		defer wake.close()
	}
	var flying sync.WaitGroup
	defer flying.Wait()
	for i, j := range list {
		var scheduled, free time.Time
		if at != nil {
			scheduled = at[i]
			wake.until(scheduled)
		}
		if places != nil {
			select {
			case free = <-places:
			case <-r.ctx.Done():
			}
		}
		if at == nil {
			scheduled = free
		}
		if r.stopped() || r.over(j, at == nil) {
			return
		}
		due := scheduled
		if free.After(due) {
			due = free
		}
		flying.Go(func() {
			r.talk(j, scheduled, due)
			if places != nil {
				places <- time.Now()
			}
		})
	}
}

// over reports whether the time of a closed loop is over, which begins with its
// first measured request that does not go alone.
func (r *runner) over(j job, closed bool) bool {
	if j.warmup || j.context || j.alone || r.plan.Pace.Duration == 0 {
		return false
	}
	r.mu.Lock()
	if r.end.IsZero() {
		r.end = time.Now().Add(r.plan.Pace.Duration)
	}
	r.mu.Unlock()
	return closed && r.ended()
}

// ended reports whether the time in which requests are sent has passed.
func (r *runner) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.end.IsZero() && !time.Now().Before(r.end)
}
