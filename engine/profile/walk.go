package profile

import (
	"fmt"
	"slices"
	"sort"
	"time"
)

// idleLeast is the shortest wait that may mean an idle GPU.
const idleLeast = 20 * time.Millisecond

// walk iterates over all work in time order, and assigns it to the step in which it
// started.
func (b *Builder) walk(ranks []*rank, counted map[*rank]bool) []*walked {
	parts := map[partKey]*walked{}
	var listed []*walked
	of := func(key partKey) *walked {
		w := parts[key]
		if w == nil {
			w = &walked{key: key, kernels: map[Name]*total{}, gpus: map[*rank]bool{}, threads: map[ThreadID]int64{}}
			parts[key] = w
			listed = append(listed, w)
		}
		return w
	}
	for _, r := range b.ranks {
		b.prepare(r)
	}
	gaps := map[ThreadID][]gap{}
	for a := range b.activities.ordered(func(a activity) int64 { return a.start }) {
		r := ranks[a.lane()]
		if !counted[r] {
			continue
		}
		b.step(r, a, of, gaps)
		w := r.part
		if w == nil {
			continue
		}
		sum := w.kernels[a.name]
		if sum == nil {
			sum = &total{}
			w.kernels[a.name] = sum
		}
		sum.count++
		sum.ns += a.duration()
		if a.start > r.busy {
			b.wait(r, a, gaps)
			r.busy = a.start
		}
		if end := a.start + a.duration(); end > r.busy {
			w.busy += end - r.busy
			r.busy = end
		}
		r.last = a.correlation
	}
	for _, r := range b.ranks {
		r.close(r.busy)
	}
	b.attribute(gaps, counted)
	for _, w := range listed {
		b.plan(w)
	}
	return listed
}

// plan fills in what the profile lacks about a part.
func (b *Builder) plan(w *walked) {
	if len(b.ranks) > 0 && w.steps == 0 {
		w.steps, w.tokens = b.options.Steps*len(w.gpus), b.options.Tokens*len(w.gpus)
	}
	if w.unknownTokens {
		w.tokens = 0
	}
}

// prepare puts the steps of a GPU in order.
func (b *Builder) prepare(r *rank) {
	if len(r.windows) == 0 && r.threaded {
		r.windows, r.byLaunch = b.steps[r.launcher], true
	}
	slices.SortStableFunc(r.windows, func(x, y window) int { return int(min(max(x.start-y.start, -1), 1)) })
	// One mark appears on each stream that has work of it.
	merged := r.windows[:0]
	for _, w := range r.windows {
		i := len(merged) - 1
		for ; i >= 0 && i >= len(merged)-8; i-- {
			if w.id != 0 && merged[i].id == w.id {
				break
			}
		}
		if i >= 0 && i >= len(merged)-8 {
			merged[i].end = max(merged[i].end, w.end)
			continue
		}
		merged = append(merged, w)
	}
	r.windows = merged
	r.at = -1
	var long, apart []int64
	for i, w := range r.windows {
		long = append(long, w.end-w.start)
		if i > 0 {
			apart = append(apart, max(0, w.start-r.windows[i-1].end))
		}
	}
	r.tail, r.idle = median(apart), max(10*median(long), int64(idleLeast))
}

func median(of []int64) int64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[len(of)/2]
}

// step moves a GPU on to the step of the next work, and closes the previous one.
func (b *Builder) step(r *rank, a *activity, of func(partKey) *walked, gaps map[ThreadID][]gap) {
	if len(r.windows) == 0 {
		if !r.began {
			r.open(of(partKey{orWhole(b.options.Phase), b.options.Requests}), a.start)
		}
		return
	}
	at := a.start
	if r.byLaunch {
		if l, ok := b.launched(a.correlation); ok {
			at = l.start
		}
	}
	next := r.at
	if next+1 < len(r.windows) && r.windows[next+1].start <= at {
		next = sort.Search(len(r.windows), func(i int) bool { return r.windows[i].start > at }) - 1
	}
	if next > r.at {
		if r.part != nil && a.start > r.busy && !r.idled(a.start) {
			b.wait(r, a, gaps)
		}
		r.close(a.start)
		r.at = next
		w := r.windows[next]
		part := of(partKey{w.step.Phase, w.step.Requests})
		part.steps++
		part.tokens += w.step.Tokens
		part.unknownTokens = part.unknownTokens || w.step.Tokens == 0
		r.open(part, a.start)
		return
	}
	// Work long after a step does not belong to it: no mark surrounds it.
	if r.part != nil && next >= 0 && at > r.windows[next].end+max(r.tail, int64(time.Millisecond)) && (next+1 == len(r.windows) || r.idled(a.start)) {
		r.close(r.busy)
	}
}

func orWhole(phase string) string {
	if phase == "" {
		return Whole
	}
	return phase
}

// open starts a step.
func (r *rank) open(part *walked, at int64) {
	r.busy = max(r.busy, at)
	r.began, r.part, r.start = true, part, at
	part.gpus[r] = true
}

// close ends a step where the next starts or, if the GPU was idle until then, with its
// last work.
func (r *rank) close(at int64) {
	if r.part == nil {
		return
	}
	if r.idled(at) {
		at = r.busy
	}
	at = max(at, r.start)
	r.part.wall += at - r.start
	r.spans = append(r.spans, span{r.start, at, r.part})
	r.part = nil
}

// idled reports whether a GPU had nothing to do until then.
func (r *rank) idled(at int64) bool { return len(r.windows) > 0 && at-r.busy > r.idle }

// finish converts a part to µs.
func (b *Builder) finish(w *walked, names Naming) Part {
	sum := newPartSum(w.key)
	sum.p.Steps, sum.p.Tokens, sum.p.GPUs = w.steps, w.tokens, len(w.gpus)
	sum.p.Wall, sum.p.Busy = float64(w.wall)/1e3, float64(w.busy)/1e3
	for n, t := range w.kernels {
		sum.kernel(b.kernelOf(n, t.count, float64(t.ns)/1e3))
	}
	for c, t := range w.waits {
		if t.ns > 0 {
			sum.wait(Wait{Cause: Causes[c], Count: t.count, Total: float64(t.ns) / 1e3})
		}
	}
	for id, ns := range w.threads {
		if ns > 0 {
			sum.threads[b.threadName(id, names)] += float64(ns) / 1e3
		}
	}
	return sum.part()
}

func (b *Builder) threadName(id ThreadID, names Naming) string {
	if name := names.Threads[id]; name != "" {
		return name
	}
	t := b.threads[id]
	if name := names.Processes[t.process]; name != "" {
		return fmt.Sprintf("%s, thread %d", name, t.id)
	}
	return fmt.Sprintf("process %d, thread %d", t.process, t.id)
}
