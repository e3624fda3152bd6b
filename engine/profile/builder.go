package profile

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mxflow/mxflow/engine/profile/symbol"
)

// What a profile can lack. An empty analysis is never returned.
var (
	ErrNoKernels    = errors.New("no kernels ran during the recording")
	ErrHidden       = errors.New("all kernels are hidden in CUDA graphs")
	ErrOtherProcess = errors.New("all kernels belong to other processes")
	ErrNoSteps      = errors.New("no kernels ran within its named steps")
	// ErrNoClock is for a profile of which only a window counts.
	ErrNoClock = errors.New("it does not say when its kernels ran, so phases cannot be told apart: let pages start and stop the profiler (start and stop of the profiler block), which makes a file of each")
)

// Options are what a profile does not contain.
type Options struct {
	// Phase, Requests, Steps and Tokens are for a profile without information about its
	// steps. What engines wrote into it takes precedence.
	Phase                   string
	Requests, Steps, Tokens int
	// From and To limit what counts, by the wall clock; zero is no limit.
	From, To time.Time
	// Processes are those that count, by PID, or by a glob of their names; empty means
	// all. Formats without processes ignore them.
	Processes []string
	// Rules are the plan's categories, which precede ours.
	Rules symbol.Rules
}

// limits of what is kept of one file, beyond which a profile is rejected or names are not
// kept: memory stays bounded whatever a file contains.
const (
	maxNames     = 1 << 16
	maxNameBytes = 32 << 20
	maxEvents    = 48 << 20
	maxLong      = int64(1)<<40 - 1 // ns of one kernel, 18 minutes
	maxLane      = 1<<24 - 1
)

// Name is a kernel's name within a Builder.
type Name uint32

// Lane is a stream of a GPU within a Builder.
type Lane uint32

// ThreadID is a thread of the host within a Builder.
type ThreadID uint32

// activity is a kernel or copy. Times are in ns of the profile's clock. 10 million of
// them must fit.
type activity struct {
	start int64
	// long is the duration (40 bits) and the lane.
	long uint64
	name Name
	// correlation is that of the call that launched it, 0 if unknown.
	correlation uint32
}

func (a activity) duration() int64 { return int64(a.long >> 24) }
func (a activity) lane() Lane      { return Lane(a.long & maxLane) }

// launch is a host call that started something on a GPU.
type launch struct {
	start, end  int64
	correlation uint32
	thread      ThreadID
}

// hostEvent is an activity of a host thread.
type hostEvent struct {
	start, end int64
	thread     ThreadID
	class      Class
}

// window is a step of the model, by the clock of its mark.
type window struct {
	start, end int64
	id         int64
	step       Annotation
}

// Builder builds parts from the events of a profile's reader. Events may come in any
// order.
type Builder struct {
	options Options

	names      []string
	categories []string
	byName     map[string]Name
	nameBytes  int
	more       Name

	lanes  []lane
	byLane map[lane]Lane
	ranks  []*rank

	threads  []thread
	byThread map[thread]ThreadID

	activities log[activity]
	launches   log[launch]
	host       log[hostEvent]
	// steps are marks of host threads, for GPUs without marks of their own.
	steps   map[ThreadID][]window
	classes map[string]Class

	sums    map[Name]Kernel
	kernels int
	hidden  int
	unnamed int
	// graphs are launches of graphs without any kernel seen so far.
	graphs  map[uint32]bool
	clock   int64
	clocked bool
}

type lane struct {
	process, device, stream int64
}

type thread struct {
	process, id int64
}

// NewBuilder returns a Builder for one file.
func NewBuilder(o Options) *Builder {
	return &Builder{
		options: o, byName: map[string]Name{}, byLane: map[lane]Lane{}, byThread: map[thread]ThreadID{},
		steps: map[ThreadID][]window{}, classes: map[string]Class{}, sums: map[Name]Kernel{}, graphs: map[uint32]bool{},
	}
}

// Name is the number of a kernel's name. Beyond the maximum of names all count as one
// kernel.
func (b *Builder) Name(name []byte) Name {
	if n, ok := b.byName[string(name)]; ok {
		return n
	}
	if len(b.names) >= maxNames || b.nameBytes+len(name) > maxNameBytes {
		return b.unnamedKernel()
	}
	whole := string(name)
	n := b.newName(whole, b.options.Rules.Category(whole))
	b.byName[whole] = n
	b.nameBytes += len(whole)
	return n
}

func (b *Builder) newName(name, category string) Name {
	b.names, b.categories = append(b.names, name), append(b.categories, category)
	return Name(len(b.names) - 1)
}

// unnamedKernel is the name of all kernels whose own are too many to keep.
func (b *Builder) unnamedKernel() Name {
	if b.unnamed == 0 {
		b.more = b.newName("too many different kernel names", symbol.Other)
	}
	b.unnamed++
	return b.more
}

// Lane is the number of a stream of a GPU, of a process.
func (b *Builder) Lane(process, device, stream int64) (Lane, error) {
	key := lane{process, device, stream}
	if n, ok := b.byLane[key]; ok {
		return n, nil
	}
	if len(b.lanes) >= maxLane {
		return 0, fmt.Errorf("more than %d streams", maxLane)
	}
	n := Lane(len(b.lanes))
	b.lanes = append(b.lanes, key)
	b.byLane[key] = n
	return n, nil
}

// Thread is the number of a thread of the host.
func (b *Builder) Thread(process, id int64) ThreadID {
	key := thread{process, id}
	n, ok := b.byThread[key]
	if !ok {
		n = ThreadID(len(b.threads))
		b.threads = append(b.threads, key)
		b.byThread[key] = n
	}
	return n
}

// Clock sets the wall clock time at which the profile's clock is 0, in ns since 1970.
func (b *Builder) Clock(epoch int64) { b.clock, b.clocked = epoch, true }

// outside reports whether a time is outside the options' limits.
func (b *Builder) outside(at int64) bool {
	if !b.clocked {
		return false
	}
	o := b.options
	wall := time.Unix(0, b.clock+at)
	return !o.From.IsZero() && wall.Before(o.From) || !o.To.IsZero() && wall.After(o.To)
}

// Activity adds a kernel or copy on a GPU, in ns.
func (b *Builder) Activity(start, end int64, on Lane, name Name, correlation uint32) error {
	switch {
	case end < start:
		return fmt.Errorf("kernel %s ends %d ns before it starts: the clock went backwards", symbol.Short(b.names[name]), start-end)
	case end-start > maxLong:
		return fmt.Errorf("kernel %s runs for %d s", symbol.Short(b.names[name]), (end-start)/1e9)
	case b.outside(start):
		return nil
	}
	if b.activities.size+b.host.size+b.launches.size >= maxEvents {
		return fmt.Errorf("more than %d events: record a shorter window", maxEvents)
	}
	b.kernel(name)
	b.activities.add(activity{start, uint64(end-start)<<24 | uint64(on), name, correlation})
	return nil
}

func (b *Builder) kernel(name Name) {
	switch {
	case b.categories[name] == symbol.Hidden:
		b.hidden++
	case !symbol.IsCopy(b.names[name]):
		b.kernels++
	}
}

// works reports whether a part has a kernel, besides copies and graphs.
func (b *Builder) works(w *walked) bool {
	for name := range w.kernels {
		if b.categories[name] != symbol.Hidden && !symbol.IsCopy(b.names[name]) {
			return true
		}
	}
	return false
}

// Sum adds the total time of all launches of a kernel, for a profile that only has sums.
func (b *Builder) Sum(name Name, count int, us float64) {
	k := b.sums[name]
	k.Count += count
	k.Total += us
	b.sums[name] = k
	b.kernel(name)
}

// Launch adds a call that starts work on a GPU, by the host's clock, which is the GPU's.
func (b *Builder) Launch(start, end int64, by ThreadID, correlation uint32) {
	if correlation != 0 && end >= start && !b.full() {
		b.launches.add(launch{start, end, correlation, by})
	}
}

// ForgetLaunches forgets which calls started what, if their numbers are not unique.
func (b *Builder) ForgetLaunches() { b.launches = log[launch]{} }

// GraphLaunch adds a launch of a CUDA graph, whose kernels have its correlation.
func (b *Builder) GraphLaunch(start int64, correlation uint32) {
	if !b.outside(start) && len(b.graphs) < maxNames {
		b.graphs[correlation] = true
	}
}

// Host adds an activity of a thread. If there are too many, waits are less well known.
func (b *Builder) Host(start, end int64, by ThreadID, class Class) {
	if end > start && !b.full() {
		b.host.add(hostEvent{start, end, by, class})
	}
}

func (b *Builder) full() bool { return b.activities.size+b.host.size+b.launches.size >= maxEvents }

// Mark adds a text around some of a GPU's work; marks with one ID on several streams are
// one. Texts that no engine writes around its steps are skipped.
func (b *Builder) Mark(start, end int64, on Lane, id int64, text string) {
	if step, ok := ReadAnnotation(text); ok && end >= start && !b.outside(start) {
		r := b.rank(on)
		r.windows = append(r.windows, window{start, end, id, step})
	}
}

// HostMark adds a text around an activity of a host thread.
func (b *Builder) HostMark(start, end int64, by ThreadID, text string) {
	if step, ok := ReadAnnotation(text); ok && end >= start && !b.outside(start) {
		b.steps[by] = append(b.steps[by], window{start: start, end: end, step: step})
	}
}

// rank is one GPU of one process, and the position of the walk over its work.
type rank struct {
	process, device int64
	windows         []window
	// byLaunch is set if the windows are the host's, and work belongs to the one that it
	// was launched in.
	byLaunch bool
	// tail is how long after a step's mark its last work may start, idle how long a GPU
	// waits before it counts as idle.
	tail, idle int64

	at    int
	part  *walked
	start int64
	// busy is until when the GPU works.
	busy  int64
	began bool
	// last is the call that launched what started last.
	last  uint32
	spans []span
	// owner is the process whose calls launched the work.
	owner    int64
	owned    bool
	launcher ThreadID
	threaded bool
}

// span is a step in time.
type span struct {
	start, end int64
	part       *walked
}

func (b *Builder) rank(on Lane) *rank {
	l := b.lanes[on]
	for _, r := range b.ranks {
		if r.process == l.process && r.device == l.device {
			return r
		}
	}
	r := &rank{process: l.process, device: l.device}
	b.ranks = append(b.ranks, r)
	return r
}

// walked is a part as summed by the walk, in ns.
type walked struct {
	key           partKey
	steps, tokens int
	unknownTokens bool
	wall, busy    int64
	kernels       map[Name]*total
	waits         [classes]total
	gpus          map[*rank]bool
	threads       map[ThreadID]int64
}

type total struct {
	count int
	ns    int64
}

// Naming is a reader's knowledge of names at the end.
type Naming struct {
	// Processes by their PIDs.
	Processes map[int64]string
	Threads   map[ThreadID]string
	// Owners are the names of processes in a GPU's own entries, if no call shows them.
	Owners map[int64]string
}

// Build returns the parts, and fills the file's entry about its kernels.
func (b *Builder) Build(file *File, names Naming) ([]Part, error) {
	if !b.clocked && !(b.options.From.IsZero() && b.options.To.IsZero()) {
		return nil, ErrNoClock
	}
	if len(b.sums) > 0 {
		return b.buildSums(file)
	}
	file.Unnamed = b.unnamed
	b.launches.sort(func(l launch) int64 { return int64(l.correlation) })
	ranks := make([]*rank, len(b.lanes))
	for i := range b.lanes {
		ranks[i] = b.rank(Lane(i))
	}
	b.own(ranks)
	counted, err := b.choose(file, names)
	if err != nil {
		return nil, err
	}
	file.Hidden = b.hidden + len(b.graphs)
	switch {
	case b.kernels == 0 && file.Hidden > 0:
		return nil, ErrHidden
	case b.kernels == 0:
		return nil, ErrNoKernels
	}
	parts := b.walk(ranks, counted)
	switch {
	case len(parts) == 0:
		return nil, ErrNoSteps
	case !slices.ContainsFunc(parts, b.works):
		// Only copies or graphs, of the processes that count.
		if b.hidden > 0 {
			return nil, ErrHidden
		}
		return nil, ErrNoKernels
	}
	out := make([]Part, 0, len(parts))
	for _, w := range parts {
		out = append(out, b.finish(w, names))
	}
	order(out)
	return out, nil
}

func (b *Builder) buildSums(file *File) ([]Part, error) {
	file.Hidden, file.Unnamed = b.hidden, b.unnamed
	switch {
	case b.kernels == 0 && b.hidden > 0:
		return nil, ErrHidden
	case b.kernels == 0:
		return nil, ErrNoKernels
	}
	o := b.options
	sum := newPartSum(partKey{cmp.Or(o.Phase, Whole), o.Requests})
	sum.p.Steps, sum.p.Tokens = o.Steps, o.Tokens
	for n, k := range b.sums {
		sum.kernel(b.kernelOf(n, k.Count, k.Total))
	}
	return []Part{sum.part()}, nil
}

func (b *Builder) kernelOf(n Name, count int, us float64) Kernel {
	return Kernel{Name: b.names[n], Short: symbol.Short(b.names[n]), Category: b.categories[n], Count: count, Total: us}
}

// own determines which processes and threads launched the work of each GPU, and which
// launches of graphs have kernels.
func (b *Builder) own(ranks []*rank) {
	votes := map[*rank]map[ThreadID]int{}
	for a := range b.activities.all() {
		delete(b.graphs, a.correlation)
		r := ranks[a.lane()]
		// The first hundred are enough.
		if v := votes[r]; v == nil {
			votes[r] = map[ThreadID]int{}
		} else if v[maxVotes] >= 100 {
			continue
		}
		if l, ok := b.launched(a.correlation); ok {
			votes[r][l.thread]++
			votes[r][maxVotes]++
		}
	}
	for r, v := range votes {
		most := 0
		for id, n := range v {
			if id != maxVotes && (n > most || n == most && id < r.launcher) {
				most, r.launcher, r.threaded = n, id, true
			}
		}
		if r.threaded {
			r.owner, r.owned = b.threads[r.launcher].process, true
		}
	}
}

// maxVotes is not a thread: the sum of all votes.
const maxVotes = ThreadID(math.MaxUint32)

// choose returns the GPUs whose processes count.
func (b *Builder) choose(file *File, names Naming) (map[*rank]bool, error) {
	counted := map[*rank]bool{}
	for _, r := range b.ranks {
		id, name := r.process, names.Owners[r.device]
		if r.owned {
			id = r.owner
		}
		name = cmp.Or(names.Processes[id], name)
		shown := name
		if shown == "" && id != 0 {
			shown = strconv.FormatInt(id, 10)
		}
		if shown != "" && !slices.Contains(file.Processes, shown) {
			file.Processes = append(file.Processes, shown)
		}
		counted[r] = len(b.options.Processes) == 0 || slices.ContainsFunc(b.options.Processes, func(want string) bool {
			if pid, err := strconv.ParseInt(want, 10, 64); err == nil {
				return pid == id
			}
			return symbol.Match(want, name)
		})
	}
	if len(counted) == 0 {
		return counted, nil
	}
	for _, ok := range counted {
		if ok {
			return counted, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrOtherProcess, file.Processes)
}

// launched is the call with a correlation.
func (b *Builder) launched(correlation uint32) (launch, bool) {
	if correlation == 0 {
		return launch{}, false
	}
	for _, chunk := range b.launches.chunks {
		if len(chunk) == 0 || chunk[0].correlation > correlation || chunk[len(chunk)-1].correlation < correlation {
			continue
		}
		i, ok := slices.BinarySearchFunc(chunk, correlation, func(l launch, c uint32) int { return cmp.Compare(l.correlation, c) })
		if ok {
			return chunk[i], true
		}
	}
	return launch{}, false
}

// log holds many events in pieces, so growing copies nothing.
type log[T any] struct {
	chunks [][]T
	size   int
}

const chunkSize = 1 << 15

func (l *log[T]) add(e T) {
	if n := len(l.chunks); n == 0 || len(l.chunks[n-1]) == chunkSize {
		l.chunks = append(l.chunks, make([]T, 0, chunkSize))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, e)
	l.size++
}

func (l *log[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, c := range l.chunks {
			for i := range c {
				if !yield(&c[i]) {
					return
				}
			}
		}
	}
}

// sort sorts each piece.
func (l *log[T]) sort(key func(T) int64) {
	for _, c := range l.chunks {
		compare := func(a, b T) int { return cmp.Compare(key(a), key(b)) }
		if !slices.IsSortedFunc(c, compare) {
			slices.SortStableFunc(c, compare)
		}
	}
}

// ordered yields all events by key, once each piece is sorted.
func (l *log[T]) ordered(key func(T) int64) iter.Seq[*T] {
	l.sort(key)
	return func(yield func(*T) bool) {
		h := heads{}
		for i, c := range l.chunks {
			h = append(h, head{key(c[0]), i, 0})
		}
		// A sorted slice is a heap.
		slices.SortFunc(h, func(a, b head) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.chunk, b.chunk)) })
		for len(h) > 0 {
			top := &h[0]
			chunk := l.chunks[top.chunk]
			// Pieces hardly overlap: most of one precedes the next.
			limit := int64(math.MaxInt64)
			for _, next := range h[1:min(3, len(h))] {
				limit = min(limit, next.key)
			}
			for top.at < len(chunk) && top.key <= limit {
				if !yield(&chunk[top.at]) {
					return
				}
				if top.at++; top.at < len(chunk) {
					top.key = key(chunk[top.at])
				}
			}
			if top.at == len(chunk) {
				h[0] = h[len(h)-1]
				h = h[:len(h)-1]
			}
			h.down()
		}
	}
}

type head struct {
	key       int64
	chunk, at int
}

type heads []head

// down moves the first to its place.
func (h heads) down() {
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].key < h[least].key {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
