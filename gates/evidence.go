// Package gates decides rules: from compiled rules and measured evidence it derives
// verdicts with their reasons. It starts nothing, reads no file and keeps no state, so a
// decision can be repeated from the same evidence.
package gates

import (
	"cmp"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Evidence is everything that rules of one phase may read, by the name by which they read it.
type Evidence map[string]*Feature

// Feature is what rules read of one feature. A decision records it: with the launches that
// it names, the decision can be made again.
type Feature struct {
	// Name is the name by which rules read it.
	Name string `json:"feature"`
	// Candidate is the variant under test, Parent what it builds on, Root the plan's
	// baseline, without a name if it is not known. Arms of the same variant share launches.
	Candidate Arm `json:"candidate"`
	Parent    Arm `json:"parent"`
	Root      Arm `json:"root"`
	// Levels are the verdicts of the protocol's levels; a level that was not
	// run is absent.
	Levels map[string]verdict.Verdict `json:"levels,omitempty"`
	Knobs  map[string]string          `json:"knobs,omitempty"`
	// Outcome is the feature's own verdict, once decided.
	Outcome  verdict.Verdict `json:"outcome,omitempty"`
	Accepted bool            `json:"accepted,omitempty"`
	// Broken is set if there is no measurement to read: the verdict that rules on
	// measurements take over, and why.
	Broken verdict.Verdict `json:"broken,omitempty"`
	Cause  verdict.Reason  `json:"cause,omitzero"`
	// Session is the session of the launches, and Max the maximum of launches per arm of
	// its benchmark, in place of that of Settings; 0 if that holds.
	Session string `json:"session,omitempty"`
	Max     int    `json:"max,omitempty"`
	// Noise is the launch noise recorded before the session, by metric address ("chat.tg",
	// and "chat.ttft.p99" for a statistic that is not the median): the minimum for the
	// standard deviation of the logs of launches.
	Noise map[string]verdict.Noise `json:"noise,omitempty"`
	// Try counts the tries at measuring it against its parent until it passes, this one
	// included: each has a lower false pass rate than the one before. 0 and 1 are the
	// same.
	Try int `json:"try,omitempty"`
	// Answers is what its protocol declares of them.
	Answers plans.Answers `json:"answers,omitzero"`
}

// base is the arm that a candidate is compared with.
func (f *Feature) base(against plans.Against) Arm {
	if against == plans.Parent {
		return f.Parent
	}
	root := f.Root
	root.Name = cmp.Or(root.Name, string(against))
	return root
}

// Arm is a variant and its launches, in the order of their rounds.
type Arm struct {
	Name     string   `json:"name"`
	Launches []Launch `json:"launches,omitempty"`
	// Qualified is the launch in which levels found its numbers; none if they found none.
	Qualified Launch `json:"qualified,omitzero"`
	// Lost is why the baseline has no launches and gets none: it did not start, or is not
	// comparable.
	Lost verdict.Reason `json:"lost,omitzero"`
}

// ArmOf is an arm of which nothing but the IDs of its launches is known.
func ArmOf(name string, ids ...string) Arm {
	a := Arm{Name: name}
	for _, id := range ids {
		a.Launches = append(a.Launches, Launch{ID: id})
	}
	return a
}

// IDs are those of its launches.
func (a Arm) IDs() (ids []string) {
	for _, l := range a.Launches {
		ids = append(ids, l.ID)
	}
	return ids
}

// Launch is what rules read of a launch. In a record it is its ID alone, as the launch has a
// record of its own.
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

func (l Launch) MarshalText() ([]byte, error) { return []byte(l.ID), nil }

func (l *Launch) UnmarshalText(id []byte) error {
	*l = Launch{ID: string(id)}
	return nil
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
