package ledger

import (
	"fmt"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
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

// Says is how the waiver bears on a decision about its gate, for people: "waived
// by … until …: why" where it covers it, and otherwise why it does not. It is
// empty where there is nothing to say: the gate passed, or the waiver of an
// earlier decision was taken back.
func (w *Waiver) Says(d *Decision, now time.Time) string {
	switch {
	case w == nil || d == nil || d.Verdict.Unlocks():
		return ""
	case w.Covers(d, now):
		return fmt.Sprintf("waived by %s until %s: %s", w.By, Minute(w.Expires), w.Reason)
	case w.Revoked && w.About(d):
		return fmt.Sprintf("its waiver was revoked by %s: %s", w.By, w.Reason)
	case w.Revoked:
		return ""
	case !now.Before(w.Expires):
		return fmt.Sprintf("waiver expired: that of %s ended %s (%s)", w.By, Minute(w.Expires), w.Reason)
	}
	return fmt.Sprintf("not waived: the waiver of %s covers an earlier decision (attempt %d, %s) and not this one", w.By, w.Attempt, w.Verdict)
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
		Launches: d.Launches, Session: d.Session, Variant: d.Variant, Retraction: &r, Because: "retracted",
	}
	if out.Reasons = []string{r.SaysOf(d.Node), "it was " + r.Was()}; out.Withdrawn() {
		out.Because = "rests on what was retracted"
	}
	return out
}

// Was is what was withdrawn: "pass and accepted (attempt 1)".
func (r *Retraction) Was() string {
	accepted := ""
	if r.Accepted {
		accepted = " and accepted"
	}
	return fmt.Sprintf("%s%s (attempt %d)", r.Verdict, accepted, r.Attempt)
}

// SaysOf is who retracted what and why, for the outcome of a node.
func (r *Retraction) SaysOf(node string) string {
	if node == r.Node {
		return fmt.Sprintf("retracted by %s: %s", r.By, r.Reason)
	}
	return fmt.Sprintf("rests on %s, which was retracted by %s: %s", r.Node, r.By, r.Reason)
}
