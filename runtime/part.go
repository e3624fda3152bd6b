package runtime

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Subject is a step or a feature of a phase, as the reasons of the phase name it.
type Subject struct{ Of, Name string }

// StepSubject and FeatureSubject name what a phase is joined from.
func StepSubject(b *plans.Block) Subject      { return Subject{ledger.OfStep, b.Kind + " " + b.Name} }
func FeatureSubject(f *plans.Feature) Subject { return Subject{ledger.OfFeature, f.Name} }

// Came says how it came out.
func (s Subject) Came(v verdict.Verdict) string { return fmt.Sprintf("%s %s: %s", s.Of, s.Name, v) }

// Is says how it came out where nothing else of the phase was looked at.
func (s Subject) Is(v verdict.Verdict) string { return fmt.Sprintf("%s %s is %s", s.Of, s.Name, v) }

// NotRun says why it never came out.
func (s Subject) NotRun(why string) string {
	return fmt.Sprintf("%s %s was not run: %s", s.Of, s.Name, why)
}

// parts are what the reasons of a decision are of.
func (e *execution) parts(n *Node, d *ledger.Decision) []ledger.Part {
	var levels []ledger.Level
	var more []ledger.Sentence
	for _, need := range n.Needs {
		on, outcome := e.Graph.Node(need.On), e.result.Outcomes[need.On]
		if outcome != nil {
			levels = append(levels, outcome.Levels...)
		}
		if on != nil && Waivable(n.Kind) {
			more = append(more, sentences(on, outcome, e.result.Locked[need.On])...)
		}
	}
	parts := d.Parts(levels, more...)
	for i := range d.Confirmations {
		// Their reasons come first, and hold what the other engine's decision says.
		c := &d.Confirmations[i]
		if i >= len(parts) || parts[i].Of != ledger.OfConfirmation || e.result.Outcomes[c.Node] == nil {
			continue
		}
		reasons, brief := e.result.Outcomes[c.Node].Against()
		if short := ledger.NotConfirmed(c.Engine, c.Verdict, brief); c.Reason == ledger.NotConfirmed(c.Engine, c.Verdict, reasons) && short != c.Reason {
			parts[i].Brief = short
		}
	}
	return parts
}

// sentences are what the end of a phase may say of what it is joined from.
func sentences(on *Node, outcome *ledger.Decision, locked string) []ledger.Sentence {
	var s Subject
	switch {
	case on.Kind == KindStep && on.StepBlock != nil:
		s = StepSubject(on.StepBlock)
	case on.Kind == KindFeature && on.FeatureBlock != nil:
		s = FeatureSubject(on.FeatureBlock)
	default:
		return nil
	}
	part := ledger.Part{Of: s.Of, Name: s.Name}
	if outcome == nil {
		return []ledger.Sentence{{Text: s.NotRun(locked), Part: part}}
	}
	part.Verdict = outcome.Verdict
	return []ledger.Sentence{{Text: s.Came(outcome.Verdict), Part: part}, {Text: s.Is(outcome.Verdict), Part: part}}
}
