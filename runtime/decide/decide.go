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

// View is what a decision sees besides the plan.
type View struct {
	Plan *plans.Plan
	// Graph is the order of decisions. It may be nil if nothing builds on the stack.
	Graph *runtime.Graph
	// Outcome is the outcome of a node, nil while undecided or locked; LockedBy is why it
	// is locked, no fact if it is not.
	Outcome  func(node string) *ledger.Decision
	LockedBy func(node string) verdict.Reason
	// Launch is a launch on record; nil if there is no record.
	Launch func(id string) (*ledger.Launch, bool)
	// Records yields what was recorded, oldest first; nil if there is no record.
	Records func() iter.Seq2[int, *ledger.Record]
	// Arms are the variants of a candidate with their keys, see ArmsOf.
	Arms func(f *plans.Feature) (Arms, error)
	// Changed is what differs now from what launches of its arms ran; nil if that cannot be told.
	Changed func(f *plans.Feature) verdict.Reason
	// Goals are the plan's, if they are computed once for several views.
	Goals func() map[string]ledger.Goal
}

// records yields what was recorded, nothing if there is no record.
func (v *View) records() iter.Seq2[int, *ledger.Record] {
	if v.Records == nil {
		return func(func(int, *ledger.Record) bool) {}
	}
	return v.Records()
}

func Node(v *View, n *runtime.Node) (*ledger.Decision, error) {
	switch n.Kind {
	case runtime.KindFeature:
		if len(n.FeatureBlock.Confirm) > 0 {
			return confirmed(v, n.FeatureBlock)
		}
		return Feature(v, n.FeatureBlock)
	case runtime.KindCriteria:
		out, err := Feature(v, n.FeatureBlock)
		if out != nil {
			out.Accepted = false // which is for all engines together
		}
		return out, err
	case runtime.KindGate:
		return Gate(v, n.PhaseBlock)
	case runtime.KindPhase:
		return Phase(v, n.PhaseBlock)
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
