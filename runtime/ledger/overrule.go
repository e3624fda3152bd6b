package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Waiver lets the phases after a gate proceed although it did not pass. It covers one
// decision about the gate and no later one.
type Waiver struct {
	Node string `json:"node"`
	// Attempt and Verdict identify the decision.
	Attempt int             `json:"attempt"`
	Verdict verdict.Verdict `json:"verdict"`
	Reason  string          `json:"reason"`
	By      string          `json:"by"`
	Expires time.Time       `json:"expires"`
	// Revoked cancels the waiver before it: it covers nothing, and Expires is when it was
	// revoked.
	Revoked bool `json:"revoked,omitempty"`
}

// About reports whether the waiver is for this very decision: another attempt, or one on
// other evidence or by other rules, is another decision.
func (w *Waiver) About(d *Decision) bool {
	return w != nil && d != nil && w.Node == d.Node && w.Attempt == d.Attempt && w.Verdict == d.Verdict
}

// Covers reports whether the waiver is for this decision and holds now.
func (w *Waiver) Covers(d *Decision, now time.Time) bool {
	return w.About(d) && !w.Revoked && now.Before(w.Expires)
}

// Effect is how the waiver affects a decision about its gate: that it covers it, or why
// not. No fact if the gate passed, or the waiver of an earlier decision was revoked.
func (w *Waiver) Effect(d *Decision, now time.Time) verdict.Reason {
	if w == nil || d == nil || d.Verdict.Unlocks() {
		return verdict.Reason{}
	}
	by, why, until := verdict.Text("by", w.By), verdict.Text("reason", w.Reason),
		verdict.Text("until", Minute(w.Expires))
	switch {
	case w.Covers(d, now):
		return verdict.Say("waiver.covers", "waived by {by} until {until}: {reason}", by, why, until)
	case w.Revoked && w.About(d):
		return verdict.Say("waiver.revoked", "waiver revoked by {by}: {reason}", by, why)
	case w.Revoked:
		return verdict.Reason{}
	case !now.Before(w.Expires):
		return verdict.Say("waiver.expired", "waiver by {by} expired {until} ({reason})", by, why, until)
	}
	return verdict.Say("waiver.of_earlier",
		"not waived: the waiver by {by} covers attempt {attempt} ({verdict}), not this one",
		by, verdict.Int("attempt", w.Attempt)).Is(w.Verdict)
}

// Minute formats a time in UTC, the same everywhere.
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Overridable reports whether a person may waive a verdict: one that says something about
// the port, or why there is nothing to say. An error decided nothing, and the next apply
// tries again.
func Overridable(v verdict.Verdict) bool {
	return v == verdict.Fail || v == verdict.Inconclusive || v == verdict.Invalid
}

// check reports what is wrong with a waiver recorded at this time.
func (w *Waiver) check(at time.Time) error {
	switch {
	case w.Node == "":
		return errors.New("is a waiver without a gate")
	case !w.Verdict.Known():
		return unknown("verdict", string(w.Verdict))
	case !Overridable(w.Verdict):
		return fmt.Errorf("waives %s, whose verdict is %s: only fail, inconclusive and invalid can be waived",
			w.Node, w.Verdict)
	case w.Expires.IsZero():
		return fmt.Errorf("waives %s without an expiry: a waiver must expire", w.Node)
	case w.Expires.Location() != time.UTC:
		return fmt.Errorf("has an expiry that is not UTC: %s", w.Expires.Format(time.RFC3339Nano))
	case !w.Revoked && !w.Expires.After(at):
		return fmt.Errorf("waives %s until %s, but was recorded later", w.Node, Minute(w.Expires))
	case w.Attempt < 1:
		return fmt.Errorf("waives attempt %d of %s, but attempts count from 1", w.Attempt, w.Node)
	}
	switch {
	case strings.TrimSpace(w.By) == "":
		return fmt.Errorf("is a waiver of %s without a person", w.Node)
	case strings.TrimSpace(w.Reason) == "":
		return fmt.Errorf("is a waiver of %s without a reason", w.Node)
	}
	return nil
}

// follows reports whether the decision that the waiver is for exists.
func (w *Waiver) follows(x *Index) error {
	last := x.Newest(w.Node)
	switch {
	case last == nil:
		return fmt.Errorf("waives %s, which has no decision", w.Node)
	case last.Kind != KindGate && last.Kind != KindPhase:
		return fmt.Errorf("waives %s, which is a %s: only a gate or phase can be waived", w.Node, last.Kind)
	case !w.About(last):
		return fmt.Errorf("waives attempt %d of %s (%s), but the newest decision is attempt %d (%s)", w.Attempt, w.Node,
			w.Verdict, last.Attempt, last.Verdict)
	}
	return nil
}
