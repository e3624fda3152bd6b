package store

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// sortableTime has always as many digits, so that its texts sort as its times.
const sortableTime = "2006-01-02T15:04:05.000000000Z"

func text(t time.Time) string { return t.UTC().Format(sortableTime) }

// fact is a reason as its JSON, for json_extract(because, '$.code'); empty for none.
func fact(r verdict.Reason) string {
	if r.IsZero() {
		return ""
	}
	data, err := json.Marshal(r)
	if err != nil {
		return string(r.Code) // a number that JSON cannot hold; the code still says what it is
	}
	return string(data)
}

// apply adds record i. It is a pure function of the record: what it puts into
// the index depends on nothing else.
func (x *index) apply(i int, r *ledger.Record) error {
	switch {
	case r.RunStart != nil:
		s := r.RunStart
		return x.exec("run", r.Run, i, text(r.Time), s.Plan, s.PlanFile, s.PlanDigest, s.PlanSource, s.Tool)
	case r.End != nil:
		return x.exec("end", i, text(r.Time), string(r.End.Verdict), r.End.Exit, fact(r.End.Reason), r.Run)
	case r.Launch != nil:
		return x.applyLaunch(i, r.Run, r.Launch)
	case r.Decision != nil:
		return x.applyDecision(i, r, r.Decision)
	case r.Waiver != nil:
		w := r.Waiver
		return x.exec("waiver", i, r.Run, text(r.Time), w.Node, w.Attempt, string(w.Verdict), w.Reason, w.By, text(w.Expires), w.Revoked)
	}
	return nil
}

func (x *index) applyLaunch(i int, run string, l *ledger.Launch) error {
	err := x.exec("launch", i, l.ID, run, l.Session, l.Purpose, l.Node, l.Variant, l.VariantKey, l.Engine["kind"],
		l.Ordinal, l.Order, text(l.Started), l.Seconds, l.OK, fact(l.Error), l.Exit, l.Samples, l.Log)
	if err != nil {
		return err
	}
	for _, address := range slices.Sorted(maps.Keys(l.Metrics)) {
		m := l.Metrics[address]
		for _, stat := range slices.Sorted(maps.Keys(m.Stats)) {
			if err := x.exec("metric", i, address, stat, m.Stats[stat], m.Unit, m.N); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *index) applyDecision(i int, r *ledger.Record, d *ledger.Decision) error {
	retracted := ""
	if d.Retraction != nil {
		retracted = d.Retraction.Node
	}
	err := x.exec("decision", i, r.Run, text(r.Time), d.Node, d.Kind, d.Phase, d.Feature, d.MeasureKey, d.DecisionKey,
		d.Attempt, string(d.Verdict), d.Accepted, d.Session, d.Seconds, fact(d.Because), retracted)
	if err != nil {
		return err
	}
	for j, rule := range d.Rules {
		if err := x.exec("rule", i, j, rule.Name, rule.Role, rule.Expr, rule.Source, string(rule.Verdict), rule.Decides); err != nil {
			return err
		}
		for k, in := range rule.Inputs {
			if err := x.exec("input", i, j, k, in.Path, in.Value, in.Text, fact(in.Missing), in.Unit, in.N, in.BaseN, in.NRequests, in.Low, in.High); err != nil {
				return err
			}
		}
	}
	return nil
}
