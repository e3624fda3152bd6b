package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// collect records everything that has finished by now in one append, so that
// outcomes that end together share one fsync, and only then lets dependents go.
func (e *execution) collect(first *finished) {
	batch := []*finished{first}
	for {
		select {
		case f := <-e.done:
			batch = append(batch, f)
			continue
		default:
		}
		break
	}
	var records []*ledger.Record
	var kept []*finished
	for _, f := range batch {
		e.running--
		if f.node.Host {
			e.hostBusy = false
		}
		if e.interrupted(f) {
			continue
		}
		e.complete(f)
		records = append(records, &ledger.Record{Type: "decision", Time: e.Now().UTC(), Run: e.Run, Decision: f.decision})
		kept = append(kept, f)
	}
	if len(records) == 0 {
		return
	}
	if err := e.Journal.Append(records...); err != nil {
		e.fatal = fmt.Errorf("the outcome of %s could not be recorded: %w", kept[0].node.ID, err)
		return
	}
	for _, f := range kept {
		e.end(f.node, f.decision, false, f.seconds)
	}
}

func (e *execution) interrupted(f *finished) bool {
	if f.err == nil || e.ctx.Err() == nil {
		return false
	}
	return errors.Is(f.err, context.Canceled) || errors.Is(f.err, context.DeadlineExceeded)
}

// name says of a decision what it is about and what it rests on.
func (s *Scope) name(d *ledger.Decision) {
	d.Node, d.Kind, d.Phase, d.Feature = s.Node.ID, string(s.Node.Kind), s.Node.Phase, s.Node.Feature
	d.MeasureKey, d.DecisionKey = s.Keys.Measure, s.Keys.Decide
	d.Attempt, d.Because, d.Supersedes = s.Attempt, s.Because, s.Previous != nil
}

// complete fills in what every decision has in common.
func (e *execution) complete(f *finished) {
	d := f.decision
	if f.err != nil || d == nil || !d.Verdict.Known() {
		d = &ledger.Decision{Verdict: verdict.Error}
		switch {
		case f.err != nil:
			d.Reasons = []verdict.Reason{verdict.OfError(f.err)}
		default:
			d.Reasons = []verdict.Reason{verdict.New(code.NoVerdict)}
		}
		f.decision = d
	}
	s := f.scope
	s.name(d)
	if DecidesAlone(f.node.Kind) && f.err == nil {
		d.Derived = true
	}
	d = e.overrule.retractedBefore(s, d)
	f.decision = d
	d.ClaimKey = s.Keys.Claim
	if d.Of = 0; s.Because.Code == code.HypothesisChanged && d.SameOutcome(s.Previous) {
		// What rests on it goes on resting on the attempt that decided it.
		d.Of = s.Previous.DecidedBy()
	}
	d.Seconds = f.seconds
}
