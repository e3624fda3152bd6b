package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/measure"
)

// processLimit bounds one question for the processes on the GPUs.
const processLimit = 5 * time.Second

// processes looks every so often who is on the GPUs, until ctx ends: at what
// nvidia-smi prints by itself, and where that is nothing for a while, which means
// that no process is there or that something is wrong, by asking.
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
			w.tape.tell("followed", "processes on the GPUs were asked for one by one from %.1f s on: %v", time.Since(w.config.Zero).Seconds(), err)
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
					w.tape.tell("processes", "who is on the GPUs could not be seen at %.1f s: %v", s.at.Sub(w.config.Zero).Seconds(), err)
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

// ask has nvidia-smi started for one list.
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
			w.tape.untell("hidden " + uuid) // it was so before the engine was there
		}
		for _, who := range v.who {
			w.tape.tell("foreign "+uuid, "on %s was, besides the engine: %s, first seen at %.1f s", uuid, who, at.Sub(w.config.Zero).Seconds())
		}
		if v.why != "" {
			w.tape.tell("hidden "+uuid, "whether others were on %s is not known from %.1f s on: %s", uuid, at.Sub(w.config.Zero).Seconds(), v.why)
		}
	}
}
