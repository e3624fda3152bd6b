package steps

import (
	"context"
	"fmt"
	"maps"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/telemetry"
	"github.com/mxflow/mxflow/plans"
)

// send measures a fresh engine with every cell of every workload and completes
// the launch's record. What was measured before something broke is kept.
func (l *Sender) send(ctx context.Context, st *started, set string, ws []*plans.Workload, progress func(done, total int)) error {
	taken, failed := Record(ctx, l.subject(st, set, progress), ws)
	r := st.record
	if r.Metrics == nil {
		r.Metrics = map[string]measure.Summary{}
	}
	maps.Copy(r.Metrics, taken.Metrics)
	r.Cells, r.Client, r.Disturbed = taken.Cells, taken.Client, taken.Disturbed
	r.Notes, r.Invalid, r.Incoherent = append(r.Notes, taken.Notes...), append(r.Invalid, taken.Invalid...), append(r.Incoherent, taken.Incoherent...)
	if err := keepRaw(st, taken.Recording); err != nil {
		return err
	}
	return failed
}

// keepRaw stores what the metrics can be derived from again.
func keepRaw(st *started, taken measure.Recording) (err error) {
	if len(taken.Samples) > 0 {
		if st.record.Samples, err = st.lab.Store.WriteSamples(taken.Samples); err != nil {
			return fmt.Errorf("raw samples cannot be kept: %w", err)
		}
	}
	if len(taken.Series) > 0 {
		if st.record.Series, err = st.lab.Store.WriteSeries(taken.Series); err != nil {
			return fmt.Errorf("what was sampled beside the requests cannot be kept: %w", err)
		}
	}
	return nil
}

// subject is the running engine as it is measured.
func (l *Sender) subject(st *started, set string, progress func(done, total int)) Subject {
	s := Subject{
		Client: st.client, Kind: st.kind, Zero: st.began, Fresh: true, Redact: func(all []measure.Sample) { redactSamples(all, st.lab.Redact) }, Progress: progress,
		Calibrate: l.calibrator.Calibrate,
		Machine:   telemetry.Config{GPUs: st.gpu.uuids(), Ignore: st.gpu.config.Ignore, IdleMiB: st.gpu.config.IdleMB},
		Prompts: func(ctx context.Context, client *openai.Client, w *plans.Workload, cell plans.Cell) (prompt.Prompts, error) {
			return l.prompts(ctx, client, set, w, cell)
		},
	}
	if resident, ok := st.inst.(engine.Resident); ok {
		s.Machine.Own, s.Machine.Host, s.Machine.Container = resident.PIDs, true, st.inst.About()["container"]
	}
	return s
}
