package launch

import (
	"context"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/runtime"
)

// loadingEvery is how often a start's progress is checked. A faster start shows nothing.
const loadingEvery = time.Second

// loading reports the last line of the log as a start goes on, until it is stopped, as events
// that otherwise equal ev.
func (st *Started) loading(ctx context.Context, ev runtime.Event, emit func(runtime.Event)) (stop func()) {
	if len(st.Kind.Ready) == 0 || st.Inst.LogPath() == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(loadingEvery)
		defer tick.Stop()
		ev.Type = "launch_loading"
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if last := logscan.Tail(st.Inst.LogPath(), 1); len(last) > 0 && last[0] != ev.Line {
				ev.Line, ev.Seconds = last[0], time.Since(st.Began).Seconds()
				emit(ev)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
