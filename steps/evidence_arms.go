package steps

import (
	"maps"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Assemble puts together what rules read: what a decision keeps of each feature,
// and the launches that it names. A launch that is not on record is an error:
// deciding without it would decide something else.
func Assemble(kept []ledger.Evidence, launch func(id string) (*ledger.Launch, bool)) (*gates.Evidence, error) {
	out := &gates.Evidence{Features: map[string]*gates.Feature{}}
	for _, e := range kept {
		f := &gates.Feature{
			Levels: e.Levels, Knobs: e.Knobs, Outcome: e.Outcome, Accepted: e.Accepted,
			Broken: e.Broken, Cause: e.Cause, Max: e.Max,
		}
		for address, n := range e.Noise {
			if f.Noise == nil {
				f.Noise = map[string]gates.Noise{}
			}
			f.Noise[address] = gates.Noise(n)
		}
		for _, arm := range []struct {
			kept ledger.Arm
			to   *gates.Arm
		}{{e.Candidate, &f.Candidate}, {e.Parent, &f.Parent}, {e.Root, &f.Root}} {
			arm.to.Name = arm.kept.Name
			for _, id := range arm.kept.Launches {
				l, ok := launch(id)
				if !ok {
					return nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(id)}
				}
				arm.to.Launches = append(arm.to.Launches, measured(l))
			}
		}
		out.Features[e.Feature] = f
	}
	return out, nil
}

// measured is a launch as rules read it.
func measured(l *ledger.Launch) gates.Launch {
	return gates.Launch{
		ID: l.ID, Recorded: true, Round: l.Ordinal, Samples: samplesOf(l.Samples, l.Output), Metrics: l.Metrics,
		Stale: !fresh(l.Engine), Observed: saidBy(l), Unobserved: l.Unobserved,
	}
}

// keepEvidence is the evidence about a feature as a decision records it.
func keepEvidence(name, session string, f *gates.Feature) ledger.Evidence {
	var noise map[string]ledger.Noise
	for address, n := range f.Noise {
		if noise == nil {
			noise = map[string]ledger.Noise{}
		}
		noise[address] = ledger.Noise(n)
	}
	arm := func(a gates.Arm) ledger.Arm {
		out := ledger.Arm{Name: a.Name}
		for _, l := range a.Launches {
			out.Launches = append(out.Launches, l.ID)
		}
		return out
	}
	return ledger.Evidence{
		Feature: name, Candidate: arm(f.Candidate), Parent: arm(f.Parent), Root: arm(f.Root),
		Levels: maps.Clone(f.Levels), Knobs: maps.Clone(f.Knobs), Outcome: f.Outcome, Accepted: f.Accepted,
		Broken: f.Broken, Cause: f.Cause, Session: session, Max: f.Max, Noise: noise,
	}
}

// fillArms sorts the launches of a session by variant, and adds what else decides
// of them: how many there may be, and the noise that was known before.
func (l *Lab) fillArms(ev *gates.Feature, a arms, f *plans.Feature, launches []*ledger.Launch) {
	ev.Candidate.Name, ev.Parent.Name, ev.Root.Name = a.candidate.Name, a.parent.Name, ledger.Baseline
	_, ev.Max = l.Plan.LaunchesOf(readAs(f))
	session, work := "", ""
	for _, launch := range launches {
		if !sound(launch) {
			continue
		}
		session, work = launch.Session, launch.Work
		g := measured(launch)
		if launch.VariantKey == a.candidate.Key {
			ev.Candidate.Launches = append(ev.Candidate.Launches, g)
		}
		if launch.VariantKey == a.parent.Key {
			ev.Parent.Launches = append(ev.Parent.Launches, g)
		}
		if launch.VariantKey == a.root.Key {
			ev.Root.Launches = append(ev.Root.Launches, g)
		}
	}
	ev.Noise = l.noiseOf(f, a, session, work)
}
