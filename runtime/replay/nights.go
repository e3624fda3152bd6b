package replay

import (
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/nights"
)

// Nights decides again what followed from each night of a watch, by its decisions and the nights before.
func (r *Replay) Nights() (list []Replayed) {
	all := r.store.Nights()
	state := nights.State{}
	for i, w := range all {
		trials := nights.Trials(w, r.store.Attempt)
		out := Replayed{
			Node: "night", Attempt: i + 1, Record: w.Record, Run: w.Run, InForce: i == len(all)-1,
		}
		if i == 0 {
			state.Good, state.Anchor = w.Good, w.Anchor
		}
		if w.Good.ID != state.Good.ID {
			out.differ("night", "last good", w.Good.ID, state.Good.ID)
		}
		if is := state.Against(ledger.Version{ID: w.Release}).ID; w.Anchor.ID != is {
			out.differ("night", "anchor", w.Anchor.ID, is)
		}
		if w.Outcome == ledger.NightStart && i > 0 { // it makes any version last good
			out.differ("night", "outcome", string(w.Outcome), "another session")
		}
		switch w.Outcome {
		case ledger.NightQuiet, ledger.NightAccepted, ledger.NightStart, ledger.NightBroken:
		default:
			ask, outcome := state.Next(nights.Tonight{
				Candidate: w.Candidate, Anchor: w.Anchor, Machine: w.Machine, Sessions: trials,
			}, w.Every)
			if ask != nil {
				outcome = "another session"
			}
			if outcome != w.Outcome {
				out.differ("night", "outcome", string(w.Outcome), string(outcome))
			}
		}
		state = state.After(w, trials)
		out.conclude()
		list = append(list, out)
	}
	return list
}
