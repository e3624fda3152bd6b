package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"time"

	"github.com/mxflow/mxflow/engine/trace/symbol"
	"github.com/mxflow/mxflow/internal/sorted"
)

// What a profile can lack. An empty analysis is never returned.
var (
	ErrNoKernels = errors.New("no kernels ran during the recording")
	ErrHidden    = errors.New("all kernels are hidden in CUDA graphs")
	ErrNoSteps   = errors.New("no kernels ran within its named steps")
	// ErrNoClock is for a profile of which only a window counts.
	ErrNoClock = errors.New("it does not say when its kernels ran, so phases cannot be told apart: " +
		"let pages start and stop the profiler (start and stop of the profiler block), which makes a file of each")
)

// Options are what a profile does not contain.
type Options struct {
	// Phase, Requests, Steps and Tokens are for a profile without information about its
	// steps. What engines wrote into it takes precedence.
	Phase                   string
	Requests, Steps, Tokens int
	// From and To limit what counts, by the wall clock; zero is no limit.
	From, To time.Time
	// Rules are the plan's categories, which precede ours.
	Rules symbol.Rules
}

// maxEvents is how many events of a profile are kept: about 2 GB.
const maxEvents = 48 << 20

// capture is what a profiler recorded, as a reader of its format adds it, in any order.
// Times are in ns of the profile's clock.
type capture struct {
	Options
	kernels   map[string]*Kernel
	gpus      []*gpu // in the order of their first work
	threads   map[[2]string]*thread
	processes map[string]string // names by ID
	work      []activity
	calls     map[uint32]*call     // by correlation
	doings    map[[2]string]string // by kind and name
	host      int                  // how many events of threads there are
	// graphs are launches of graphs without any kernel.
	graphs map[uint32]bool
	// summed is a profile that only has sums of kernels.
	summed sums
	// epoch is when the profile's clock was 0, in ns since 1970.
	epoch   int64
	clocked bool
}

// activity is a kernel or copy on a GPU.
type activity struct {
	start, end int64
	gpu        *gpu
	kernel     *Kernel
	// correlation identifies the call that launched it, which is nil if unknown.
	correlation uint32
	launch      *call
}

// call is one of the host that started something on a GPU.
type call struct {
	start, end int64
	thread     *thread
}

// window is a step of the model, by the clock of its mark.
type window struct {
	start, end int64
	id         string
	step       Annotation
}

// span is a step as a GPU worked at it.
type span struct {
	start, end int64
	part       *sum
}

// gap is time in which a GPU waited until a thread launched the next work.
type gap struct {
	start, end int64
	part       *sum
	// left is what nothing explains so far.
	left int64
}

type thread struct {
	process, id, name string
	events            []event
	// marks are of steps, for GPUs without marks of their own, layers those of the model.
	marks  []window
	layers []event
	gaps   []gap
}

type event struct {
	start, end int64
	doing      string
}

// gpu is one of a profile, and the position of the walk over its work.
type gpu struct {
	id string
	// marks are the marks of steps. byLaunch is set if they are the host's, and work
	// belongs to the one that it was launched in.
	marks    []window
	byLaunch bool
	// launcher is the thread that launched most of its work, nil if unknown.
	launcher *thread
	// tail is how long after a step's mark its last work may start, idle how long a GPU
	// waits before it counts as idle.
	tail, idle int64

	at    int // in marks
	part  *sum
	start int64
	busy  int64  // until when it works
	last  uint32 // the call that launched what started last
	spans []span
}

func newCapture(o Options) *capture {
	return &capture{
		Options: o, kernels: map[string]*Kernel{}, threads: map[[2]string]*thread{},
		processes: map[string]string{}, graphs: map[uint32]bool{}, summed: sums{}, calls: map[uint32]*call{},
		doings: map[[2]string]string{},
	}
}

func (c *capture) kernel(name string) *Kernel {
	k := c.kernels[name]
	if k == nil {
		k = &Kernel{Name: name, Short: symbol.Short(name), Category: c.Rules.Category(name)}
		c.kernels[name] = k
	}
	return k
}

func (c *capture) gpu(id string) *gpu {
	i := slices.IndexFunc(c.gpus, func(g *gpu) bool { return g.id == id })
	if i < 0 {
		i = len(c.gpus)
		c.gpus = append(c.gpus, &gpu{id: id, at: -1})
	}
	return c.gpus[i]
}

func (c *capture) thread(process, id string) *thread {
	key := [2]string{process, id}
	if c.threads[key] == nil {
		c.threads[key] = &thread{process: process, id: id}
	}
	return c.threads[key]
}

// outside reports whether a time is outside the options' limits.
func (c *capture) outside(at int64) bool {
	if !c.clocked {
		return false
	}
	wall := time.Unix(0, c.epoch+at)
	return !c.From.IsZero() && wall.Before(c.From) || !c.To.IsZero() && wall.After(c.To)
}

// activity adds a kernel or a copy.
func (c *capture) activity(start, end int64, on, name string, correlation uint32) error {
	switch {
	case end < start:
		return fmt.Errorf("kernel %s ends %d ns before it starts: the clock went backwards",
			symbol.Short(name), start-end)
	case len(c.work)+len(c.calls)+c.host > maxEvents:
		return fmt.Errorf("more than %d events: record a shorter window", maxEvents)
	case !c.outside(start):
		c.work = append(c.work, activity{start, end, c.gpu(on), c.kernel(name), correlation, nil})
	}
	return nil
}

func (c *capture) sum(name string, count int, ns int64) {
	c.summed.of(cmp.Or(c.Phase, Whole), c.Requests).kernel(*c.kernel(name), count, float64(ns))
}

// call adds one that starts work, by the host's clock, which is the GPU's.
func (c *capture) call(start, end int64, by *thread, correlation uint32) {
	if correlation != 0 && end >= start && c.calls[correlation] == nil {
		c.calls[correlation] = &call{start, end, by}
	}
}

// graph adds a launch of a CUDA graph, whose kernels have its correlation.
func (c *capture) graph(start int64, correlation uint32) {
	if !c.outside(start) {
		c.graphs[correlation] = true
	}
}

// layer matches PyTorch's events of a model's layers.
var layer = regexp.MustCompile(`^nn\.Module: (\w*(?:Layer|Block)_\d+)$`)

// doing adds and returns what a thread did, by the kind and name of its event.
func (c *capture) doing(start, end int64, by *thread, kind, name string) string {
	key := [2]string{kind, name}
	what, known := c.doings[key]
	if !known {
		what = doingOf(kind, name)
		c.doings[key] = what
	}
	if kind == "python_function" {
		if m := layer.FindStringSubmatch(name); m != nil {
			by.layers = append(by.layers, event{start, end, m[1]})
		}
	}
	if end > start && c.host < maxEvents {
		c.host++
		by.events = append(by.events, event{start, end, what})
	}
	return what
}

// mark adds a text around a step; marks with one ID on several streams are one. Texts that
// no engine writes around its steps are skipped.
func (c *capture) mark(to *[]window, start, end int64, id, text string) {
	if step, ok := ReadAnnotation(text); ok && end >= start && !c.outside(start) {
		*to = append(*to, window{start, end, id, step})
	}
}

// analysis returns the parts, and fills the file's entry about its kernels.
func (c *capture) analysis(file *File) ([]Part, error) {
	if !c.clocked && !(c.From.IsZero() && c.To.IsZero()) {
		return nil, ErrNoClock
	}
	parts := c.summed
	if len(parts) == 0 {
		parts = c.walk()
	}
	counted := func(k *Kernel) bool { return k.Category != symbol.Hidden && !symbol.IsCopy(k.Name) }
	ran := false
	file.Hidden = len(c.graphs)
	for i := range c.work {
		ran = ran || counted(c.work[i].kernel)
		if c.work[i].kernel.Category == symbol.Hidden {
			file.Hidden++
		}
	}
	for _, g := range c.gpus {
		id := g.id
		if g.launcher != nil {
			id = g.launcher.process
		}
		if name := cmp.Or(c.processes[id], c.processes[g.id], id); g.launcher != nil || name != id {
			file.Processes = append(file.Processes, name)
		}
	}
	slices.Sort(file.Processes)
	file.Processes = slices.Compact(file.Processes)
	for _, s := range parts {
		if s.Steps == 0 {
			s.Steps, s.Tokens = c.Steps*max(s.GPUs, 1), c.Tokens*max(s.GPUs, 1)
		}
		if s.uncounted {
			s.Tokens = 0
		}
		for _, k := range s.kernels {
			if len(c.summed) > 0 && k.Category == symbol.Hidden {
				file.Hidden += k.Count
			}
		}
	}
	switch out := parts.parts(); {
	case slices.ContainsFunc(out, func(p Part) bool {
		return slices.ContainsFunc(p.Kernels, func(k Kernel) bool { return counted(&k) })
	}):
		return out, nil
	case len(out) == 0 && ran:
		return nil, ErrNoSteps
	case file.Hidden > 0:
		return nil, ErrHidden
	}
	return nil, ErrNoKernels
}

// walk iterates over all work in time order, and assigns it to the step in which it
// started.
func (c *capture) walk() sums {
	slices.SortStableFunc(c.work, func(a, b activity) int { return cmp.Compare(a.start, b.start) })
	votes := map[*gpu]map[*thread]int{}
	for i := range c.work {
		a := &c.work[i]
		delete(c.graphs, a.correlation)
		if votes[a.gpu] == nil {
			votes[a.gpu] = map[*thread]int{}
		}
		if a.launch = c.calls[a.correlation]; a.launch != nil {
			of, by := votes[a.gpu], a.launch.thread
			if of[by]++; of[by] > of[a.gpu.launcher] {
				a.gpu.launcher = by
			}
		}
	}
	for _, g := range c.gpus {
		g.prepare()
	}
	for _, t := range c.threads {
		slices.SortStableFunc(t.layers, func(x, y event) int { return cmp.Compare(x.start, y.start) })
	}
	parts := sums{}
	for i := range c.work {
		a := &c.work[i]
		g := a.gpu
		c.step(g, a, parts)
		if g.part == nil {
			continue
		}
		g.part.kernel(*a.kernel, 1, float64(a.end-a.start))
		if a.launch != nil && len(a.launch.thread.layers) > 0 {
			of := a.launch.thread.layers // which are in order, and do not nest
			i := sort.Search(len(of), func(i int) bool { return of[i].start > a.launch.start }) - 1
			if i >= 0 && a.launch.start < of[i].end {
				g.part.layer(of[i].doing, 1, float64(a.end-a.start))
			}
		}
		if a.start > g.busy {
			g.wait(a)
			g.busy = a.start
		}
		if a.end > g.busy {
			g.part.Busy += float64(a.end - g.busy)
			g.busy = a.end
		}
		g.last = a.correlation
	}
	for _, g := range c.gpus {
		g.close(g.busy)
	}
	for _, t := range sorted.By(c.threads, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		i := slices.IndexFunc(c.gpus, func(g *gpu) bool { return g.launcher != nil && g.launcher.process == t.process })
		var spans []span
		if i >= 0 {
			spans = c.gpus[i].spans
		}
		name := t.name
		if name == "" {
			name = fmt.Sprintf("%s, thread %s", cmp.Or(c.processes[t.process], "process "+t.process), t.id)
		}
		t.attribute(name, spans)
	}
	return parts
}

// prepare puts the steps of a GPU in order.
func (g *gpu) prepare() {
	if len(g.marks) == 0 && g.launcher != nil {
		g.marks, g.byLaunch = slices.Clone(g.launcher.marks), true
	}
	slices.SortStableFunc(g.marks, func(x, y window) int { return cmp.Compare(x.start, y.start) })
	// One mark appears on each stream that has work of it.
	merged := g.marks[:0]
	for _, w := range g.marks {
		latest := merged[max(0, len(merged)-8):]
		if i := slices.IndexFunc(latest, func(l window) bool { return w.id != "" && l.id == w.id }); i >= 0 {
			latest[i].end = max(latest[i].end, w.end)
		} else {
			merged = append(merged, w)
		}
	}
	g.marks = merged
	var long, apart []int64
	for i, w := range g.marks {
		long = append(long, w.end-w.start)
		if i > 0 {
			apart = append(apart, max(0, w.start-g.marks[i-1].end))
		}
	}
	// A GPU that waits for less than 20 ms is not idle.
	g.tail, g.idle = max(median(apart), int64(time.Millisecond)), max(10*median(long), int64(20*time.Millisecond))
}

func median(of []int64) int64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[len(of)/2]
}

// step moves a GPU on to the step of the next work, and closes the previous one.
func (c *capture) step(g *gpu, a *activity, parts sums) {
	open := func(s *sum) {
		if !s.gpus[g] {
			s.gpus[g] = true
			s.GPUs++
		}
		g.busy = max(g.busy, a.start)
		g.part, g.start = s, a.start
	}
	if len(g.marks) == 0 {
		if g.part == nil {
			open(parts.of(cmp.Or(c.Phase, Whole), c.Requests))
		}
		return
	}
	at := a.start
	if a.launch != nil && g.byLaunch {
		at = a.launch.start
	}
	next := g.at
	if next+1 < len(g.marks) && g.marks[next+1].start <= at {
		next = sort.Search(len(g.marks), func(i int) bool { return g.marks[i].start > at }) - 1
	}
	switch {
	case next > g.at:
		if g.part != nil && a.start > g.busy && !g.idled(a.start) {
			g.wait(a)
		}
		g.close(a.start)
		g.at = next
		step := g.marks[next].step
		s := parts.of(step.Phase, step.Requests)
		s.Steps++
		s.Tokens += step.Tokens
		s.uncounted = s.uncounted || step.Tokens == 0
		open(s)
	case g.part != nil && at > g.marks[next].end+g.tail && (next+1 == len(g.marks) || g.idled(a.start)):
		g.close(g.busy) // Work long after a step does not belong to it: no mark surrounds it.
	}
}

// idled reports whether a GPU had nothing to do until then.
func (g *gpu) idled(at int64) bool { return len(g.marks) > 0 && at-g.busy > g.idle }

// close ends a step where the next starts or, if the GPU was idle until then, with its
// last work.
func (g *gpu) close(at int64) {
	if g.part == nil {
		return
	}
	if g.idled(at) {
		at = g.busy
	}
	at = max(at, g.start)
	g.part.Wall += float64(at - g.start)
	g.spans = append(g.spans, span{g.start, at, g.part})
	g.part = nil
}

// wait determines why a GPU waited until the next work starts. attribute determines what
// the launching thread did.
func (g *gpu) wait(a *activity) {
	l := a.launch
	switch {
	case l == nil:
		g.part.waits[unlaunched] += float64(a.start - g.busy)
	case l.end <= g.busy || g.last == a.correlation:
		g.part.waits[queued] += float64(a.start - g.busy)
	default:
		from := min(max(l.start, g.busy), a.start)
		g.part.waits[launching] += float64(a.start - from)
		if from > g.busy {
			l.thread.gaps = append(l.thread.gaps, gap{g.busy, from, g.part, from - g.busy})
		}
	}
}

// attribute determines what a thread did while GPUs waited for it, and how long it was
// busy within steps.
func (t *thread) attribute(name string, spans []span) {
	slices.SortStableFunc(t.events, func(x, y event) int { return cmp.Compare(x.start, y.start) })
	slices.SortStableFunc(t.gaps, func(x, y gap) int { return cmp.Compare(x.start, y.start) })
	var stack []event
	at, nextGap, nextSpan := int64(math.MinInt64), 0, 0
	// did is time in which the thread was doing one thing.
	did := func(from, to int64, what string) {
		for nextGap < len(t.gaps) && t.gaps[nextGap].end <= from {
			nextGap++
		}
		for i := nextGap; i < len(t.gaps) && t.gaps[i].start < to; i++ {
			g := &t.gaps[i]
			ns := max(0, min(to, g.end)-max(from, g.start))
			g.part.waits[what] += float64(ns)
			g.left -= ns
		}
		for nextSpan < len(spans) && spans[nextSpan].end <= from {
			nextSpan++
		}
		for i := nextSpan; i < len(spans) && spans[i].start < to && what != synchronizing; i++ {
			spans[i].part.threads[name] += float64(max(0, min(to, spans[i].end)-max(from, spans[i].start)))
		}
	}
	// until advances to a time: what is over leaves the stack.
	until := func(time int64) {
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			if end := min(top.end, time); end > at {
				did(at, end, top.doing)
				at = end
			}
			if top.end > time {
				return
			}
			stack = stack[:len(stack)-1]
		}
	}
	for _, e := range t.events {
		until(e.start)
		if n := len(stack); n > 0 && slices.Contains(vague, e.doing) && !slices.Contains(vague, stack[n-1].doing) {
			e.doing = stack[n-1].doing
		}
		stack = append(stack, e)
		at = max(at, e.start)
	}
	until(math.MaxInt64)
	for _, g := range t.gaps {
		g.part.waits[unrecorded] += float64(g.left)
	}
}
