package steps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/variant"
)

// freeEvery is how often an occupied GPU is looked at again: nvidia-smi takes up
// to a second of a core without persistence mode.
const freeEvery = time.Second

// gpuUse is what a launch uses of the machine's GPUs.
type gpuUse struct {
	config variant.GPU
	gpus   []gpu.GPU
}

func (u gpuUse) uuids() (out []string) {
	for _, g := range u.gpus {
		out = append(out, g.UUID)
	}
	return out
}

func (u gpuUse) look(ctx context.Context) (gpu.Occupancy, error) {
	return gpu.Foreign(ctx, u.uuids(), u.config.Ignore, u.config.IdleMB)
}

// gpuBefore gets a launch its GPUs: it locks them for the rest of the apply, and
// waits until nobody else computes there. The error says who is in the way.
func (l *launchLab) gpuBefore(ctx context.Context, s *runtime.Scope, v *variant.Variant) (u gpuUse, err error) {
	note := func(what verdict.Reason) {
		s.Emit(runtime.Event{Type: "note", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Variant: v.Name, Why: what})
	}
	if u, err = l.gpusOf(ctx, v, note); err != nil || len(u.gpus) == 0 {
		return u, err
	}
	wait := time.Duration(u.config.Wait)
	if err := l.lockGPUs(ctx, u, note); err != nil {
		var held *gpu.HeldError
		if errors.As(err, &held) {
			err = fmt.Errorf("%w: it was waited for %s in vain; wait for it to finish, stop it, or set a longer wait in the engine's gpu block", held, wait)
		}
		return u, err
	}
	o, err := gpu.WaitFree(ctx, u.look, freeEvery, wait, func(o gpu.Occupancy) {
		note(gpuWait(code.GPUWait, wait, o.String()))
	})
	if err != nil {
		return u, fmt.Errorf("it cannot be seen whether the GPU is free: %w", err)
	}
	if !o.Free() {
		return u, fmt.Errorf("the GPU is not free, after %s of waiting: %s; stop it, name it in ignore of the engine's gpu block if it may stay, or set a longer wait there", wait, o)
	}
	return u, u.calm(ctx, note)
}

// gpuHold are the GPUs that an apply holds, by UUID, until it ends.
type gpuHold struct {
	mu    sync.Mutex
	locks map[string]*gpu.Lock
}

// lockGPUs locks what this apply does not hold yet.
func (l *launchLab) lockGPUs(ctx context.Context, u gpuUse, note func(verdict.Reason)) error {
	l.gpus.mu.Lock()
	defer l.gpus.mu.Unlock()
	var more []gpu.GPU
	for _, g := range u.gpus {
		if l.gpus.locks[g.UUID] == nil {
			more = append(more, g)
		}
	}
	me := gpu.Holder{PID: os.Getpid(), User: userName(), State: l.Owner, Since: time.Now().UTC()}
	locks, err := gpu.Acquire(ctx, gpu.LockDir(), more, me, time.Duration(u.config.Wait), func(held *gpu.HeldError) {
		note(gpuWait(code.GPULockWait, time.Duration(u.config.Wait), held.Error()))
	})
	if err != nil {
		return err
	}
	if l.gpus.locks == nil {
		l.gpus.locks = map[string]*gpu.Lock{}
	}
	maps.Copy(l.gpus.locks, locks)
	return nil
}

// gpuAfter waits until the engine's memory is given back, so that the next
// launch begins with all of it. Whoever is still there then was beside the
// engine, which makes the launch one on a shared GPU.
func (l *launchLab) gpuAfter(s *runtime.Scope, u gpuUse) (notes []verdict.Reason) {
	if len(u.gpus) == 0 {
		return nil
	}
	settle := time.Duration(u.config.Settle)
	ctx := s.Hard
	if ctx == nil {
		ctx = context.Background()
	}
	o, err := gpu.WaitFree(ctx, u.look, freeEvery/4, settle, nil)
	switch {
	case err != nil:
		return verdict.Because(code.GPUUnseen, verdict.Line(err))
	case len(o.Processes) > 0:
		return verdict.Because(code.GPUShared, verdict.Text("by", o.String()))
	case !o.Free():
		return verdict.Because(code.GPUNotGivenBack, verdict.Dur("within", settle), verdict.Text("by", o.String()))
	}
	return nil
}

// gpuWait is what is waited for, and for how long at most.
func gpuWait(c code.Code, wait time.Duration, until string) verdict.Reason {
	return verdict.New(c, verdict.Dur("wait", wait), verdict.Text("until", until))
}
