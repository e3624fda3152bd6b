package launch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
)

const (
	// loadingEvery is how often a start's progress is checked. A faster start shows nothing.
	loadingEvery = time.Second
	// silence is how long a start logs nothing until it is said what it does instead, and
	// how often that is said anew.
	silence = 10 * time.Second
)

// loading reports the last line of the log as a start goes on, until it is stopped, and what
// its processes do while there is no new one, as events that otherwise equal ev.
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
		said := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			line := ""
			if last := logscan.Tail(st.Inst.LogPath(), 1); len(last) > 0 {
				line = last[0]
			}
			doing := verdict.Reason{}
			if s, ok := st.Inst.(engine.Starter); ok {
				if d := s.Doing(); d.Idle || time.Since(d.Logged) >= silence {
					doing = startOf(d)
				}
			}
			switch {
			case line != ev.Line, doing.Values["listens"].Text != ev.Why.Values["listens"].Text:
			case !doing.IsZero() && time.Since(said) >= silence:
			default:
				continue
			}
			said = time.Now()
			ev.Line, ev.Why, ev.Seconds = line, doing, time.Since(st.Began).Seconds()
			emit(ev)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// startOf is what an engine does that is not ready; no fact if nothing is known.
func startOf(d engine.Doing, more ...verdict.Arg) verdict.Reason {
	if d.Port == 0 {
		return verdict.Reason{}
	}
	args := append(more, verdict.Int("port", d.Port))
	if where := d.Where(); where != "" {
		args = append(args, verdict.Text("listens", where))
	}
	if !d.Logged.IsZero() {
		args = append(args, verdict.Text("ago", verdict.Rough(time.Since(d.Logged).Seconds())))
	}
	if d.Processor >= 0 {
		args = append(args, verdict.Text("processor", fmt.Sprintf("%.0f%%", 100*d.Processor)))
	}
	return verdict.New(code.Starting, args...)
}
