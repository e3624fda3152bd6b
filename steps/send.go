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
	"github.com/mxflow/mxflow/steps/launch"
)

// send measures a fresh engine with every cell of every workload and completes
// the launch's record. What was measured before something broke is kept.
func (l *Sender) send(ctx context.Context, st *launch.Started, set string, ws []*plans.Workload, progress func(done, total int)) error {
	taken, failed := Record(ctx, l.subject(st, set, progress), ws)
	r := st.Record
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
func keepRaw(st *launch.Started, taken measure.Recording) (err error) {
	if len(taken.Samples) > 0 {
		if st.Record.Samples, err = st.Lab.Store.WriteSamples(taken.Samples); err != nil {
			return fmt.Errorf("raw samples cannot be kept: %w", err)
		}
	}
	if len(taken.Series) > 0 {
		if st.Record.Series, err = st.Lab.Store.WriteSeries(taken.Series); err != nil {
			return fmt.Errorf("what was sampled beside the requests cannot be kept: %w", err)
		}
	}
	return nil
}

// subject is the running engine as it is measured.
func (l *Sender) subject(st *launch.Started, set string, progress func(done, total int)) Subject {
	s := Subject{
		Client: st.Client, Kind: st.Kind, Zero: st.Began, Fresh: true, Redact: func(all []measure.Sample) { redactSamples(all, st.Lab.Redact) }, Progress: progress,
		Calibrate: l.calibrator.Calibrate,
		Machine:   telemetry.Config{GPUs: st.GPU.UUIDs(), Ignore: st.GPU.Config.Ignore, IdleMiB: st.GPU.Config.IdleMB},
		Prompts: func(ctx context.Context, client *openai.Client, w *plans.Workload, cell plans.Cell) (prompt.Prompts, error) {
			return l.prompts(ctx, client, set, w, cell)
		},
	}
	if resident, ok := st.Inst.(engine.Resident); ok {
		s.Machine.Own, s.Machine.Host, s.Machine.Container = resident.PIDs, true, st.Inst.About()["container"]
	}
	return s
}
