package launch

import (
	"context"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/runtime"
)

const (
	// loadingEvery is how often a start's progress is checked. A faster start shows
	// nothing, and its GPUs are not queried.
	loadingEvery = time.Second
	// memoryEvery is how often nvidia-smi prints the memory of its GPUs.
	memoryEvery = 2 * time.Second
)

// loading reports the progress of a start until it is stopped, as events that otherwise
// equal ev. If a stage is given it is the current one until then; else the log shows it.
func (st *Started) loading(ctx context.Context, ev runtime.Event, stage kinds.Stage, emit func(runtime.Event)) (stop func()) {
	if len(st.Kind.Ready) == 0 || st.Inst.LogPath() == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(loadingEvery)
		defer tick.Stop()
		log, stageOf := logscan.Follower{Path: st.Inst.LogPath()}, st.Kind.StageOf()
		var memory gpuMemory
		var told runtime.Loading
		for first := true; ; first = false {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if first && len(st.GPU.gpus) > 0 {
				running.Go(func() { memory.watch(ctx, st.GPU.UUIDs()) })
			}
			now := told
			for _, line := range log.Lines() {
				now.Log = line
				if s := stageOf(line); s != "" {
					now.Stage = string(s)
				}
			}
			if stage != "" {
				now.Stage = string(stage)
			}
			now.GPUMemory, now.GPUMemoryTotal = memory.sum()
			if now == told {
				continue
			}
			ev.Type = "launch_loading"
			if now.Stage != told.Stage {
				ev.Type = "stage_started"
			}
			ev.Loading, ev.Seconds, told = &now, time.Since(st.Began).Seconds(), now
			emit(ev)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// gpuMemory is the memory in use on the GPUs of a launch, as last read. The zero value is
// ready to use.
type gpuMemory struct {
	mu   sync.Mutex
	last map[string]gpu.GPU
}

// watch reads until ctx ends. What cannot be read is unknown, which stops nothing.
func (m *gpuMemory) watch(ctx context.Context, uuids []string) {
	s, err := gpu.NewStream(ctx, uuids)
	if err != nil {
		return
	}
	_ = s.Run(ctx, memoryEvery, func(r gpu.Reading, err error) {
		if err != nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.last == nil {
			m.last = map[string]gpu.GPU{}
		}
		m.last[r.UUID] = r.GPU
	})
}

// gbPerMiB converts nvidia-smi's unit to GB.
const gbPerMiB = (1 << 20) / 1e9

// sum is the memory in use and in total over all GPUs, in GB; 0 if unknown.
func (m *gpuMemory) sum() (used, total float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.last {
		u, known := g.Number("memory.used")
		t, bounded := g.Number("memory.total")
		if !known || !bounded {
			return 0, 0
		}
		used, total = used+u*gbPerMiB, total+t*gbPerMiB
	}
	return used, total
}
