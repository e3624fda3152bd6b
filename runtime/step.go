package runtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Step decides one node.
type Step interface {
	// Keys returns what the outcome rests on, given what is decided so far. ErrUndecided
	// means that it depends on something undecided.
	Keys(s *Scope) (Keys, error)
	// Run decides. A verdict of fail is a value; an error means that the step itself
	// broke and becomes the verdict error. If ctx is cancelled it cleans up and returns
	// ctx's error, and nothing is recorded.
	Run(ctx context.Context, s *Scope) (*ledger.Decision, error)
}

// Preparer is a Step whose keys rest on something that an apply must fetch first, such as
// an image. A preview prepares nothing.
type Preparer interface {
	// Prepare comes before Keys. An error becomes the node's verdict error.
	Prepare(ctx context.Context, s *Scope) error
}

// ErrUndecided is returned by Keys if the answer depends on an outcome that does not
// exist yet: which features were accepted, for example.
var ErrUndecided = errors.New("depends on undecided nodes")

// Keys identify what an outcome rests on.
type Keys struct {
	// Measure covers everything that the measurement depends on: while it is
	// unchanged, launches are reused.
	Measure string
	// Decide covers rules and thresholds: if only it changes, the node is decided again
	// from stored data.
	Decide string
	// Claim covers what is compared with the outcome without affecting it: if only it
	// changes, the outcome stays that of the previous attempt.
	Claim string
	// Fresh is why the measurements may not decide by the changed rules, so they are
	// repeated: part of no key.
	Fresh verdict.Reason
	// Again is why the same keys may now have another outcome; part of no key.
	Again verdict.Reason
	// Why is what changed in the environment, if the step can tell: it is added to
	// "measurement changed", and is part of no key.
	Why verdict.Reason
}

// Action is what an apply does with a node.
type Action string

const (
	// Reuse keeps the recorded outcome.
	Reuse Action = "reuse"
	// Redecide decides again from recorded evidence and measures nothing.
	Redecide Action = "re-decide"
	// Measure runs the node.
	Measure Action = "measure"
)

// Choice is an action and why it was chosen.
type Choice struct {
	Action Action
	// Why is what was found; Because says it to people.
	Why     Why
	Because verdict.Reason
	Attempt int
}

// Why is what a choice follows from.
type Why string

const (
	First              Why = "first"
	Rerun              Why = "rerun" // a person asked for the node again
	EvidenceChanged    Why = "evidence"
	MeasurementChanged Why = "measurement"
	RulesChanged       Why = "rules"
	RulesRelaxed       Why = "relaxed" // after launches were seen, so others decide
	HypothesisChanged  Why = "hypothesis"
	Retry              Why = "retry" // nothing was decided
	Unlocked           Why = "unlocked"
	Withdrawn          Why = "withdrawn"
	Unchanged          Why = "unchanged"
)

// choose compares a node's recorded outcome with its present keys. pass, fail and
// inconclusive are kept; error and invalid are tried again as a new attempt, unless they
// only follow from another outcome that is itself kept. A command that failed is tried
// again too: what it reads is unknown, and may have been fixed. What a matrix rests on is
// known. What a person retracted stays so until it is measured again.
func choose(n *Node, previous *ledger.Decision, keys Keys, rerun bool) Choice {
	work := Measure
	if DecidesAlone(n.Kind) {
		work = Redecide
	}
	if previous == nil {
		return Choice{work, First, because(code.Of("first", "first"), keys.Fresh), 1}
	}
	next := previous.Attempt + 1
	switch {
	case rerun:
		return Choice{work, Rerun, verdict.Say("rerun", "--rerun"), next}
	case previous.MeasureKey != keys.Measure && previous.DecisionKey != keys.Decide && work == Redecide:
		return Choice{work, EvidenceChanged, verdict.Say("rules_and_evidence_changed", "rules and evidence changed"), next}
	case previous.MeasureKey != keys.Measure && work == Redecide:
		return Choice{work, EvidenceChanged, verdict.Say("evidence_changed", "evidence changed"), next}
	case previous.MeasureKey != keys.Measure:
		return Choice{work, MeasurementChanged, because(code.Of("measurement_changed", "measurement changed"),
			keys.Why), next}
	case previous.Retracted():
		// A changed rule must not let the same evidence pass again.
		return Choice{Reuse, Withdrawn, verdict.New(code.Retracted), previous.Attempt}
	case !keys.Again.IsZero():
		return Choice{work, EvidenceChanged, keys.Again, next}
	case previous.DecisionKey != keys.Decide && !keys.Fresh.IsZero():
		return Choice{work, RulesRelaxed, keys.Fresh, next}
	case previous.DecisionKey != keys.Decide:
		return Choice{Redecide, RulesChanged, verdict.Say("rules_changed", "rules changed"), next}
	case n.Kind == KindStep && !previous.Verdict.Unlocks() && !(n.StepBlock != nil && n.StepBlock.Kind == plans.MatrixStep && previous.Kept()):
		return Choice{work, Retry, verdict.New(code.RetryAfter).Is(previous.Verdict), next}
	case previous.Withdrawn():
		return Choice{work, Unlocked, verdict.Say("no_longer_withdrawn", "no longer withdrawn because of {subject}").On(previous.Retraction.Node), next}
	case work == Redecide && previous.ClaimKey != keys.Claim && (previous.Verdict.Kept() || previous.Derived):
		return Choice{work, HypothesisChanged, verdict.Say("hypothesis_changed", "hypothesis changed"), next}
	case previous.Kept() || previous.Derived, work == Redecide && previous.Disturbed():
		return Choice{Reuse, Unchanged, verdict.New(code.Unchanged), previous.Attempt}
	default:
		return Choice{work, Retry, verdict.New(code.RetryAfter).Is(previous.Verdict), next}
	}
}

// because is why something runs, with the step's addition.
func because(what code.Fact, why verdict.Reason) verdict.Reason {
	if why.IsZero() {
		return verdict.New(what)
	}
	return verdict.New(what).From(why)
}

// DecidesAlone reports whether nodes of a kind follow from recorded evidence alone: their
// outcome can be withdrawn and made again without measuring.
func DecidesAlone(k Kind) bool {
	switch k {
	case KindFeature, KindCriteria, KindGate, KindPhase:
		return true
	}
	return false
}

// Scope is what a step can see and use.
type Scope struct {
	Plan *plans.Plan
	Node *Node
	Run  string
	Choice
	// Keys as the step gave them.
	Keys Keys
	// Previous is the node's recorded outcome, nil the first time.
	Previous *ledger.Decision
	// Outcome looks up the outcome of a node in this run, recorded or new; nil
	// while undecided or locked.
	Outcome func(id string) *ledger.Decision
	// LockedBy is why a node is locked; no fact if it is not.
	LockedBy func(id string) verdict.Reason
	// Chosen is what this run does with another node, given its keys; nil outside
	// of runs.
	Chosen func(n *Node, keys Keys) Choice
	// Assumed reports whether the outcome of a node is one that a preview assumes; nil in
	// a run.
	Assumed func(id string) bool
	// Emit reports progress; never blocks for long.
	Emit func(Event)
	// Rerun selects the nodes that a person wants to be decided again; nil for none.
	Rerun func(*Node) bool
	// Context ends when the run is to end gracefully; nil outside of runs.
	Context context.Context
	// Known is what the node's step found out about its environment, so its keys and its
	// launches refer to the same state; nil if nothing is cached.
	Known *sync.Map
	// Hard is cancelled when the person cannot wait for a graceful end: a second Ctrl-C.
	Hard context.Context
}

// patience bounds a query to a repository.
const patience = 2 * time.Minute

// Ask answers a question about the environment once per node, so its keys and its
// launches refer to the same state, whatever other nodes do meanwhile: an answer, or the
// problem with it. If the scope caches nothing it is asked again.
func Ask[T any](s *Scope, question string, find func(context.Context) (T, error)) (answer T, problem string) {
	type found struct {
		answer  T
		problem string
	}
	remembers := s != nil && s.Known != nil
	if remembers {
		if known, ok := s.Known.Load(question); ok {
			return known.(found).answer, known.(found).problem
		}
	}
	ctx, cancel := context.WithTimeout(ContextOf(s), patience)
	defer cancel()
	answer, err := find(ctx)
	var f found
	if err != nil {
		f.problem = err.Error()
	} else {
		f.answer = answer
	}
	if remembers && ContextOf(s).Err() == nil {
		s.Known.Store(question, f)
	}
	return f.answer, f.problem
}

// ContextOf ends when the run ends or, outside of runs, with a person's second Ctrl-C.
func ContextOf(s *Scope) context.Context {
	switch {
	case s == nil:
		return context.Background()
	case s.Context != nil:
		return s.Context
	case s.Hard != nil:
		return s.Hard
	}
	return context.Background()
}
