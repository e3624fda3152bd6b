// Package gates decides rules: from compiled rules and measured evidence it derives
// verdicts with their reasons. It starts nothing, reads no file and keeps no state, so a
// decision can be repeated from the same evidence.
package gates

import (
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Evidence is everything that rules of one phase may read.
type Evidence struct {
	Features map[string]*Feature
}

type Feature struct {
	// Candidate is the variant under test, Parent what it builds on.
	Candidate, Parent Arm
	// Root is the plan's baseline, nil if it is not known. Arms of the same variant share
	// launches.
	Root *Arm
	// Levels are the verdicts of the protocol's levels; a level that was not
	// run is absent.
	Levels map[string]verdict.Verdict
	Knobs  map[string]string
	// Outcome is the feature's own verdict, once decided.
	Outcome  verdict.Verdict
	Accepted bool
	// Broken is set if there is no measurement to read: the verdict that rules on
	// measurements take over, and why.
	Broken verdict.Verdict
	Cause  verdict.Reason
	// Noise is the launch noise recorded before its session, by metric address, and Max
	// the maximum of launches per arm of its benchmark: if set, they replace those of
	// Settings.
	Noise map[string]verdict.Noise
	Max   int
	// Try counts the tries at measuring it against its parent until it passes, this one
	// included: each has a lower false pass rate than the one before. 0 and 1 are the
	// same.
	Try int
	// Answers is what its protocol declares of them.
	Answers plans.Answers
}

// base is the arm that a candidate is compared with.
func (f *Feature) base(against plans.Against) Arm {
	switch {
	case against == plans.Parent:
		return f.Parent
	case f.Root != nil:
		return *f.Root
	}
	return Arm{Name: string(against)}
}

type Arm struct {
	Name     string
	Launches []Launch
	// Lost is why the baseline has no launches and gets none: it did not start, or is not
	// comparable.
	Lost verdict.Reason
	// Qualified is the launch that qualified it, if its levels found numbers; nil if none
	// did.
	Qualified *Launch
}

type Launch struct {
	ID string
	// Round counts interleaved launches of each arm from 1: launches of one round ran
	// side by side. A look at n counts the first n rounds that have a launch in both
	// arms.
	Round int
	// Place is where it ran, empty if all ran on one.
	Place string
	// Samples is the digest of its raw samples.
	Samples string
	// Stale is set if the engine was running before the launch: then it is not a start of
	// its own and replicates nothing.
	Stale bool
	// Pinned is set if it kept what an earlier launch had timed and chosen.
	Pinned bool
	// Metrics by address without statistic: "chat.tg", "engine.startup_s".
	Metrics map[string]measure.Summary
	// Observed is what the engine reported about itself, by name: string, float64 or
	// bool. Unobserved says why others are unknown.
	Observed   map[string]any
	Unobserved map[string]verdict.Reason
	// Unread lists workloads whose answers the plan declares not to be text.
	Unread []string
}

// stale is the arm's name if one of its launches was not a fresh start, else empty.
func (a Arm) stale() string {
	if slices.ContainsFunc(a.Launches, func(l Launch) bool { return l.Stale }) {
		return a.Name
	}
	return ""
}

// places lists where the launches of an arm ran.
func (a Arm) places() (on []string) {
	for _, l := range a.Launches {
		on = append(on, l.Place)
	}
	return on
}

// lacksMetric is the reason that a launch lacks a metric: why, and where to look.
func (l Launch) lacksMetric(address string, more ...verdict.Arg) verdict.Reason {
	args := append(more, verdict.Text("metric", address), verdict.Text("recorded", l.ID))
	return verdict.Say("launches.metric_lacking",
		"launch {subject} has no {metric}{others?, although others have it}{causes?: {causes}}{recorded? (mxflow "+
			"show {recorded})}",
		args...).On(l.ID).From(Absent(l.Metrics, address))
}
