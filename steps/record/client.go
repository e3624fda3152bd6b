package record

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// calibrate lets the measuring client measure itself before anything counts, with as many
// concurrent streams as the workloads have. If it is off by more than their narrowest
// limit, their results do not count.
func (r *recording) calibrate(ctx context.Context, ws []*plans.Workload) error {
	if r.Calibrate == nil {
		return nil
	}
	limit := r.narrowest(ws)
	c, err := r.Calibrate(ctx, r.streams, limit)
	if err != nil {
		return err
	}
	r.taken.Client = &c
	r.client(limit)
	return nil
}

// narrowest is the narrowest limit of some workloads.
func (r *recording) narrowest(ws []*plans.Workload) (limit time.Duration) {
	for _, w := range ws {
		if own := r.Kind.Lag(w.MaxLag); limit == 0 || own < limit {
			limit = own
		}
	}
	return limit
}

// client checks whether the measuring client was good enough when it measured itself.
func (r *recording) client(limit time.Duration) {
	if why := mock.Verdict(*r.taken.Client, limit); why != "" {
		r.disturbances++ // no engine is involved
		r.invalid(verdict.New(code.ClientNotGood, verdict.Text("why", why)))
	}
}

const (
	// streamRate is the events per second of each stream of a calibration, and mostRate
	// the limit for all together.
	streamRate, mostRate = 100, 20_000
	// calibrateFor is how long a calibration takes, calibrateFew the same with so few
	// streams that nothing queues up, and calibrateTries how often it is repeated before
	// the client counts as not good enough.
	calibrateFor   = 400 * time.Millisecond
	calibrateFew   = 150 * time.Millisecond
	few            = 8
	calibrateTries = 3
)

// Calibrator calibrates the measuring client, once per number of streams while it is good
// enough.
type Calibrator struct {
	known map[int]measure.Calibration
}

// within returns the calibration for a number of streams, if it is within limit: a
// disturbance of one launch must not be held against all later ones.
func (c *Calibrator) within(streams int, limit time.Duration) (measure.Calibration, bool) {
	known, ok := c.known[streams]
	return known, ok && mock.Verdict(known, limit) == ""
}

// Calibrate measures a server whose times are known, see mock.Calibrate. A calibration
// not within limit is repeated: the disturbance may have passed.
func (c *Calibrator) Calibrate(ctx context.Context, streams int, limit time.Duration) (measure.Calibration, error) {
	if known, ok := c.within(streams, limit); ok {
		return known, nil
	}
	self, err := os.Executable()
	if err != nil {
		return measure.Calibration{}, fmt.Errorf("mxflow cannot find its own program, which it needs to calibrate the client: %w", err)
	}
	spec := mock.Spec{
		Command: []string{self, "engine", "mock"}, Streams: streams, Rate: min(streamRate, mostRate/float64(streams)), Duration: calibrateFor,
	}
	if streams <= few {
		spec.Duration = calibrateFew
	}
	var last measure.Calibration
	for range calibrateTries {
		if last, err = mock.Calibrate(ctx, spec); err != nil {
			return last, err
		}
		if mock.Verdict(last, limit) == "" {
			break
		}
	}
	if c.known == nil {
		c.known = map[int]measure.Calibration{}
	}
	c.known[streams] = last
	return last, nil
}
