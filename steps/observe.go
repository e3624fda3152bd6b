package steps

import (
	"context"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// observing bounds all that is asked of one launch.
const observing = time.Minute

// look asks the engine what it says of itself, as its record keeps it: what was
// observed, and why the rest was not. Sensitive values are taken out.
func (st *started) look(ctx context.Context, v *variant.Variant) (map[string]ledger.Observed, map[string]verdict.Reason, error) {
	patterns, err := st.lab.Patterns(v)
	if err != nil || len(patterns) == 0 {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, observing)
	defer cancel()
	st.settleLog(ctx)
	seen, not := map[string]ledger.Observed{}, map[string]verdict.Reason{}
	for _, o := range observe.All(ctx, st.inst, variant.KindOf(v.Spec).Metrics.Path, patterns) {
		if o.Missing != "" {
			not[o.Name] = verdict.New(code.Unobserved, verdict.Text("why", st.lab.Redact.Text(o.Missing)))
			continue
		}
		if text, ok := o.Value.(string); ok {
			o.Value = st.lab.Redact.Text(text)
		}
		seen[o.Name] = ledger.Observed{Value: o.Value, Unit: o.Unit, From: st.lab.Redact.Text(o.From), Line: st.lab.Redact.Text(o.Line)}
	}
	return seen, not, nil
}

// observe completes the record with what the engine says of itself. It comes
// after the last request, so that nothing that is timed waits for it, and before
// the stop.
func (st *started) observe(ctx context.Context, v *variant.Variant) {
	if ended := st.inst.Exit() != nil && st.command.of == nil; ended || !st.record.OK {
		return
	}
	seen, not, err := st.look(ctx, v)
	if err != nil {
		st.record.Notes = append(st.record.Notes, verdict.New(code.NothingObserved, verdict.Line(err)))
		return
	}
	st.record.Observed, st.record.Unobserved = seen, not
	for name, o := range seen {
		if number, ok := o.Value.(float64); ok {
			st.keepNumber(name, o.Unit, number)
		}
	}
}

// keepNumber makes an observed number a metric of the launch, and of those that
// the catalogue has too.
func (st *started) keepNumber(name, unit string, value float64) {
	m := measure.Metric{Name: name, Unit: unit, Scope: measure.PerLaunch}
	if summary, ok := m.Summary([]float64{value}); ok {
		if st.record.Metrics == nil {
			st.record.Metrics = map[string]measure.Summary{}
		}
		st.record.Metrics["engine.observed."+name] = summary
	}
	if m, ok := measure.Lookup(name); ok && m.Observed && m.Unit == unit {
		st.perLaunch(name, value)
	}
}

// diagnose adds to the error what the log says of how the engine broke.
func (st *started) diagnose() {
	log := st.log
	if st.inst != nil {
		log = st.inst.LogPath()
	}
	d, ok := st.kind.Diagnose(log)
	if !ok {
		return
	}
	shown := verdict.New(code.Diagnosed, verdict.Text("class", d.Class), verdict.Text("means", d.Means), verdict.Int("line_no", d.LineNo), verdict.Text("line", d.Line))
	st.record.Error = st.record.Error.From(append(st.record.Error.Causes, shown.Map(st.lab.Redact.Text))...)
}
