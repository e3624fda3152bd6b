package report

import (
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Overruled is what people decided about an outcome.
type Overruled struct {
	Node    string          `json:"node"`
	Verdict verdict.Verdict `json:"verdict"`
	Attempt int             `json:"attempt"`
	// State is "waived", "waiver expired", "waiver revoked", or "waived before" (an earlier
	// decision).
	State string `json:"state"`
	// Reasons are who decided what about it, and why.
	Reasons []verdict.Reason `json:"reasons"`
}

// Word is the verdict in tables: a waiver is shown beside the verdict and never replaces
// it.
func (o Overruled) Word() string {
	word := string(o.Verdict)
	if o.State == "waived" {
		word += ", waived"
	}
	return word
}

// Note is the state for a table whose sentence is elsewhere; empty if Word has it.
func (o Overruled) Note() string {
	if o.State == "waived" {
		return ""
	}
	return o.State
}

// OverruledOf is the effect of the newest waiver of its node on a decision; its State is empty
// if there is none.
func OverruledOf(d *ledger.Decision, w *ledger.Waiver, now time.Time) Overruled {
	o := Overruled{Node: d.Node, Verdict: d.Verdict, Attempt: d.Attempt}
	bears := w.Effect(d, now)
	if bears.IsZero() {
		return o
	}
	switch {
	case w.Covers(d, now):
		o.State = "waived"
	case w.Revoked:
		o.State = "waiver revoked"
	case !now.Before(w.Expires):
		o.State = "waiver expired"
	default:
		o.State = "waived before"
	}
	o.Reasons = []verdict.Reason{bears}
	return o
}

// OverruledNow are the standing decisions that people overrode; never nil.
func OverruledNow(st *store.Store, now time.Time) []Overruled {
	out := []Overruled{}
	for _, d := range DecisionsInForce(st) {
		if o := OverruledOf(d.Decision, st.Waiver(d.Node), now); o.State != "" {
			out = append(out, o)
		}
	}
	return out
}
