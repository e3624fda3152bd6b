package machine

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/group"
)

// sampled are queried repeatedly. The first is required. power.draw is an average over the
// last second on Ampere and newer; instant is not, and older drivers do not have it.
var sampled = fieldsOf(`uuid|gpu_uuid power.draw power.draw.instant memory.used memory.total clocks.current.sm|clocks.sm
	clocks.current.memory|clocks.mem temperature.gpu utilization.gpu clocks_event_reasons.active|clocks_throttle_reasons.active`)

// gpuSamples watches the GPUs of one vendor, and also those of the next.
type gpuSamples struct {
	*Sampler
	vendor *vendor
	uuids  []string
	also   *gpuSamples
	// asked is what nvidia-smi prints of a GPU; read and users poll a tool that prints once.
	asked []field
	read  func(ctx context.Context) ([]GPU, error)
	users func(ctx context.Context) ([]GPUProcess, error)
	// restarts is how often an nvidia-smi that ended is restarted, pause how long after its
	// end; look is the time between two lists of the processes on the GPUs.
	restarts    int
	pause, look time.Duration
	// used is the memory in use on a GPU as last read, in MiB, if known; unified are GPUs
	// without memory of their own.
	used    map[string]float64
	unified map[string]bool

	// list is the list of processes that is being printed, since at; latest is when its
	// last line came, and broken is set if one could not be read.
	list       []GPUProcess
	at, latest time.Time
	broken     bool
	// before lists the processes in the previous list of each GPU, and unknown the reason
	// if there is none.
	before  map[string]Occupancy
	unknown map[string]string
}

// silence is how long nvidia-smi may print nothing before it counts as hung.
const silence = 10 * time.Second

// newGPUSamples queries once, to determine what the drivers support. The error wraps
// ErrNoGPU if there is no GPU; a UUID that no tool shows is an error too.
func (s *Sampler) newGPUSamples(ctx context.Context) (w *gpuSamples, err error) {
	of, err := vendorsOf(ctx, s.config.GPUs)
	if err != nil {
		return nil, err
	}
	for _, v := range slices.Backward(vendors) {
		uuids := of[v]
		if len(uuids) == 0 {
			continue
		}
		w = &gpuSamples{
			Sampler: s, vendor: v, uuids: uuids, also: w, restarts: 5, pause: time.Second, look: time.Second,
			used: map[string]float64{}, unified: map[string]bool{}, before: map[string]Occupancy{},
			unknown: map[string]string{},
		}
		first, err := v.watch(ctx, w)
		if err != nil {
			return nil, err
		}
		for _, g := range first {
			if g.Unified() && slices.Contains(uuids, g.UUID) {
				w.unified[g.UUID] = true
				s.tell("unified "+g.UUID,
					"%s shares the host's memory, so it has no %s; gpu.memory_in_use_gb is the host's, %s that of "+
						"the engine's processes",
					g.UUID, measure.GPUMemory, measure.GPUProcessMemory)
			}
		}
	}
	return w, nil
}

func watchNVIDIA(ctx context.Context, w *gpuSamples) (first []GPU, err error) {
	var out string
	if out, w.asked, err = query(ctx, sampled, 1, "-i", strings.Join(w.uuids, ",")); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(w.asked, func(f field) bool { return f.name == "power.draw.instant" }) {
		w.tell("instant",
			"this driver does not report instantaneous power: energy is integrated from its averages, which lag by "+
				"about half a second on Ampere and newer GPUs")
	}
	for line := range strings.Lines(out) {
		if g, err := parseGPU(line, w.asked); err == nil {
			first = append(first, g)
		}
	}
	return first, w.shows(first, out)
}

// shows is the error that a tool, which printed out, does not show one of the GPUs.
func (w *gpuSamples) shows(gpus []GPU, out string) error {
	for _, uuid := range w.uuids {
		if !slices.Contains(uuidsOf(gpus), uuid) {
			return fmt.Errorf("%s shows no values for GPU %s: it printed %q",
				w.tool(), uuid, foreign.Clean(strings.TrimSpace(out)))
		}
	}
	return nil
}

// tool is the name of the command that shows the GPUs.
func (w *gpuSamples) tool() string {
	return cmp.Or(filepath.Base(w.vendor.tool()), w.vendor.tools[0])
}

// mibPerGB is the number of MiB in a GB of 1e9 bytes; a float64 holds it exactly.
const mibPerGB = 1e9 / (1 << 20)

// quantities are the series that come straight from a field.
var quantities = []struct {
	field, series, unit string
	// per is how many of the field's units make one of the series'.
	per float64
}{
	{"power.draw", measure.GPUPower, "W", 1},
	{"power.draw.instant", measure.GPUPowerInstant, "W", 1},
	{"memory.used", measure.GPUMemory, "GB", mibPerGB},
	{"clocks.current.sm", measure.GPUClock, "MHz", 1},
	{"clocks.current.memory", measure.GPUMemoryClock, "MHz", 1},
	{"temperature.gpu", measure.GPUTemperature, "°C", 1},
	{"utilization.gpu", measure.GPUUtilization, "", 100},
}

// followValues has nvidia-smi print the GPUs' values until sampling ends, and restarts it if
// it ends before.
func (w *gpuSamples) followValues() {
	// nvidia-smi sleeps this long between its queries, which take time too.
	every := w.config.Every * 8 / 10
	args := []string{
		question(w.asked), "--format=csv,noheader,nounits", "-i", strings.Join(w.uuids, ","),
		"-lms", millis(every),
	}
	for n := 0; ; n++ {
		err := follow(w.ctx, silence, args, func(line string, at time.Time) { w.do(func() { w.values(line, at) }) })
		if w.ctx.Err() != nil {
			return
		}
		now := time.Now()
		if n == w.restarts {
			w.do(func() {
				w.tell("gone", "stopped monitoring the GPUs at %.1f s, after failure %d: %v", w.seconds(now), n+1, err)
			})
			return
		}
		w.do(func() {
			w.tell("ended", "GPU values are missing for a while from %.1f s on: %v; restarted", w.seconds(now), err)
		})
		if !sleep(w.ctx, w.pause) {
			return
		}
	}
}

func (w *gpuSamples) values(line string, at time.Time) {
	g, err := parseGPU(line, w.asked)
	if err == nil && !slices.Contains(w.config.GPUs, g.UUID) {
		err = fmt.Errorf("not a requested GPU: %q", foreign.Clean(strings.TrimSpace(line)))
	}
	if err != nil {
		w.tell("line", "skipped a line of nvidia-smi that is not a reading: %v", err)
		return
	}
	w.take(g, at)
}

// take records a reading.
func (w *gpuSamples) take(g GPU, at time.Time) {
	for _, q := range quantities {
		if n, ok := g.Number(q.field); ok {
			w.add(q.series, g.UUID, q.unit, at, n/q.per)
		}
	}
	if mask, ok := g.Throttle(); ok && mask < 1<<53 { // what a float64 holds exactly
		w.add(measure.GPUThrottle, g.UUID, "", at, float64(mask))
	}
	delete(w.used, g.UUID)
	if used, ok := g.Number("memory.used"); ok {
		w.used[g.UUID] = used
	} else if w.unified[g.UUID] {
		if taken, known := memoryInUse("/"); known {
			w.add(measure.GPUHostMemory, g.UUID, "GB", at, taken)
		}
	}
}

// pollEvery is the time between two readings of a tool that prints once and ends. amd-smi
// has a mode that goes on, with which releases of 2025 print no JSON at all. What it costs
// has not been measured: it is a Python program, so it is asked as rarely as the gaps in
// readings allow (measure), and never twice at once.
const pollEvery = time.Second

// poll reads the GPUs' values and processes until sampling ends.
func (w *gpuSamples) poll() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		gpus, err := w.read(w.ctx)
		at := time.Now()
		if w.ctx.Err() != nil {
			return
		}
		w.do(func() {
			if err != nil {
				w.tell("ended", "GPU values are missing for a while from %.1f s on: %v", w.seconds(at), err)
			}
			for _, g := range gpus {
				if slices.Contains(w.uuids, g.UUID) {
					w.take(g, at)
				}
			}
		})
		list, blind := w.users(w.ctx)
		listed := time.Now()
		if w.ctx.Err() != nil {
			return
		}
		w.do(func() {
			switch {
			case blind != nil:
				w.tell("followed", "at %.1f s it was not known which processes were on the GPUs: %v",
					w.seconds(listed), blind)
			case len(w.own) > 0: // else nothing can be called foreign
				w.judge(list, listed)
			}
		})
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// isOwn reports whether a process is the engine's.
func (w *gpuSamples) isOwn(pid int) bool { return ofEngine(pid, w.Sampler.own, w.config.Container) }

// followProcesses has nvidia-smi list the processes on the GPUs until sampling ends, which
// costs far less than starting it each time. If no process is on any GPU, it prints nothing.
func (w *gpuSamples) followProcesses() {
	err := follow(w.ctx, 0, append(processQuery[:2:2], "-lms", millis(w.look)), func(line string, at time.Time) {
		w.do(func() { w.process(line, at) })
	})
	now := time.Now()
	w.do(func() {
		if w.ctx.Err() == nil {
			w.tell("followed", "from %.1f s on it is not known which processes were on the GPUs: %v",
				w.seconds(now), err)
		}
	})
}

// process takes a line of a list. The lines of one come at once, and none comes twice.
func (w *gpuSamples) process(line string, at time.Time) {
	p, ok, err := parseProcess(line)
	if !ok && err == nil {
		return
	}
	twice := slices.ContainsFunc(w.list, func(q GPUProcess) bool { return p.PID == q.PID && p.GPU == q.GPU })
	if twice || at.Sub(w.latest) > w.look/4 {
		w.listed()
	}
	if len(w.list) == 0 && !w.broken {
		w.at = at
	}
	w.latest, w.broken = at, w.broken || err != nil
	if ok {
		w.list = append(w.list, p)
	}
}

// listed judges a list that is complete; one that could not be read entirely does not count.
func (w *gpuSamples) listed() {
	if len(w.list) > 0 && !w.broken && len(w.own) > 0 { // else nothing can be called foreign
		w.judge(w.list, w.at)
	}
	w.list, w.broken = nil, false
}

// tick ends lists to which nothing more came.
func (w *gpuSamples) tick(now time.Time) {
	for ; w != nil; w = w.also {
		if now.Sub(w.latest) > w.look/4 {
			w.listed()
		}
	}
}

// judge records what a list shows about each GPU. A process, or memory that no process
// accounts for, may be about to disappear or have just appeared: it counts as foreign if it
// is in two lists in a row. nvidia-smi numbers processes as the machine does; inside a
// container it may show other numbers or nothing at all, and then nothing can be said unless
// it shows the engine's own.
func (w *gpuSamples) judge(list []GPUProcess, at time.Time) {
	for _, uuid := range w.uuids {
		o := occupancyOf(w.used, list, []string{uuid}, w.config.Ignore, w.config.IdleMiB, w.isOwn)
		before := w.before[uuid]
		w.before[uuid] = o
		used, known := w.used[uuid]
		if len(o.own) == 0 && (!known || used > w.config.IdleMiB) {
			if w.unknown[uuid] == "" {
				w.unknown[uuid] = fmt.Sprintf("cannot tell from %.1f s on if other processes used %s: %s shows none "+
					"of the engine's processes there, as for an engine in its own container",
					w.seconds(at), uuid, w.tool())
			}
			continue
		}
		delete(w.unknown, uuid)
		var mib float64
		for _, p := range o.own {
			if p.MiB == nil || p.GPU == "" {
				mib = math.NaN() // which is not recorded
				continue
			}
			mib += *p.MiB
		}
		if len(o.own) > 0 {
			w.add(measure.GPUProcessMemory, uuid, "GB", at, mib/mibPerGB)
		}
		var foreign []string
		for _, p := range o.Processes {
			if slices.ContainsFunc(before.Processes, func(q GPUProcess) bool { return p.PID == q.PID }) {
				foreign = append(foreign, p.String())
			}
		}
		if rest := o.Hidden[uuid]; rest > 0 && before.Hidden[uuid] > 0 {
			foreign = append(foreign,
				fmt.Sprintf("%.0f MiB not attributed to any process, such as one in another container", rest))
		}
		w.add(measure.GPUForeign, uuid, "", at, float64(len(foreign)))
		for _, who := range foreign {
			w.tell("foreign "+uuid, "another process on %s: %s, first seen at %.1f s", uuid, who, w.seconds(at))
		}
	}
}

// finish notes what is not known of GPUs at the end: missing values must not look as if all
// was well.
func (w *gpuSamples) finish() {
	if w.also != nil {
		w.also.finish()
	}
	for _, uuid := range w.uuids {
		if why := w.unknown[uuid]; why != "" {
			w.tell("unknown "+uuid, "%s", why)
		} else if len(w.own) > 0 && w.series[track{measure.GPUForeign, uuid}] == nil {
			w.tell("unknown "+uuid, "cannot tell if other processes used %s: %s listed none at all", uuid, w.tool())
		}
		seen := false
		for _, q := range quantities {
			seen = seen || w.series[track{q.series, uuid}] != nil
		}
		if !seen {
			w.tell("unseen "+uuid,
				"%s printed no readings of GPU %s: its power, memory, clocks and throttling are unknown", w.tool(),
				uuid)
		}
	}
}

// ofEngine reports whether a process, or an ancestor of it, is one of own, or is in the control
// group of the container.
func ofEngine(pid int, own []int, container string) bool {
	for p, depth := pid, 0; p > 1 && depth < 64; depth++ {
		if slices.Contains(own, p) {
			return true
		}
		s, _ := statOf("/", p)
		p = s.Parent
	}
	return container != "" && strings.Contains(readText("/proc/"+strconv.Itoa(pid)+"/cgroup"), container)
}

// millis is a time in the format of -lms.
func millis(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// follow runs nvidia-smi until ctx ends, and calls each for every line that is not empty as
// it comes. It returns nil once ctx has ended, else why nvidia-smi did not continue, such as
// printing nothing for the time of silence; 0 allows any silence. nvidia-smi ends with this
// program, however that ends (Linux), and does not outlive follow.
func follow(ctx context.Context, silence time.Duration, args []string, each func(line string, at time.Time)) error {
	path, err := findSMI()
	if err != nil {
		return err
	}
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := group.Command(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = w, w
	bind(cmd)
	// The mechanism that binds a child to this program watches the thread that started
	// it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("nvidia-smi did not start: %w", err)
	}
	if silence <= 0 {
		silence = time.Duration(1<<63 - 1)
	}
	hung := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nvidia-smi printed nothing for %s", silence)) })
	defer hung.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines(r, func(line string, at time.Time) {
			hung.Reset(silence)
			each(line, at)
		})
	}()
	err = cmd.Wait()
	// Its remaining output is in the pipe; another holder of it is not waited for.
	_ = r.SetReadDeadline(time.Now().Add(time.Second))
	<-done
	switch {
	case parent.Err() != nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("nvidia-smi ended: %w", err)
	}
	return errors.New("nvidia-smi ended")
}

// lines reads lines until there are no more; one that is too long is cut, so it is not
// as requested. A last line without its end is dropped: its last number may lack digits.
func lines(from io.Reader, each func(line string, at time.Time)) {
	in := bufio.NewReaderSize(from, 4096)
	for {
		line, err := in.ReadSlice('\n')
		now := time.Now()
		text := string(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			return
		}
		if strings.TrimSpace(text) != "" {
			each(text, now)
		}
	}
}
