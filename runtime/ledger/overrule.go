package ledger

import (
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// About reports whether the waiver is of this very decision: another attempt, or
// one on other evidence or by other rules, is another decision.
func (w *Waiver) About(d *Decision) bool {
	return w != nil && d != nil && w.Node == d.Node && w.Attempt == d.Attempt &&
		w.MeasureKey == d.MeasureKey && w.DecisionKey == d.DecisionKey && w.Verdict == d.Verdict
}

// Covers reports whether the waiver is of this decision and holds now.
func (w *Waiver) Covers(d *Decision, now time.Time) bool {
	return w.About(d) && !w.Revoked && now.Before(w.Expires)
}

// Bears is how the waiver bears on a decision about its gate: that it covers it, or
// why it does not. There is no fact where there is nothing to say: the gate passed, or
// the waiver of an earlier decision was taken back.
func (w *Waiver) Bears(d *Decision, now time.Time) verdict.Reason {
	if w == nil || d == nil || d.Verdict.Unlocks() {
		return verdict.Reason{}
	}
	by, why, until := verdict.Text("by", w.By), verdict.Text("reason", w.Reason), verdict.Text("until", Minute(w.Expires))
	switch {
	case w.Covers(d, now):
		return verdict.New(code.Waived, by, why, until)
	case w.Revoked && w.About(d):
		return verdict.New(code.WaiverRevoked, by, why)
	case w.Revoked:
		return verdict.Reason{}
	case !now.Before(w.Expires):
		return verdict.New(code.WaiverExpired, by, why, until)
	}
	return verdict.New(code.WaiverOfEarlier, by, verdict.Int("attempt", w.Attempt)).Is(w.Verdict)
}

// Minute is a time as people read it, everywhere the same.
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Overridable reports whether a person may waive a verdict: one that says
// something about the port, or why there is nothing to say. After an error
// nothing was decided, and the next apply tries again by itself.
func Overridable(v verdict.Verdict) bool {
	return v == verdict.Fail || v == verdict.Inconclusive || v == verdict.Invalid
}

// Retracted reports whether a person withdrew this very outcome.
func (d *Decision) Retracted() bool {
	return d != nil && d.Retraction != nil && d.Retraction.Node == d.Node
}

// RetractedFeature reports whether what a person retracted here is the outcome of a
// feature, or of it on another engine.
func (d *Decision) RetractedFeature() bool {
	return d.Retracted() && (d.Kind == KindFeature || d.Kind == KindCriteria)
}

// Withdrawn reports whether the outcome was withdrawn because it rests on one
// that was retracted.
func (d *Decision) Withdrawn() bool {
	return d != nil && d.Retraction != nil && d.Retraction.Node != d.Node
}

// Withdraw is the decision that takes the place of d, which is withdrawn for the
// reason that r gives; of r, Node, Reason and By are read. Launches and session
// stay named: they are the evidence from which it must not pass again by itself.
// Of an outcome that was withdrawn before, what was decided first stays named.
func (d *Decision) Withdraw(r Retraction) *Decision {
	r.Attempt, r.Verdict, r.Accepted = d.Attempt, d.Verdict, d.Accepted
	if was := d.Retraction; was != nil {
		r.Attempt, r.Verdict, r.Accepted = was.Attempt, was.Verdict, was.Accepted
	}
	out := &Decision{
		Node: d.Node, Kind: d.Kind, Phase: d.Phase, Feature: d.Feature, MeasureKey: d.MeasureKey, DecisionKey: d.DecisionKey,
		Attempt: d.Attempt + 1, Verdict: verdict.Invalid, Derived: true, Supersedes: true,
		Launches: d.Launches, Session: d.Session, Variant: d.Variant, Retraction: &r, Because: verdict.New(code.Retracted),
	}
	if out.Reasons = []verdict.Reason{r.Of(d.Node), r.Was()}; out.Withdrawn() {
		out.Because = verdict.New(code.OnRetracted)
	}
	return out
}

// Was is what was withdrawn.
func (r *Retraction) Was() verdict.Reason {
	args := []verdict.Arg{verdict.Int("attempt", r.Attempt)}
	if r.Accepted {
		args = append(args, verdict.Text("accepted", "yes"))
	}
	return verdict.New(code.Was, args...).Is(r.Verdict)
}

// Of is who retracted what and why, for the outcome of a node.
func (r *Retraction) Of(node string) verdict.Reason {
	by, why := verdict.Text("by", r.By), verdict.Text("reason", r.Reason)
	if node == r.Node {
		return verdict.New(code.RetractedBy, by, why)
	}
	return verdict.New(code.OnRetractedBy, by, why).On(r.Node)
}
