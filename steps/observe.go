package steps

import (
	"context"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// observing bounds all that is asked of one launch.
const observing = time.Minute

// specKind is the kind of a variant's engine, as the plan extends it.
func specKind(spec engine.Spec) kinds.Kind {
	if spec.Profile != nil {
		return *spec.Profile
	}
	kind, _ := kinds.Lookup(spec.Kind)
	return kind
}

// ownPatterns are the observe blocks of an engine.
func ownPatterns(e *plans.Engine) (own []kinds.Pattern, err error) {
	if e == nil {
		return nil, nil
	}
	for _, b := range e.Parts["observe"] {
		p, err := patternOf(b)
		if err != nil {
			return nil, err
		}
		own = append(own, p)
	}
	return own, nil
}

// observedKey is what the observe blocks of an engine look for.
func observedKey(blocks []*plans.Block) (parts []any) {
	for _, b := range blocks {
		parts = append(parts, b.Name, b.Attrs)
	}
	return parts
}

// patterns are all that is observed of a variant.
func (l *Resolver) patterns(v *variant) ([]kinds.Pattern, error) {
	own, err := ownPatterns(l.Plan.Engine(v.engine))
	return specKind(v.spec).Patterns(own), err
}

// evidence is what will be looked for in the log of a variant: it stays where the
// log has to be cut.
func (l *Resolver) evidence(v *variant) (e logscan.Evidence) {
	for _, proof := range evidenceFor(l.Plan, v.knobs) {
		e.Globs = append(append(e.Globs, proof.MustSee...), proof.MustNotSee...)
	}
	for _, c := range specKind(v.spec).Crashes {
		e.Globs = append(e.Globs, c.Glob)
	}
	patterns, _ := l.patterns(v) // a mistake in them is reported when they are used
	for _, p := range patterns {
		e.Expressions = append(e.Expressions, p.Log...)
	}
	return e
}

// look asks the engine what it says of itself, as its record keeps it: what was
// observed, and why the rest was not. Sensitive values are taken out.
func (st *started) look(ctx context.Context, v *variant) (map[string]ledger.Observed, map[string]verdict.Reason, error) {
	patterns, err := st.lab.patterns(v)
	if err != nil || len(patterns) == 0 {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, observing)
	defer cancel()
	st.settleLog(ctx)
	seen, not := map[string]ledger.Observed{}, map[string]verdict.Reason{}
	for _, o := range observe.All(ctx, st.inst, specKind(v.spec).Metrics.Path, patterns) {
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
func (st *started) observe(ctx context.Context, v *variant) {
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
