package launch

import (
	"context"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/runtime"
)

// loadingEvery is how often a start's progress is checked. A faster start shows nothing.
const loadingEvery = time.Second

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
		var told runtime.Loading
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
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
