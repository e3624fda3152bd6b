package steps

import (
	"context"
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/telemetry"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// calm waits until the GPUs are as the plan wants them before a launch.
func (u gpuUse) calm(ctx context.Context, note func(verdict.Reason)) error {
	c := u.config
	if c.MaxTemperature == 0 && c.MaxPower == 0 && c.MinClock == 0 && c.MaxClock == 0 {
		return nil
	}
	said := false
	err := telemetry.Settle(ctx, u.uuids(), telemetry.Calm{
		MaxTemperature: c.MaxTemperature, MaxPower: c.MaxPower, MinClock: c.MinClock, MaxClock: c.MaxClock, Timeout: time.Duration(c.Wait),
		Waiting: func(what string) {
			if !said {
				note(gpuWait(code.GPUWait, time.Duration(c.Wait), what))
			}
			said = true
		},
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the GPU is not as the engine's gpu block wants it before a launch: %w", err)
	}
	return err
}
