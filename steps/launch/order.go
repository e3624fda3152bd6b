package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// Order is one launch for mxflow on another machine to make, from the same plan and with
// the function that would make it here.
type Order struct {
	// Kind is that function's: for a qualification, a reference, a benchmark.
	Kind string `json:"kind"`
	Run  string `json:"run"`
	Node string `json:"node"`
	// Variant is what to start, resolved there: it must have the same key.
	Variant decide.Arm `json:"variant"`
	// Record is the launch's, as far as known before it.
	Record *ledger.Launch `json:"record"`
	// With is the function's other arguments.
	With json.RawMessage `json:"with"`
	// Needs are the records of launches whose level results it reads.
	Needs []*ledger.Record `json:"needs,omitempty"`
}

// Variant resolves the ordered variant. It returns an error if this machine would start
// something else.
func (l *Lab) Variant(s *runtime.Scope, o decide.Arm) (*variant.Variant, error) {
	v, err := l.Variants.Resolve(s, o.Name, o.Engine, o.Knobs)
	if err == nil && o.Row {
		v = v.AsRow()
	}
	if err == nil && v.Key != o.Key {
		err = fmt.Errorf(
			"variant %s of engine %s would start something else here: its program (%s), Python packages, or inputs "+
				"of the plan from this host differ from those that the plan was applied with; put the same files there",
			o.Name, o.Engine, l.Variants.Program(runtime.ContextOf(s), v.Spec))
	}
	if err != nil {
		err = &verdict.Fault{Reason: verdict.New(code.WorkerRefuses, verdict.Err(err))}
	}
	return v, err
}

// OrderResult is the result of an order: the completed record, whose artifacts are in the store,
// and what its function returned.
type OrderResult struct {
	Record *ledger.Launch  `json:"record"`
	Result json.RawMessage `json:"result"`
}

type Remote interface {
	// Stand is the place for launches of a slot, counted from 0: one of the wanted places
	// if something still makes launches there, else the slot's own.
	Stand(ctx context.Context, slot int, wanted []*ledger.Place, note func(verdict.Reason)) (*ledger.Place, error)
	// Make executes an order at the place that its record names. A *Gone error is a
	// launch whose end is unknown.
	Make(ctx, hard context.Context, o *Order, emit func(runtime.Event)) (*OrderResult, error)
}

// The classes of lost launches: how what made them is gone.
const (
	GoneEnded   = "ended"   // it, or the connection to it, ended
	GoneSilent  = "silent"  // nothing was heard of it
	GoneDamaged = "damaged" // what it brought back is cut short or was changed
	GoneBroke   = "broke"   // it could not go on: a full disk
	GoneJob     = "job"     // its scheduler ended its job
)

// LostError is the error for a launch lost with what made it.
type LostError struct{ Why verdict.Reason }

func (g *LostError) Error() string { return string(g.Why.Kind) + " " + g.Why.Subject }

// Function makes one kind of launch: it starts the variant, does what the launch is for,
// stops it, and completes its record. Its arguments and results can be serialized.
type Function[L, A, R any] struct {
	Kind string
	// Here does it on this machine. The error is the context's or mxflow's own: a launch
	// that broke is in its record.
	Here func(ctx context.Context, lab L, s *runtime.Scope, v *variant.Variant, record *ledger.Launch,
		with A) (R, error)
}

// Make makes a launch where the plan's executor puts it; l sends it there.
func (f Function[L, A, R]) Make(ctx context.Context, lab L, l *Lab, s *runtime.Scope, v *variant.Variant,
	record *ledger.Launch, with A, needs ...*ledger.Launch,
) (result R, err error) {
	if l.Elsewhere == nil {
		return f.Here(ctx, lab, s, v, record, with)
	}
	o := &Order{Kind: f.Kind, Run: s.Run, Node: s.Node.ID, Variant: v.Arm, Record: record}
	for _, need := range needs {
		bare := *need
		bare.Draw = ledger.Draw{} // its run is not known there
		o.Needs = append(o.Needs,
			&ledger.Record{Type: "launch", Time: time.Now().UTC(), Run: l.Store.Origin(need).Run, Launch: &bare})
	}
	if o.With, err = json.Marshal(with); err != nil {
		return result, err
	}
	if record.Place == nil {
		note := func(what verdict.Reason) {
			s.Emit(runtime.Event{
				Type: "note", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature,
				Variant: v.Name, Why: what,
			})
		}
		if record.Place, err = l.Elsewhere.Stand(ctx, 0, nil, note); err != nil {
			return result, err
		}
	}
	began := time.Now()
	done, err := l.Elsewhere.Make(ctx, s.Force, o, s.Emit)
	if gone := (*LostError)(nil); errors.As(err, &gone) {
		l.identify(ctx, s, v, record)
		record.Started, record.Seconds = began.UTC(), time.Since(began).Seconds()
		record.OK, record.Error, record.Failure = false, gone.Why.Map(l.Redact.Text), ledger.FailureLost
		return result, nil
	}
	if err != nil {
		return result, err
	}
	*record = *done.Record
	return result, json.Unmarshal(done.Result, &result)
}

func (f Function[L, A, R]) Carry(ctx context.Context, lab L, s *runtime.Scope, v *variant.Variant,
	o *Order,
) (json.RawMessage, error) {
	var with A
	if err := json.Unmarshal(o.With, &with); err != nil {
		return nil, err
	}
	result, err := f.Here(ctx, lab, s, v, o.Record, with)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// identify records what is started.
func (l *Lab) identify(ctx context.Context, s *runtime.Scope, v *variant.Variant, record *ledger.Launch) {
	record.Variant, record.VariantKey, record.Node, record.BootID = v.Name, v.Key, s.Node.ID, l.Boot
	record.Block, record.Knobs = v.Engine, maps.Clone(v.Knobs)
	record.Engine = map[string]string{
		"kind": v.Spec.Kind, "command": strings.Join(v.Spec.Command, " "), "program": l.Variants.Program(ctx, v.Spec),
	}
	for k, value := range shownEnv(v.Spec.Env) {
		record.Engine["env."+k] = value
	}
}

// Report makes a launch between the events that it starts and that it is done. Its start is on
// record before it, and the launch when it is reported as done: an engine that ends mxflow cannot
// choose which of its launches there were.
func (l *Lab) Report(s *runtime.Scope, ev runtime.Event, v *variant.Variant, record *ledger.Launch,
	make func() error,
) error {
	ev.Type, ev.Node, ev.Phase, ev.Feature = "launch_started", s.Node.ID, s.Node.Phase, s.Node.Feature
	s.Emit(ev)
	start := &ledger.Start{Launch: record.ID, Session: record.Session, VariantKey: v.Key}
	if err := l.Store.Append(&ledger.Record{Type: "start", Time: time.Now().UTC(), Run: s.Run, Start: start}); err !=
		nil {
		return err
	}
	if err := make(); err != nil {
		return err
	}
	if err := l.Keep(s, record); err != nil {
		return err
	}
	ev.Type, ev.Seconds, ev.Decode, ev.Why = "launch_done", record.Seconds, record.Decode(), verdict.Reason{}
	if !record.OK {
		ev.Why = record.Error
	}
	s.Emit(ev)
	return nil
}

// Use makes one launch of a variant on this machine: it starts it, lets do use it,
// observes it and stops it. The error is the context's or mxflow's own: what broke is in
// the record.
func (l *Lab) Use(ctx context.Context, s *runtime.Scope, v *variant.Variant, record *ledger.Launch,
	do func(st *Started) error,
) error {
	st, err := l.Launch(ctx, s, v, record)
	if st == nil {
		return err
	}
	if err == nil {
		switch err = do(st); {
		case err == nil:
			st.Observe(ctx, v)
		case ctx.Err() == nil:
			st.RecordFailure(err)
		}
		st.Stop(s)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Keep appends the record of a launch to the ledger.
func (l *Lab) Keep(s *runtime.Scope, record *ledger.Launch) error {
	return l.Store.Append(&ledger.Record{Type: "launch", Time: time.Now().UTC(), Run: s.Run, Launch: record})
}
