package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/measure/capacity"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// probeOf is what every probe of a cell is to keep.
func probeOf(w *plans.Workload, cell plans.Cell) *measure.Probe {
	return &measure.Probe{Of: cell.Address, Share: w.Capacity.Percentile / 100, ErrorShare: w.Capacity.Errors}
}

// search sends the probes of a cell.
func (r *recording) search(ctx context.Context, w *plans.Workload, cell plans.Cell) error {
	options := w.Capacity.Search(r.Before[cell.Address])
	options.SLO = measure.CellRun{SLO: limits(w), Probe: probeOf(w, cell)}.Criteria()
	n := 0
	if _, err := capacity.Search(options, func(rate float64) (capacity.Probe, error) {
		n++
		return r.probe(ctx, w, cell, n, rate)
	}); err != nil {
		return err
	}
	found := measure.Capacity(r.taken.Cells, cell.Address)
	switch {
	case found.AtLeast:
		r.note(verdict.New(code.CapacityBeyond, verdict.Num("rate", found.Rate, "req/s")).On(cell.Address))
	case found.Rate > 0 && !found.Known():
		longer := w.Capacity.Probe * time.Duration(found.Need) / time.Duration(max(found.Near, 1))
		r.note(verdict.New(code.CapacityFew, verdict.Num("rate", found.Rate, "req/s"),
			verdict.Int("requests", found.Near),
			verdict.Int("need", found.Need),
			verdict.Dur("longer", longer.Round(time.Second)+time.Second)).On(cell.Address))
	case found.Rate == 0 && found.Lowest > 0: // otherwise the client was late at all rates
		return &verdict.Fault{Reason: infeasible(cell.Address, found)}
	}
	return nil
}

// infeasible is that no rate kept the SLO.
func infeasible(cell string, found capacity.Result) verdict.Reason {
	args := []verdict.Arg{
		verdict.Text("metric", found.Limiting.Metric), verdict.Num("rate", found.Lowest, "req/s"),
		verdict.Num("kept", found.Kept, "share"), verdict.Num("share", found.Limiting.Share, "share"),
	}
	if found.Limiting.Limit > 0 {
		args = append(args, verdict.Num("limit", found.Limiting.Limit, "ms"))
	}
	return verdict.New(code.CapacityNone, args...).On(cell)
}

// probe sends a cell at one rate.
func (r *recording) probe(ctx context.Context, w *plans.Workload, cell plans.Cell, n int, rate float64) (
	found capacity.Probe, err error,
) {
	c := w.Capacity
	at := cell.Probe(n, rate, 0, 0)
	// Arms of a round meet the same arrivals and lengths, probes and rounds others.
	at.Seed = (int64(w.Seed)*1000+int64(r.Round))*1000 + int64(n)
	pace := LoadPlan(w, at).Pace
	if at.Warmup, err = pace.During(c.Warmup); err != nil {
		return found, fmt.Errorf("cell %s: %w", at.Address, err)
	}
	if at.Requests, err = pace.During(c.Warmup + c.Probe); err != nil {
		return found, fmt.Errorf("cell %s: %w", at.Address, err)
	}
	at.Requests = max(at.Requests-at.Warmup, 1)
	r.total += at.Warmup + at.Requests
	if err := r.cell(ctx, w, at, probeOf(w, cell)); err != nil {
		return found, err
	}
	sent := r.sent[len(r.sent)-1]
	if why := sent.unanswered(); why != nil {
		return found, why
	}
	return sent.run.Rated(), nil
}

// unanswered is why no request of a probe was answered, unless the drain ended.
func (c sentCell) unanswered() error {
	last := ""
	for _, s := range c.samples {
		if s.Err == "" || s.Err == load.ErrUndrained.Error() {
			return nil
		}
		last = s.Err
	}
	return errors.New(c.cell.Address + ": no request was answered: " + last)
}

// late reports how late the client sent and woke.
func (c sentCell) late(limit time.Duration) (sent, woken load.Lateness) {
	return load.Lag(c.samples, limit), load.Delayed(c.delay, c.run.From, c.run.To, limit)
}

// limits are a workload's, in ms.
func limits(w *plans.Workload) (ms map[string]float64) {
	for metric, limit := range w.SLO {
		if ms == nil {
			ms = map[string]float64{}
		}
		ms[metric] = float64(limit) / float64(time.Millisecond)
	}
	return ms
}
