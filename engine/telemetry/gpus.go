package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/measure"
)

// gpuWatch watches the GPUs of an engine.
type gpuWatch struct {
	*Recorder
	source *gpu.Stream
	// restarts is how often a stream that ended is begun again, pause how long
	// after its end; look is the time between two looks at who is on the GPUs.
	restarts    int
	pause, look time.Duration

	mu sync.Mutex
	// used is the memory in use on a GPU as last read, MiB, where it is known.
	used map[string]float64
}

func newGPUWatch(r *Recorder, s *gpu.Stream) *gpuWatch {
	w := &gpuWatch{Recorder: r, source: s, restarts: 5, pause: time.Second, look: time.Second, used: map[string]float64{}}
	if !s.Has("power.draw.instant") {
		r.tape.tell("instant", "this driver knows no instantaneous power: energy is integrated from its averages, which on Ampere and newer GPUs lag by about half a second")
	}
	for _, g := range s.First {
		if g.Unified() {
			r.tape.tell("unified "+g.UUID, "%s has no memory of its own but shares the host's: there is no %s of it, only %s and %s",
				g.UUID, measure.GPUMemory, measure.GPUProcessMemory, measure.HostMemory)
		}
	}
	return w
}

// unseen tells of GPUs that nothing was read of: whether they throttled, and what
// they took, is not known, and what is not there must not look as if all was well.
func (r *Recorder) unseen() {
	for _, uuid := range r.config.GPUs {
		seen := false
		for _, q := range quantities {
			seen = seen || r.tape.has(q.series, uuid)
		}
		if !seen {
			r.tape.tell("unseen "+uuid, "nvidia-smi printed no reading of GPU %s while it was watched: its power, memory, clocks and throttling are not known", uuid)
		}
	}
}

// mibPerGB is how many MiB are one GB of 1e9 bytes; a float64 holds it exactly.
const mibPerGB = 1e9 / (1 << 20)

// quantities are the series that come straight from a field.
var quantities = []struct {
	field, series, unit string
	// per is how many of the field's units are one of the series'.
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

// stream records what nvidia-smi prints until ctx ends, and begins again where
// nvidia-smi ends before.
func (w *gpuWatch) stream(ctx context.Context) {
	// nvidia-smi sleeps so long between its questions, which take their time too.
	every := w.config.Every * 8 / 10
	for n := 0; ; n++ {
		err := w.source.Run(ctx, every, func(r gpu.Reading, err error) {
			if err != nil {
				w.tape.tell("line", "nvidia-smi printed a line that is no reading, which was left out: %v", err)
				return
			}
			w.record(r)
		})
		if ctx.Err() != nil {
			return
		}
		at := time.Since(w.config.Zero).Seconds()
		if n == w.restarts {
			w.tape.tell("gone", "the GPUs were not watched any more from %.1f s on: %v, for the %dth time", at, err, n+1)
			return
		}
		w.tape.tell("ended", "values of the GPUs are missing for a while from %.1f s on: %v; it was started again", at, err)
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
	w.mu.Lock()
	defer w.mu.Unlock()
	if ok {
		w.used[r.UUID] = used
	} else {
		delete(w.used, r.UUID)
	}
}

// sleep waits; false where ctx ended.
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
