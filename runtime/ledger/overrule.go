package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Retraction withdraws a decided outcome. The decision that holds it has the verdict
// invalid and replaces the withdrawn one.
type Retraction struct {
	// Node is the outcome that turned out wrong; another one than the decision's if this
	// was locked because it depended on it.
	Node string `json:"node"`
	// Attempt, Verdict and Accepted are what was withdrawn.
	Attempt  int             `json:"attempt"`
	Verdict  verdict.Verdict `json:"verdict"`
	Accepted bool            `json:"accepted,omitempty"`
	Reason   string          `json:"reason"`
	By       string          `json:"by"`
}

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
	by, why, until := verdict.Text("by", w.By), verdict.Text("reason", w.Reason), verdict.Text("until", Minute(w.Expires))
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

// Retracted reports whether a person withdrew this very outcome.
func (d *Decision) Retracted() bool {
	return d != nil && d.Retraction != nil && d.Retraction.Node == d.Node
}

// RetractedFeature reports whether the outcome retracted here is a feature's, a feature's on
// another engine, or that of its benchmark.
func (d *Decision) RetractedFeature() bool {
	return d.Retracted() && (d.Kind == KindFeature || d.Kind == KindCriteria || d.Kind == KindBenchmark)
}

// Withdrawn reports whether the outcome was withdrawn because it rests on one
// that was retracted.
func (d *Decision) Withdrawn() bool {
	return d != nil && d.Retraction != nil && d.Retraction.Node != d.Node
}

// Withdraw returns the decision that replaces d, which is withdrawn for the reason in r;
// of r, Node, Reason and By are read. Launches and session stay named: they are the
// evidence from which it must not pass again by itself. If the outcome was withdrawn
// before, the original decision stays named.
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

func (r *Retraction) Was() verdict.Reason {
	args := []verdict.Arg{verdict.Int("attempt", r.Attempt)}
	if r.Accepted {
		args = append(args, verdict.Text("accepted", "yes"))
	}
	return verdict.Say("retraction.was", "previously {verdict}{accepted?, accepted} (attempt {attempt})",
		args...).Is(r.Verdict)
}

// Of names the person who retracted, the node and the reason, for the outcome of a node.
func (r *Retraction) Of(node string) verdict.Reason {
	by, why := verdict.Text("by", r.By), verdict.Text("reason", r.Reason)
	if node == r.Node {
		return verdict.Say("retraction", "retracted by {by}: {reason}", by, why)
	}
	return verdict.Say("retraction.below", "based on {subject}, which was retracted by {by}: {reason}",
		by, why).On(r.Node)
}

// check reports what is wrong with a waiver recorded at this time.
func (w *Waiver) check(at time.Time) error {
	switch {
	case w.Node == "":
		return errors.New("is a waiver without a gate")
	case !w.Verdict.Known():
		return unknown("verdict", string(w.Verdict))
	case !Overridable(w.Verdict):
		return fmt.Errorf("waives %s, whose verdict is %s: only fail, inconclusive and invalid can be waived", w.Node, w.Verdict)
	case w.Expires.IsZero():
		return fmt.Errorf("waives %s without an expiry: a waiver must expire", w.Node)
	case w.Expires.Location() != time.UTC:
		return fmt.Errorf("has an expiry that is not UTC: %s", w.Expires.Format(time.RFC3339Nano))
	case !w.Revoked && !w.Expires.After(at):
		return fmt.Errorf("waives %s until %s, but was recorded later", w.Node, Minute(w.Expires))
	case w.Attempt < 1:
		return fmt.Errorf("waives attempt %d of %s, but attempts count from 1", w.Attempt, w.Node)
	}
	return signed("waiver of "+w.Node, w.By, w.Reason)
}

// check reports what is wrong with the retraction in a decision; nil is none.
func (r *Retraction) check(d *Decision) error {
	switch {
	case r == nil:
		return nil
	case r.Node == "":
		return fmt.Errorf("withdraws %s without the node that caused it", d.Node)
	case !r.Verdict.Known():
		return unknown("verdict withdrawn", string(r.Verdict))
	case d.Verdict != verdict.Invalid || d.Accepted:
		return fmt.Errorf("withdraws %s but leaves it %s: a withdrawn verdict must be invalid and not accepted", d.Node, d.Verdict)
	case r.Attempt < 1 || r.Attempt >= d.Attempt:
		return fmt.Errorf("withdraws attempt %d of %s in attempt %d, but can only withdraw an earlier one", r.Attempt, d.Node, d.Attempt)
	}
	return signed("retraction of "+r.Node, r.By, r.Reason)
}

// signed rejects a person's act without a name or a reason.
func signed(what, by, reason string) error {
	switch {
	case strings.TrimSpace(by) == "":
		return fmt.Errorf("is a %s without a person", what)
	case strings.TrimSpace(reason) == "":
		return fmt.Errorf("is a %s without a reason", what)
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
		return fmt.Errorf("waives attempt %d of %s (%s), but the newest decision is attempt %d (%s)", w.Attempt, w.Node, w.Verdict, last.Attempt, last.Verdict)
	}
	return nil
}

// follows reports whether the withdrawn outcome exists, and the retraction that it is
// withdrawn for.
func (r *Retraction) follows(x *Index, d *Decision) error {
	if r == nil {
		return nil
	}
	last := x.Newest(d.Node)
	switch {
	case last == nil:
		return fmt.Errorf("withdraws %s, which has no decision", d.Node)
	case !(last.Attempt == r.Attempt && last.Verdict == r.Verdict) && !r.repeats(last) && !r.repeats(x.retracted[d.Node]):
		return fmt.Errorf("withdraws attempt %d of %s (%s), but the newest decision is attempt %d (%s)", r.Attempt, d.Node, r.Verdict, last.Attempt, last.Verdict)
	case r.Node != d.Node && !x.Newest(r.Node).Retracted():
		return fmt.Errorf("withdraws %s because of %s, which was not retracted", d.Node, r.Node)
	}
	return nil
}

// repeats reports whether a decision withdrew the same outcome before.
func (r *Retraction) repeats(d *Decision) bool {
	return d != nil && d.Retraction != nil && d.Retraction.Attempt == r.Attempt && d.Retraction.Verdict == r.Verdict
}
