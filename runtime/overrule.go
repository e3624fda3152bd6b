package runtime

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Waivable reports whether a person may waive the decisions of a kind of node: those that
// unlock other phases, with a gate or without. Not those that measurements compare with,
// as a waiver makes no number count, nor what enters the stack.
func Waivable(k Kind) bool { return k == KindGate || k == KindPhase }

// validWaiver is the waiver that holds for a decision; nil if there is none.
func (w *walk) validWaiver(d *ledger.Decision) *ledger.Waiver {
	if d == nil || !Waivable(Kind(d.Kind)) || d.Verdict.Unlocks() {
		return nil
	}
	if waiver := w.Journal.Waiver(d.Node); waiver.Covers(d, w.at) {
		return waiver
	}
	return nil
}

// waiverEffect is a waiver's effect on a decision; no fact if there is none.
func (w *walk) waiverEffect(d *ledger.Decision) verdict.Reason {
	if d == nil || !Waivable(Kind(d.Kind)) {
		return verdict.Reason{}
	}
	return w.Journal.Waiver(d.Node).Effect(d, w.at)
}

// lockReason is why a need of n keeps n from ever running, with the root cause and not the last
// link of the chain; no fact if it does not.
func (w *walk) lockReason(need Need) verdict.Reason {
	d := w.Decisions[need.On]
	if d == nil {
		if need.Mode == Settled {
			return verdict.Reason{}
		}
		return w.Locks[need.On]
	}
	if w.validWaiver(d) != nil {
		return verdict.Reason{}
	}
	unmet := false
	switch need.Mode {
	case Passed:
		unmet = !d.Verdict.Unlocks()
	case Decided:
		unmet = !d.Verdict.Decided() || d.Disturbed()
	}
	if !unmet {
		return verdict.Reason{}
	}
	why := verdict.New(code.Outcome).On(need.On).Is(d.Verdict)
	if waiver := w.waiverEffect(d); !waiver.IsZero() {
		why = why.From(waiver)
		why.Text += " ({causes})" // the waiver did not cause the verdict
	}
	return why
}
