package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/variant"
)

var benchmarkKind = levels.Kind{
	Schema: plans.Schema{
		Doc: "Measures the candidate against its parent in fresh, interleaved launches. Each launch starts the engine anew, warms it up and sends every workload.",
		Example: `level "benchmark" {
  workloads = [workload.chat]
  launches  = 6
}`,
		Attrs: []plans.Attr{
			{Name: "workloads", Type: plans.Refs, Ref: "workload", Doc: "What is sent, in this order. Required for a server, unless `suite` stands in its place; an engine of kind `command` brings its own work and has neither."},
			{Name: "suite", Type: plans.Reference, Ref: "suite", Doc: "What is sent, as a suite of workloads. `--suite` on the command line takes another one instead."},
			{Name: "launches", Type: plans.Int, Unit: "launches an arm", Min: 1, MinSet: true, Doc: "The most launches of each arm; without it, the most of the `decision` block. Fewer are made as soon as every rule is settled. With one, no number can pass a rule."},
		},
		Check: func(b *plans.Block) []plans.AttrError {
			w, listed := b.Attrs["workloads"].([]any)
			switch {
			case listed && len(w) == 0:
				return []plans.AttrError{{Attr: "workloads", Code: "empty-value", Summary: "Nothing to measure", Detail: "Name at least one workload, as in workloads = [workload.chat]."}}
			case listed && b.Attrs["suite"] != nil:
				return []plans.AttrError{{Attr: "suite", Code: "workload-contradiction", Summary: "Two ways to say the same", Detail: "A benchmark sends workloads or a suite of them. Remove one; --suite takes another suite in either case."}}
			}
			return nil
		},
	},
}

// benchmark measures a candidate and what it is compared with.
type benchmark struct {
	lab     *Lab
	feature *plans.Feature
}

// workloads are what its launches send.
func (b *benchmark) workloads() (ws []*plans.Workload) {
	level := b.lab.Plan.Protocol(b.feature.Protocol).Level(benchmarkLevel)
	for _, name := range b.lab.Plan.Sent(level) {
		ws = append(ws, b.lab.Plan.Workload(name))
	}
	return ws
}

// arms lists the variants to launch. The baseline joins when a rule asks for it.
func (b *benchmark) arms(s *runtime.Scope) ([]*variant.Variant, launch.Arms, error) {
	a, err := b.lab.Arms(s, b.feature)
	if err != nil {
		return nil, a, err
	}
	return a.Distinct(decide.ReadsRoot(b.lab.Plan, b.feature) || decide.Interacts(b.lab.View(s), b.feature)), a, nil
}

// Keys: the number of launches decides, it does not measure, so asking for more
// goes on with the same session, and so do rules that need more. A candidate that
// is not qualified has another key than one that is.
func (b *benchmark) Keys(s *runtime.Scope) (runtime.Keys, error) {
	vs, _, err := b.arms(s)
	if err != nil {
		return runtime.Keys{}, err
	}
	ws := b.workloads()
	q := s.Outcome(runtime.QualifyID(b.feature.Name))
	if q == nil {
		return runtime.Keys{}, runtime.ErrUndecided
	}
	measure := b.lab.BenchmarkKey(ws, vs)
	if q.Verdict != verdict.Pass {
		measure = runtime.Digest("unqualified", measure, decide.Identity(q))
	}
	decided := runtime.Digest(slices.Concat(decide.LaunchesKey(b.lab.Plan, b.feature), judged(ws), b.lab.freed(), b.lab.acceptedParts())...)
	return runtime.Keys{Measure: measure, Decide: decided, Why: b.lab.TreesChanged(s, vs...)}, nil
}

// differ says in what the arms differ that is not under test, as far as their
// qualification launches tell: no launch is spent on what would not count.
func (b *benchmark) differ(s *runtime.Scope, vs []*variant.Variant) (verdict.Reason, error) {
	nodes := []string{runtime.BaselineID, runtime.QualifyID(b.feature.Name)}
	if under := b.feature.BuildsOn.Feature; under != "" {
		nodes = append(nodes, runtime.QualifyID(under))
	}
	var launches []*ledger.Launch
	for _, node := range nodes {
		d := s.Outcome(node)
		if d == nil || d.Verdict != verdict.Pass || b.lab.Store == nil {
			continue
		}
		for _, id := range d.Launches {
			if launch, ok := b.lab.Store.LaunchByID(id); ok && launch.OK {
				launches = append(launches, launch)
			}
		}
	}
	return b.lab.disagree(launches, vs)
}

// judged is how answers are looked at, for the decision's key.
func judged(workloads []*plans.Workload) (parts []any) {
	for _, w := range workloads {
		parts = append(parts, w.Name, w.Coherence)
	}
	return parts
}

// Foresee implements runtime.Foreseer: the launches that the session lacks, at
// most. Those of a parent that siblings share are the first sibling's.
func (b *benchmark) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	_, a, err := b.arms(s)
	if err != nil {
		return nil, nil, err
	}
	out := &ledger.Decision{Variant: a.Candidate.Knobs}
	switch q := s.Outcome(runtime.QualifyID(b.feature.Name)); {
	case q == nil:
		return out, nil, nil
	case q.Verdict != verdict.Pass:
		out.Verdict, _ = decide.Broken(q)
		return out, nil, nil
	}
	view := b.lab.View(s)
	own, _, err := b.lab.sessionOf(s, b.feature)
	if err != nil {
		return nil, nil, err
	}
	work := b.lab.WorkKey(b.workloads())
	if out.Session, err = b.lab.continues(s, own, work); err != nil {
		return nil, nil, err
	}
	have, err := b.lab.session(out.Session)
	if err != nil {
		return nil, nil, err
	}
	own.CloseRetracted(view, have)
	if len(have) > 0 {
		if err := own.Look(view, have); err != nil {
			return nil, nil, err
		}
	}
	var launches []runtime.PlannedLaunch
	for _, launch := range own.Took(have) {
		out.Launches = append(out.Launches, launch.ID)
	}
	if own.Open {
		out.Launches = nil // and more, which are not known
		next, before := own.NextLook(view, out.Session, work), b.launchedBefore(s)
		for round := own.Rounds + 1; round <= own.Most; round++ {
			for _, v := range own.variants {
				if before && v.Key != own.Arms.Candidate.Key {
					continue
				}
				l := planned(v, ledger.ForBenchmark)
				l.Sure = round <= next
				launches = append(launches, l)
			}
		}
	}
	out.Reasons = own.Resolvable(view, out.Session, work)
	return out, launches, nil
}

// launchedBefore reports whether a sibling that comes first launches the parent
// for this one too.
func (b *benchmark) launchedBefore(s *runtime.Scope) bool {
	for _, other := range b.lab.Graph.Siblings(b.feature) {
		if other.Name == b.feature.Name {
			return false
		}
		if d := s.Outcome(runtime.BenchmarkID(other.Name)); d != nil && d.Verdict == verdict.Pass && d.Because.IsZero() && d.Launches == nil {
			return true // foreseen in this preview, and not recorded
		}
	}
	return false
}

func planned(v *variant.Variant, purpose string) runtime.PlannedLaunch {
	return runtime.PlannedLaunch{Variant: v.Name, VariantKey: v.Key, Engine: v.Spec.Kind, Purpose: purpose, Sure: true}
}
