// Package gates decides rules: from compiled rules and the evidence gathered it
// derives verdicts with their reasons. It starts nothing, reads no file and
// keeps no state, so a decision can be made again from the same evidence.
package gates

import (
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// Evidence is everything that rules of one phase may read.
type Evidence struct {
	// Features by name.
	Features map[string]*Feature
}

// Feature is the evidence about one feature.
type Feature struct {
	// Candidate is the variant under test, Parent what it builds on.
	Candidate, Parent Arm
	// References are what it is held against besides, such as the plan's baseline.
	// Arms that are the same variant share the same launches.
	References map[plans.Against]*Arm
	// Levels are the verdicts of the protocol's levels; a level that was not
	// run is absent.
	Levels map[string]verdict.Verdict
	// Knobs are the candidate's knob values.
	Knobs map[string]string
	// Outcome is the feature's own verdict once it is decided.
	Outcome  verdict.Verdict
	Accepted bool
	// Broken is set when there is no measurement to read: the verdict that
	// rules on measurements take over, and why.
	Broken verdict.Verdict
	Cause  verdict.Reason
	// Noise is the launch noise that was recorded before its session, by metric
	// address, and Max the most launches of each arm that its benchmark makes: where
	// they are set they stand in the place of the settings'.
	Noise map[string]verdict.Noise
	Max   int
	// Try is how often it was measured against its parent until it passes, with this
	// time: each has less of the chance of a false pass than the one before. 0 and 1 are
	// the same.
	Try int
	// Picked is set where it is read of a matrix what was picked by the launches.
	Picked *Picked
}

// base is the arm that a candidate is held against.
func (f *Feature) base(against plans.Against) Arm {
	if against == plans.Parent {
		return f.Parent
	}
	if arm := f.References[against]; arm != nil {
		return *arm
	}
	return Arm{Name: string(against)}
}

// Arm is one variant's launches in one session.
type Arm struct {
	Name     string
	Launches []Launch
	// Lost is why a reference has no launches and gets none: it did not start, or what
	// it did does not compare.
	Lost verdict.Reason
	// Qualified is the launch that qualified it, in which its levels found numbers;
	// nil where none did.
	Qualified *Launch
}

// Launch is what one launch measured.
type Launch struct {
	ID string
	// Round counts the launches of each arm that were interleaved, from 1: launches
	// of one round stood beside each other. At a look at n, those of the first n
	// rounds in which both arms have one count.
	Round int
	// Place is where it stood, empty where all stood on one.
	Place string
	// Samples is the digest of its raw samples.
	Samples string
	// Recorded says that the launch is on record, where people can look at it.
	Recorded bool
	// Stale says that the engine was running before the launch, so that the
	// launch is no start of its own and no replicate of anything.
	Stale bool
	// Metrics by address without statistic: "chat.tg", "engine.startup_s".
	Metrics map[string]measure.Summary
	// Observed is what the engine said of itself, by name: string, float64 or
	// bool. Unobserved says why other things are not known.
	Observed   map[string]any
	Unobserved map[string]verdict.Reason
	// Unread are the workloads whose answers the plan declares to be no text.
	Unread []string
}

// stale is the name of an arm of which a launch was no fresh start, and empty for all
// others.
func (a Arm) stale() string {
	if slices.ContainsFunc(a.Launches, func(l Launch) bool { return l.Stale }) {
		return a.Name
	}
	return ""
}

// found is the number that a level found of the arm, or why there is none.
func (a Arm) found(in *plans.Input) (float64, verdict.Reason) {
	if a.Qualified == nil {
		return 0, verdict.New(code.Unqualified, verdict.Text("metric", in.LaunchAddress())).On(a.Name)
	}
	v, ok := a.Qualified.Metrics[in.LaunchAddress()].Stats["median"]
	if !ok {
		return 0, a.Qualified.without(in.LaunchAddress())
	}
	return v, verdict.Reason{}
}

// without is that a launch has no such metric, with why and where to look where it is
// on record: of the launches of a plan's test only numbers are known.
func (l Launch) without(address string, more ...verdict.Arg) verdict.Reason {
	args := append(more, verdict.Text("metric", address))
	if !l.Recorded {
		return verdict.New(code.MetricLacking, args...).On(l.ID)
	}
	return verdict.New(code.MetricLacking, append(args, verdict.Text("recorded", l.ID))...).On(l.ID).From(Absent(l.Metrics, address))
}
