package profile

import (
	"cmp"
	"slices"
	"strings"
)

// Class is what a host thread was doing, and so why a GPU waited.
type Class uint8

const (
	// Unrecorded is nothing that the profile shows: between steps usually the scheduler,
	// IPC or Python without its stack.
	Unrecorded Class = iota
	// Unlaunched is a wait without a known call that ended it.
	Unlaunched
	// Queued is a wait although the work was launched before it: the GPU's own time
	// between kernels.
	Queued
	// Launching is a call that starts work, up to the start of the work.
	Launching
	// Synchronizing is waiting for the GPU, and returning from that.
	Synchronizing
	// API is any other call of the GPU's runtime.
	API
	// Ops are operators of the framework.
	Ops
	Python
	// Step is within the engine's mark around a step, without anything more specific.
	Step
	Tokenizer
	Detokenizer
	Scheduler
	IPC
	HTTP
	classes
)

// Causes are the classes' names in an analysis.
var Causes = [classes]string{
	Unrecorded: "unrecorded", Unlaunched: "unknown", Queued: "queued", Launching: "launch", Synchronizing: "synchronize", API: "runtime_api",
	Ops: "operators", Python: "python", Step: "in_step", Tokenizer: "tokenizer", Detokenizer: "detokenizer", Scheduler: "scheduler", IPC: "ipc", HTTP: "http",
}

// specific reports whether a class is more specific than what encloses it.
func (c Class) specific() bool {
	return c != Unrecorded && c != Python && c != Step && c != Ops && c != API
}

// classRules determine what a thread is doing from what it runs, in lower case; the first
// match counts.
var classRules = []struct {
	words []string
	class Class
}{
	{[]string{"detokeniz"}, Detokenizer},
	{[]string{"tokeniz"}, Tokenizer},
	{[]string{"scheduler", "/sched/", "schedule_batch", "schedule_policy"}, Scheduler},
	{[]string{"zmq", "msgpack", "msgspec", "shm_broadcast", "pickle", "socket", "multiprocessing", "core_client", "queue.py", "serial_utils", "recv_requests", "send_to"}, IPC},
	{[]string{"uvicorn", "starlette", "fastapi", "http"}, HTTP},
}

// Class is the class of a host event with a kind (cuda_runtime, cpu_op, python_function,
// user_annotation) and a name.
func (b *Builder) Class(kind string, name []byte) Class {
	switch kind {
	case "cuda_runtime", "cuda_driver", "hip_runtime":
		if c, ok := b.classes[string(name)]; ok {
			return c
		}
		return b.remember(string(name), callClass(strings.ToLower(string(name))))
	case "user_annotation":
		return Step
	}
	if c, ok := b.classes[string(name)]; ok {
		return c
	}
	lower := strings.ToLower(string(name))
	class := Ops
	switch kind {
	case "python_function":
		class = Python
	case "nvtx":
		class = Step
	}
	for _, r := range classRules {
		if slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(lower, w) }) {
			class = r.class
			break
		}
	}
	return b.remember(string(name), class)
}

func (b *Builder) remember(name string, c Class) Class {
	if len(b.classes) < maxNames && len(name) < 1<<10 {
		b.classes[name] = c
	}
	return c
}

func callClass(lower string) Class {
	switch {
	case strings.Contains(lower, "synchronize"), strings.Contains(lower, "eventquery"), strings.HasPrefix(lower, "cudamemcpy_"), lower == "cudamemcpy":
		return Synchronizing
	case strings.Contains(lower, "launch"), strings.Contains(lower, "memcpy"), strings.Contains(lower, "memset"):
		return Launching
	}
	return API
}

// gap is time in which a GPU waited until a thread launched the next work.
type gap struct {
	start, end int64
	part       *walked
	// left is the part that no class explains so far.
	left int64
	// seen are the classes that it is counted for.
	seen uint32
}

// wait determines why a GPU waited until the next work starts. attribute determines what
// the launching thread did.
func (b *Builder) wait(r *rank, a *activity, gaps map[ThreadID][]gap) {
	count := func(c Class, ns int64) {
		r.part.waits[c].count++
		r.part.waits[c].ns += ns
	}
	l, known := b.launched(a.correlation)
	switch {
	case !known:
		count(Unlaunched, a.start-r.busy)
	case l.end <= r.busy || r.last == a.correlation:
		count(Queued, a.start-r.busy)
	default:
		from := min(max(l.start, r.busy), a.start)
		count(Launching, a.start-from)
		if from > r.busy {
			gaps[l.thread] = append(gaps[l.thread], gap{start: r.busy, end: from, left: from - r.busy, part: r.part})
		}
	}
}

// following is the position of the walk over a thread's events.
type following struct {
	stack []frame
	at    int64
	gaps  []gap
	spans []span
	// first gap and span not yet over.
	gap, span int
}

type frame struct {
	end   int64
	class Class
}

// attribute determines what threads did while GPUs waited for them, and how long they
// were busy within steps.
func (b *Builder) attribute(gaps map[ThreadID][]gap, counted map[*rank]bool) {
	threads := make([]following, len(b.threads))
	for id := range threads {
		f := &threads[id]
		f.gaps = gaps[ThreadID(id)]
		slices.SortStableFunc(f.gaps, func(x, y gap) int { return cmp.Compare(x.start, y.start) })
		for _, r := range b.ranks {
			if counted[r] && r.owned && r.owner == b.threads[id].process {
				f.spans = r.spans
				break
			}
		}
	}
	for e := range b.host.ordered(func(e hostEvent) int64 { return e.start }) {
		f := &threads[e.thread]
		f.until(e.start, e.thread)
		class := e.class
		if n := len(f.stack); n > 0 && !class.specific() && f.stack[n-1].class.specific() {
			class = f.stack[n-1].class
		}
		f.stack = append(f.stack, frame{e.end, class})
		f.at = max(f.at, e.start)
	}
	for id := range threads {
		f := &threads[id]
		f.until(1<<63-1, ThreadID(id))
		for i := range f.gaps {
			f.add(&f.gaps[i], Unrecorded, f.gaps[i].left)
		}
	}
}

// until advances to a time: calls that are over are popped from the stack.
func (f *following) until(at int64, id ThreadID) {
	for n := len(f.stack); n > 0; n = len(f.stack) {
		top := f.stack[n-1]
		end := min(top.end, at)
		if end > f.at {
			f.segment(f.at, end, top.class, id)
			f.at = end
		}
		if top.end > at {
			return
		}
		f.stack = f.stack[:n-1]
	}
}

// segment is time in which a thread was doing one thing.
func (f *following) segment(from, to int64, class Class, id ThreadID) {
	for f.gap < len(f.gaps) && f.gaps[f.gap].end <= from {
		f.gap++
	}
	for i := f.gap; i < len(f.gaps) && f.gaps[i].start < to; i++ {
		g := &f.gaps[i]
		if ns := min(to, g.end) - max(from, g.start); ns > 0 {
			f.add(g, class, ns)
		}
	}
	for f.span < len(f.spans) && f.spans[f.span].end <= from {
		f.span++
	}
	for i := f.span; i < len(f.spans) && f.spans[i].start < to; i++ {
		if ns := min(to, f.spans[i].end) - max(from, f.spans[i].start); ns > 0 && class != Synchronizing {
			f.spans[i].part.threads[id] += ns
		}
	}
}

func (f *following) add(g *gap, class Class, ns int64) {
	if ns <= 0 {
		return
	}
	w := &g.part.waits[class]
	w.ns += ns
	g.left -= ns
	if g.seen&(1<<class) == 0 {
		g.seen |= 1 << class
		w.count++
	}
}
