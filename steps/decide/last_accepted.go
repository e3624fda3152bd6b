package decide

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// LastAccepted is the variant accepted last before the baseline's engine changed.
type LastAccepted struct {
	// Node is the feature's, At when it was accepted, and Launches what that decision
	// rests on.
	Node     string
	At       time.Time
	Launches []*ledger.Launch
	// root is the key of the baseline that it was measured with.
	root string
}

// LastAcceptedIn finds it among records, for an engine of the plan; nil if nothing was
// accepted with another baseline than the one with this key. What is accepted with the
// present baseline is the stack, and moves no goal while it grows.
func LastAcceptedIn(records iter.Seq2[int, *ledger.Record], block, root string) *LastAccepted {
	launches := map[string]*ledger.Launch{}
	base := ""
	var all []*LastAccepted
	for _, r := range records {
		d := r.Decision
		switch {
		case r.Launch != nil:
			launches[r.Launch.ID] = r.Launch
		case d == nil:
		case d.Node == runtime.BaselineID:
			for _, id := range d.Launches {
				if l := launches[id]; l != nil && l.Variant == ledger.Baseline {
					base = l.VariantKey
				}
			}
		case d.Kind == ledger.KindFeature:
			all = slices.DeleteFunc(all, func(a *LastAccepted) bool { return a.Node == d.Node && (a.root == base || d.Retraction != nil) })
			if own := accepting(d, launches); d.Accepted && d.Retraction == nil && len(own) > 0 && own[0].Block == block {
				all = append(all, &LastAccepted{Node: d.Node, At: r.Time, Launches: own, root: base})
			}
		}
	}
	all = slices.DeleteFunc(all, func(a *LastAccepted) bool { return a.root == root || a.root == "" })
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// accepting are the launches of the variant that a decision accepted.
func accepting(d *ledger.Decision, launches map[string]*ledger.Launch) (own []*ledger.Launch) {
	for _, ev := range d.Evidence {
		for _, id := range ev.Candidate.Launches {
			if l := launches[id]; l != nil && maps.Equal(l.Knobs, d.Variant) && (len(own) == 0 || own[0].VariantKey == l.VariantKey) {
				own = append(own, l)
			}
		}
	}
	return own
}

// leastFlagged is how much better a number of another day must be to be reported.
const leastFlagged = 0.01

// OtherDay reports where the candidate is worse than a reference that can no longer be
// started, in what rules read of it. The machine may have changed since, so it decides
// nothing.
func (m *Member) OtherDay(p *plans.Plan, now []*ledger.Launch) (said []verdict.Reason) {
	own := slices.DeleteFunc(slices.Clone(now), func(l *ledger.Launch) bool { return l.VariantKey != m.Arms.Candidate.Key })
	for _, against := range plans.References {
		arm := m.Arms.References[against]
		if arm.Was == nil || arm.Gone.IsZero() || len(own) == 0 || arm.Was.Launches[0].Work != own[0].Work {
			continue
		}
		for _, in := range inputs(Reading(p, m.Feature)) {
			if in.Against != against || in.Kind != plans.InputMetric || in.Better == "" {
				continue
			}
			is, known := meanOf(own, in)
			was, had := meanOf(arm.Was.Launches, in)
			if !known || !had || !(was > 0) {
				continue
			}
			change := is/was - 1
			if (in.Better == string(measure.Lower)) == (change > 0) && max(change, -change) >= leastFlagged {
				said = append(said, verdict.New(code.OtherDay, verdict.Num("is", is, in.Of), verdict.Num("was", was, in.Of), verdict.Num("change", change, plans.RatioUnit),
					verdict.Text("day", arm.Was.At.UTC().Format(time.DateOnly))).On(in.LaunchAddress()))
			}
		}
	}
	return said
}

// meanOf is the mean of a statistic, if all launches have it.
func meanOf(launches []*ledger.Launch, in *plans.Input) (mean float64, known bool) {
	for _, l := range launches {
		v, ok := l.Metrics[in.LaunchAddress()].Stats[in.Stat]
		if !ok {
			return 0, false
		}
		mean += v / float64(len(launches))
	}
	return mean, len(launches) > 0
}
