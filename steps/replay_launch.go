package steps

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// replayedLaunch is a launch with what its raw data come to.
type replayedLaunch struct {
	// launch is the recorded one with the metrics of its raw data; nil where the
	// ledger has none of that ID.
	launch *ledger.Launch
	Recomputed
}

// evidence is what the rules of a decision read, with metrics derived from raw
// data again. Launches whose raw data say otherwise than the record are among the
// differences; one whose raw data are gone is an error.
func (r *Replay) evidence(out *Replayed, kept []ledger.Evidence) (*gates.Evidence, error) {
	var gone error
	said := map[string]bool{}
	ev, err := Assemble(kept, func(id string) (*ledger.Launch, bool) {
		l := r.again(id)
		if l.launch == nil {
			return nil, false
		}
		if said[id] {
			return l.launch, true
		}
		said[id] = true
		switch {
		case l.Outcome == RawMissing || l.Damaged:
			if gone == nil {
				gone = &verdict.Fault{Reason: verdict.New(code.NoRawData).On(id).From(l.Why)}
			}
		case l.Outcome == RawDiffers:
			for _, d := range l.Differ {
				out.differ("launch "+id, d.Address+" "+d.What, d.Stored, d.Again)
			}
		case l.Outcome == RawWithin:
			out.note(verdict.New(code.RecordedElsewhere, verdict.Text("arch", l.RecordedOn), verdict.Num("tolerance", ElsewhereTolerance, "")).On(id))
		}
		if !l.Why.IsZero() && l.Outcome != RawMissing && !l.Damaged {
			out.note(verdict.New(code.LaunchNote).On(id).From(l.Why))
		}
		out.Numbers += l.Numbers
		return l.launch, true
	})
	if err == nil {
		err = gone
	}
	return ev, err
}

// again evaluates a launch again, once.
func (r *Replay) again(id string) *replayedLaunch {
	if l := r.launches[id]; l != nil {
		return l
	}
	out := &replayedLaunch{}
	r.launches[id] = out
	stored, ok := r.store.LaunchByID(id)
	if !ok {
		return out
	}
	var recording measure.Recording
	out.Recomputed, recording = recompute(r.store, stored, r.arch[id])
	launch := *stored
	out.launch = &launch
	if out.Outcome == RawAgrees || out.Outcome == RawDiffers && !out.Damaged {
		// What does not come from samples, the seconds of a start, stays as it was
		// recorded; what is derived now and was not then, no rule has read.
		launch.Metrics = maps.Clone(stored.Metrics)
		again := measure.Evaluate(recording)
		for address := range stored.Metrics {
			if slices.Contains(out.Elsewhere, address) {
				continue
			}
			delete(launch.Metrics, address)
			if s, there := again[address]; there {
				launch.Metrics[address] = s
			}
		}
	}
	return out
}
