// Package decide makes decisions: from a plan and a view of what was measured and decided
// before, it derives the outcome of a feature, a gate or a phase, and whether more launches
// could still settle it. It knows rules, evidence and the
// records of launches. It starts nothing, opens nothing, reads no clock and waits for
// nothing, so Reconcile and a replay decide alike, each with its own view.
package decide

import (
	"fmt"
	"iter"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Version changes when deciding does. It is recorded with each decision, so a replay knows
// which of its facts another version finds otherwise.
const Version = "12"

// View is all that a decision sees: a plan and its record at some point, which is now in an
// apply, and in an audit the time of the decision.
type View struct {
	Plan *plans.Plan
	// Graph is the order of decisions. It may be nil if nothing builds on the stack.
	Graph *runtime.Graph
	// Outcomes are those of the nodes before.
	runtime.Outcomes
	// Record is nil if there is none.
	Record     Record
	Identities Identities
	// Goals are the plan's, see Goals.
	Goals map[string]ledger.Goal
	// Cache is for many decisions on the same sessions; its zero value keeps nothing.
	Cache Cache
}

// Record is what was measured and decided up to some point.
type Record interface {
	LaunchByID(id string) (*ledger.Launch, bool)
	// Records yields what was recorded, oldest first.
	Records() iter.Seq2[int, *ledger.Record]
}

// Identities tell which variants a plan's arms are.
type Identities interface {
	// Arms are the variants of a candidate with their keys, see ArmsOf.
	Arms(f *plans.Feature) (Arms, error)
	// Changed is what differs now from what launches of its arms ran; no fact if that cannot be told.
	Changed(f *plans.Feature) verdict.Reason
}

// records yields what was recorded, nothing if there is no record.
func (v *View) records() iter.Seq2[int, *ledger.Record] {
	if v.Record == nil {
		return func(func(int, *ledger.Record) bool) {}
	}
	return v.Record.Records()
}

// launch is a launch on record.
func (v *View) launch(id string) (*ledger.Launch, bool) {
	if v.Record == nil {
		return nil, false
	}
	return v.Record.LaunchByID(id)
}

// Node decides a node by the evidence on record. It returns runtime.ErrUndecided if that rests on
// what is not decided yet.
func Node(v *View, n *runtime.Node) (*ledger.Decision, error) {
	switch n.Kind {
	case runtime.KindFeature:
		if len(n.FeatureBlock.Confirm) > 0 {
			return confirmed(v, n.FeatureBlock)
		}
		return decideFeature(v, n.FeatureBlock)
	case runtime.KindCriteria:
		out, err := decideFeature(v, n.FeatureBlock)
		if out != nil {
			out.Accepted = false // which is for all engines together
		}
		return out, err
	case runtime.KindGate:
		return decideGate(v, n.PhaseBlock)
	case runtime.KindPhase:
		return decidePhase(v, n.PhaseBlock)
	}
	return nil, fmt.Errorf("a node of kind %q is not decided only by evidence", n.Kind)
}

// JoinVerdicts joins the verdict of a decision from its levels and rules: a gate's from all of
// its rules, a feature's from its levels and the rules that decide. If none does, nothing
// was shown.
func JoinVerdicts(kind string, levels []ledger.Level, rules []verdict.Rule) verdict.Verdict {
	var joined []verdict.Verdict
	for _, r := range rules {
		if r.Decides || runtime.Kind(kind) == runtime.KindGate {
			joined = append(joined, r.Verdict)
		}
	}
	if len(joined) == 0 {
		joined = append(joined, verdict.Inconclusive)
	}
	for _, l := range levels {
		joined = append(joined, l.Verdict)
	}
	return verdict.Join(joined...)
}

// LosesAccuracy reports whether a level's verdict stands beside the benchmark's: a variant that
// loses accuracy is measured all the same, so that both are known.
func LosesAccuracy(l ledger.Level) bool {
	return verdict.Holds(l.Reasons, code.AccuracyLost.Kind) && l.Verdict == verdict.Fail ||
		verdict.Holds(l.Reasons, code.AccuracyOpen.Kind) && l.Verdict == verdict.Inconclusive
}

// Qualified reports whether all levels passed, or stand beside the benchmark.
func Qualified(all []ledger.Level) bool {
	return !slices.ContainsFunc(all, func(l ledger.Level) bool {
		return l.Verdict != verdict.Pass && !LosesAccuracy(l)
	})
}

// Broken is the verdict for measurements of an unqualified variant: a failed level makes
// them invalid, whatever their numbers; a harness that broke remains an error; and if the
// candidate crashed again, rules on it fail.
func Broken(d *ledger.Decision) (v verdict.Verdict, cause verdict.Reason) {
	for _, level := range d.Levels {
		if level.Verdict != verdict.Pass {
			cause = level.Reason()
			break
		}
	}
	if cause.IsZero() {
		cause = verdict.New(code.Outcome).On(d.Node).Is(d.Verdict).From(d.Why()...)
	}
	if d.Verdict == verdict.Fail && verdict.Holds([]verdict.Reason{cause}, code.CrashedAgain.Kind) {
		return verdict.Fail, cause
	}
	if d.Verdict == verdict.Error || d.Verdict == verdict.Inconclusive {
		return d.Verdict, cause
	}
	return verdict.Invalid, cause
}
