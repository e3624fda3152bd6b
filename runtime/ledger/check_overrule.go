package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// check reports what is wrong with a waiver that was recorded at this time.
func (w *Waiver) check(at time.Time) error {
	switch {
	case w.Node == "":
		return errors.New("is a waiver of no gate")
	case !w.Verdict.Known():
		return unknown("verdict", string(w.Verdict))
	case !Overridable(w.Verdict):
		return fmt.Errorf("waives %s, which is %s: only fail, inconclusive and invalid can be waived", w.Node, w.Verdict)
	case w.Expires.IsZero():
		return fmt.Errorf("waives %s for ever: a waiver must expire", w.Node)
	case w.Expires.Location() != time.UTC:
		return fmt.Errorf("has an expiry that is not UTC: %s", w.Expires.Format(time.RFC3339Nano))
	case !w.Revoked && !w.Expires.After(at):
		return fmt.Errorf("waives %s until %s, which is not after it was recorded", w.Node, Minute(w.Expires))
	case w.Attempt < 1:
		return fmt.Errorf("waives attempt %d of %s, and attempts count from 1", w.Attempt, w.Node)
	}
	return signed("waiver of "+w.Node, w.By, w.Reason)
}

// check reports what is wrong with the retraction in a decision; nil is none.
func (r *Retraction) check(d *Decision) error {
	switch {
	case r == nil:
		return nil
	case r.Node == "":
		return fmt.Errorf("withdraws %s because of no node", d.Node)
	case !r.Verdict.Known():
		return unknown("verdict withdrawn", string(r.Verdict))
	case d.Verdict != verdict.Invalid || d.Accepted:
		return fmt.Errorf("withdraws %s and leaves it %s: what is withdrawn is invalid, and not accepted", d.Node, d.Verdict)
	case r.Attempt < 1 || r.Attempt >= d.Attempt:
		return fmt.Errorf("withdraws attempt %d of %s in attempt %d, and can withdraw an earlier one only", r.Attempt, d.Node, d.Attempt)
	}
	return signed("retraction of "+r.Node, r.By, r.Reason)
}

// signed refuses a person's act of which nobody could say later who and why.
func signed(what, by, reason string) error {
	switch {
	case strings.TrimSpace(by) == "":
		return fmt.Errorf("is a %s by nobody", what)
	case strings.TrimSpace(reason) == "":
		return fmt.Errorf("is a %s without a reason", what)
	}
	return nil
}

// follows reports whether there is the decision that the waiver is of.
func (w *Waiver) follows(h *history) error {
	last := h.newest[w.Node]
	switch {
	case last == nil:
		return fmt.Errorf("waives %s, about which nothing was decided before", w.Node)
	case last.Kind != KindGate && last.Kind != KindPhase:
		return fmt.Errorf("waives %s, which is a %s: only what ends a phase can be waived", w.Node, last.Kind)
	case !w.About(last):
		return fmt.Errorf("waives attempt %d of %s (%s), and the newest decision is attempt %d (%s)", w.Attempt, w.Node, w.Verdict, last.Attempt, last.Verdict)
	}
	return nil
}

// follows reports whether there is the outcome that is withdrawn, and the
// retraction that it is withdrawn for.
func (r *Retraction) follows(h *history, d *Decision) error {
	if r == nil {
		return nil
	}
	last := h.newest[d.Node]
	switch {
	case last == nil:
		return fmt.Errorf("withdraws %s, about which nothing was decided before", d.Node)
	case !(last.Attempt == r.Attempt && last.Verdict == r.Verdict) && !r.repeats(last) && !r.repeats(h.retracted[d.Node]):
		return fmt.Errorf("withdraws attempt %d of %s (%s), and the newest decision is attempt %d (%s)", r.Attempt, d.Node, r.Verdict, last.Attempt, last.Verdict)
	case r.Node != d.Node && !h.newest[r.Node].Retracted():
		return fmt.Errorf("withdraws %s because of %s, which is not retracted", d.Node, r.Node)
	}
	return nil
}

// repeats reports whether a decision withdrew the same outcome before.
func (r *Retraction) repeats(d *Decision) bool {
	return d != nil && d.Retraction != nil && d.Retraction.Attempt == r.Attempt && d.Retraction.Verdict == r.Verdict
}
