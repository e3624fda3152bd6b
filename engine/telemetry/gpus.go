package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/measure"
)

// gpuWatch watches the GPUs of an engine.
type gpuWatch struct {
	*Recorder
	source *gpu.Stream
	// restarts is how often a stream that ended is restarted, pause how long after its
	// end; look is the time between two lists of the processes on the GPUs.
	restarts    int
	pause, look time.Duration

	mu sync.Mutex
	// used is the memory in use on a GPU as last read, in MiB, if known.
	used map[string]float64
	// unified are GPUs without memory of their own.
	unified map[string]bool
}

func newGPUWatch(r *Recorder, s *gpu.Stream) *gpuWatch {
	w := &gpuWatch{Recorder: r, source: s, restarts: 5, pause: time.Second, look: time.Second, used: map[string]float64{}, unified: map[string]bool{}}
	if !s.Has("power.draw.instant") {
		r.tape.tell("instant", "this driver does not report instantaneous power: energy is integrated from its averages, which lag by about half a second on Ampere and newer GPUs")
	}
	for _, g := range s.First {
		if g.Unified() {
			w.unified[g.UUID] = true
			r.tape.tell("unified "+g.UUID, "%s shares the host's memory, so it has no %s; gpu.memory_in_use_gb is the host's, %s that of the engine's processes",
				g.UUID, measure.GPUMemory, measure.GPUProcessMemory)
		}
	}
	return w
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

// stream records what nvidia-smi prints until ctx ends, and restarts nvidia-smi if it
// ends before.
func (w *gpuWatch) stream(ctx context.Context) {
	// nvidia-smi sleeps this long between its queries, which take time too.
	every := w.config.Every * 8 / 10
	for n := 0; ; n++ {
		err := w.source.Run(ctx, every, func(r gpu.Reading, err error) {
			if err != nil {
				w.tape.tell("line", "skipped a line of nvidia-smi that is not a reading: %v", err)
				return
			}
			w.record(r)
		})
		if ctx.Err() != nil {
			return
		}
		at := time.Since(w.config.Zero).Seconds()
		if n == w.restarts {
			w.tape.tell("gone", "stopped monitoring the GPUs at %.1f s, after failure %[3]d: %[2]v", at, err, n+1)
			return
		}
		w.tape.tell("ended", "GPU values are missing for a while from %.1f s on: %v; restarted", at, err)
		if !sleep(ctx, w.pause) {
			return
		}
	}
}

func (w *gpuWatch) record(r gpu.Reading) {
	for _, q := range quantities {
		if n, ok := r.Number(q.field); ok {
			w.tape.add(q.series, r.UUID, q.unit, r.At, n/q.per)
		}
	}
	if mask, ok := r.Throttle(); ok && mask < 1<<53 { // what a float64 holds exactly
		w.tape.add(measure.GPUThrottle, r.UUID, "", r.At, float64(mask))
	}
	used, ok := r.Number("memory.used")
	if !ok && w.unified[r.UUID] {
		if taken, known := memoryInUse("/"); known {
			w.tape.add(measure.GPUHostMemory, r.UUID, "GB", r.At, taken)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ok {
		w.used[r.UUID] = used
	} else {
		delete(w.used, r.UUID)
	}
}

// sleep waits for d; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// processLimit bounds one query for the processes on the GPUs.
const processLimit = 5 * time.Second

// processes keeps track of the processes on the GPUs until ctx ends: from what nvidia-smi
// prints by itself or, if that is nothing for a while, which means that there is no
// process or that something is wrong, by asking.
func (w *gpuWatch) processes(ctx context.Context) {
	o := occupants{gpus: w.config.GPUs, ignore: w.config.Ignore, idle: w.config.IdleMiB, kin: kinship}
	type shown struct {
		list []gpu.Process
		at   time.Time
	}
	lists := make(chan shown)
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() {
		err := gpu.FollowProcesses(ctx, w.look, func(list []gpu.Process, at time.Time) {
			select {
			case lists <- shown{list, at}:
			case <-ctx.Done():
			}
		})
		if ctx.Err() == nil {
			w.tape.tell("followed", "from %.1f s on, processes were queried GPU by GPU: %v", time.Since(w.config.Zero).Seconds(), err)
		}
	})
	first := make(chan struct{}, 1)
	first <- struct{}{}
	for {
		var s shown
		silent := time.NewTimer(w.look * 5 / 2)
		select {
		case <-ctx.Done():
			silent.Stop()
			return
		case s = <-lists:
		case <-first:
			s.at = time.Now()
		case s.at = <-silent.C:
		}
		silent.Stop()
		if s.list == nil {
			var err error
			if s.list, err = ask(ctx); err != nil {
				if ctx.Err() == nil {
					w.tape.tell("processes", "cannot list the processes on the GPUs at %.1f s: %v", s.at.Sub(w.config.Zero).Seconds(), err)
				}
				continue
			}
		}
		own := w.own()
		w.mu.Lock()
		views := o.look(s.list, own, w.config.Container, w.used)
		w.mu.Unlock()
		w.put(s.at, views)
	}
}

// ask starts nvidia-smi for one list.
func ask(ctx context.Context) ([]gpu.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, processLimit)
	defer cancel()
	return gpu.Processes(ctx)
}

func (w *gpuWatch) put(at time.Time, views map[string]view) {
	for uuid, v := range views {
		if v.ownMiB != nil {
			w.tape.add(measure.GPUProcessMemory, uuid, "GB", at, *v.ownMiB/mibPerGB)
		}
		if v.foreign >= 0 {
			w.tape.add(measure.GPUForeign, uuid, "", at, float64(v.foreign))
			w.tape.untell("hidden " + uuid) // that was before the engine was there
		}
		for _, who := range v.who {
			w.tape.tell("foreign "+uuid, "another process on %s: %s, first seen at %.1f s", uuid, who, at.Sub(w.config.Zero).Seconds())
		}
		if v.why != "" {
			w.tape.tell("hidden "+uuid, "cannot tell from %[2].1f s on if other processes used %[1]s: %[3]s", uuid, at.Sub(w.config.Zero).Seconds(), v.why)
		}
	}
}

// Calm is the state that GPUs must reach before a launch. A limit of zero means none.
type Calm struct {
	// MaxTemperature is in °C, MaxPower in W. Clocks are of the streaming
	// multiprocessors, in MHz; an idle GPU lowers them, so MinClock is for locked clocks,
	// or for a GPU that gets stuck in a low-power state.
	MaxTemperature, MaxPower, MinClock, MaxClock float64
	// Timeout is how long it may take; 0 checks once. Every is the time between two
	// checks; 0 means a second.
	Timeout, Every time.Duration
	// Waiting, if not nil, is called after each check that finds them not calm yet, with
	// what is in the way.
	Waiting func(what string)
}

// Settle waits until every one of these GPUs is calm. The error says which one was not
// and by how much; a value that has a limit but is not reported by the driver is an error
// at once.
func Settle(ctx context.Context, gpus []string, want Calm) error {
	if len(gpus) == 0 {
		return errors.New("no GPUs to wait for")
	}
	if want.Every <= 0 {
		want.Every = time.Second
	}
	limit := time.NewTimer(want.Timeout)
	defer limit.Stop()
	for {
		all, err := gpu.List(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("cannot wait for the GPUs: %w", err)
		}
		rest, err := want.look(all, gpus)
		if err != nil || rest == "" {
			return err
		}
		if want.Waiting != nil {
			want.Waiting(rest)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return fmt.Errorf("after waiting for %s, %s", want.Timeout, rest)
		case <-time.After(want.Every):
		}
	}
}

// look describes what is still in the way, empty if all is as wanted.
func (want Calm) look(all []gpu.GPU, uuids []string) (rest string, err error) {
	byUUID := map[string]gpu.GPU{}
	for _, g := range all {
		byUUID[g.UUID] = g
	}
	var words []string
	for _, uuid := range uuids {
		g, ok := byUUID[uuid]
		if !ok {
			if len(all) == 0 {
				return "", fmt.Errorf("cannot wait for GPU %s: %w", uuid, gpu.ErrNone)
			}
			return "", fmt.Errorf("cannot wait for GPU %s: nvidia-smi does not show it", uuid)
		}
		for _, limit := range []struct {
			field, what, unit string
			low, high         float64
		}{
			{"temperature.gpu", "temperature", "°C", 0, want.MaxTemperature},
			{"power.draw", "power draw", "W", 0, want.MaxPower},
			{"clocks.current.sm", "SM clock", "MHz", want.MinClock, want.MaxClock},
		} {
			if limit.low == 0 && limit.high == 0 {
				continue
			}
			n, ok := g.Number(limit.field)
			switch {
			case !ok:
				return "", fmt.Errorf("cannot wait for the %s of %s: the driver does not report it", limit.what, g)
			case limit.high > 0 && n > limit.high:
				words = append(words, fmt.Sprintf("the %s of %s is %g %s (required ≤ %g)", limit.what, g, n, limit.unit, limit.high))
			case n < limit.low:
				words = append(words, fmt.Sprintf("the %s of %s is %g %s (required ≥ %g)", limit.what, g, n, limit.unit, limit.low))
			}
		}
	}
	return strings.Join(words, "; "), nil
}
