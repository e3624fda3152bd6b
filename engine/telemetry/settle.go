package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
)

// Calm is what GPUs are to be like before a launch. A limit of zero is none.
type Calm struct {
	// MaxTemperature in °C, MaxPower in W. Clocks are of the streaming
	// multiprocessors, in MHz; an idle GPU lowers them, so MinClock is of use where
	// they are locked or where a GPU gets stuck in a low-power state.
	MaxTemperature, MaxPower, MinClock, MaxClock float64
	// Timeout is how long it may take; 0 looks once. Every is the time between two
	// looks; 0 is a second.
	Timeout, Every time.Duration
	// Waiting is called whenever a look finds them not so yet, with what is in the
	// way; nil is not.
	Waiting func(what string)
}

// Settle waits until every one of these GPUs is calm. The error says which one
// was not and by how much; a value that is to be looked at and that the driver
// does not tell is an error at once.
func Settle(ctx context.Context, gpus []string, want Calm) error {
	if len(gpus) == 0 {
		return errors.New("no GPU is named to wait for")
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
			return fmt.Errorf("the GPUs cannot be waited for: %w", err)
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
			return fmt.Errorf("after %s of waiting, %s", want.Timeout, rest)
		case <-time.After(want.Every):
		}
	}
}

// look says what is still in the way, nothing where all is as wanted.
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
				return "", fmt.Errorf("GPU %s cannot be waited for: %w", uuid, gpu.ErrNone)
			}
			return "", fmt.Errorf("GPU %s cannot be waited for: nvidia-smi does not show it", uuid)
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
				return "", fmt.Errorf("the %s of %s cannot be waited for: its driver does not tell it", limit.what, g)
			case limit.high > 0 && n > limit.high:
				words = append(words, fmt.Sprintf("the %s of %s is %g %s, to be at most %g", limit.what, g, n, limit.unit, limit.high))
			case n < limit.low:
				words = append(words, fmt.Sprintf("the %s of %s is %g %s, to be at least %g", limit.what, g, n, limit.unit, limit.low))
			}
		}
	}
	return strings.Join(words, "; "), nil
}
