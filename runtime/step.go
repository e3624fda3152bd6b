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
	// Keys says what the outcome rests on, given what is decided so far.
	// ErrUndecided means that it depends on something that is not decided yet.
	Keys(s *Scope) (Keys, error)
	// Run decides. A verdict of fail is a value; an error means that the step
	// itself broke and becomes the verdict error. When ctx is cancelled it
	// cleans up and returns ctx's error, and nothing is recorded.
	Run(ctx context.Context, s *Scope) (*ledger.Decision, error)
}

// Preparer is a Step whose keys rest on what an apply has to bring here first,
// such as an image. A preview of an apply prepares nothing.
type Preparer interface {
	// Prepare comes before Keys. An error becomes the node's verdict error.
	Prepare(ctx context.Context, s *Scope) error
}

// ErrUndecided is returned by Keys when the answer depends on an outcome that
// does not exist yet: which features were accepted, for example.
var ErrUndecided = errors.New("depends on undecided nodes")

// Keys say what an outcome rests on.
type Keys struct {
	// Measure covers everything that the measurement depends on: while it is
	// unchanged, launches are reused.
	Measure string
	// Decide covers rules and thresholds: when only it changes, the node is
	// decided again from what is stored.
	Decide string
	// Claim covers what is held against the outcome and decides nothing of it: when
	// only it changes, the outcome stays that of the attempt before.
	Claim string
	// Fresh says why what was measured may not decide by the changed rules, so that it
	// is measured again: it is part of no key.
	Fresh verdict.Reason
	// Again says why what follows from the same keys may now be another outcome; part of no key.
	Again verdict.Reason
	// Why says what in the world changed, where the step can tell: it is added to
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
	// Because is code.First, code.RulesChanged, code.RetryAfter and their like.
	Because verdict.Reason
	Attempt int
}

// Asked reports whether a person asked for the node again.
func (c Choice) Asked() bool { return c.Because.Code == code.Rerun }

// choose compares a node's recorded outcome with its keys of today. pass, fail
// and inconclusive are kept; error and invalid are tried again as a new attempt,
// unless they only follow from another outcome that is itself kept. A command
// that failed is tried again too: what it reads cannot be known, and may have
// been fixed. What a matrix rests on is known. What a person retracted stays so
// until it is measured again.
func choose(n *Node, previous *ledger.Decision, keys Keys, rerun bool) Choice {
	work := Measure
	if DecidesAlone(n.Kind) {
		work = Redecide
	}
	if previous == nil {
		return Choice{Action: work, Because: because(code.First, keys.Fresh), Attempt: 1}
	}
	next := previous.Attempt + 1
	switch {
	case rerun:
		return Choice{work, verdict.New(code.Rerun), next}
	case previous.MeasureKey != keys.Measure && previous.DecisionKey != keys.Decide && work == Redecide:
		return Choice{work, verdict.New(code.BothChanged), next}
	case previous.MeasureKey != keys.Measure && work == Redecide:
		return Choice{work, verdict.New(code.EvidenceChanged), next}
	case previous.MeasureKey != keys.Measure:
		return Choice{work, because(code.MeasurementChanged, keys.Why), next}
	case previous.Retracted():
		// A changed rule must not let the same evidence pass again.
		return Choice{Action: Reuse, Because: verdict.New(code.Retracted), Attempt: previous.Attempt}
	case !keys.Again.IsZero():
		return Choice{work, keys.Again, next}
	case previous.DecisionKey != keys.Decide && !keys.Fresh.IsZero():
		return Choice{work, keys.Fresh, next}
	case previous.DecisionKey != keys.Decide:
		return Choice{Redecide, verdict.New(code.RulesChanged), next}
	case n.Kind == KindStep && !previous.Verdict.Unlocks() && !(n.StepBlock != nil && n.StepBlock.Kind == plans.MatrixStep && previous.Kept()):
		return Choice{work, verdict.New(code.RetryAfter).Is(previous.Verdict), next}
	case previous.Withdrawn():
		return Choice{work, verdict.New(code.NoLongerWithdrawn).On(previous.Retraction.Node), next}
	case work == Redecide && previous.ClaimKey != keys.Claim && (previous.Verdict.Kept() || previous.Derived):
		return Choice{work, verdict.New(code.HypothesisChanged), next}
	case previous.Kept() || previous.Derived, work == Redecide && previous.Disturbed():
		return Choice{Action: Reuse, Because: verdict.New(code.Unchanged), Attempt: previous.Attempt}
	default:
		return Choice{work, verdict.New(code.RetryAfter).Is(previous.Verdict), next}
	}
}

// because is why something runs, with what a step can add to it.
func because(what code.Code, why verdict.Reason) verdict.Reason {
	if why.IsZero() {
		return verdict.New(what)
	}
	return verdict.New(what).From(why)
}

// DecidesAlone reports whether nodes of a kind follow from recorded evidence alone:
// their outcome can be withdrawn and made again without measuring.
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
	// LockedBy says why a node is locked; no fact when it is not.
	LockedBy func(id string) verdict.Reason
	// Chosen is what this run does with another node, given its keys; nil outside
	// of runs.
	Chosen func(n *Node, keys Keys) Choice
	// Assumed reports whether the outcome of a node is one that a preview assumes; nil in
	// a run.
	Assumed func(id string) bool
	// Emit reports progress; never blocks for long.
	Emit func(Event)
	// Rerun says which nodes a person wants to be decided again; nil for none.
	Rerun func(*Node) bool
	// Context ends when the run is to end in order; nil outside of runs.
	Context context.Context
	// Known is what the node's step has found out about the world, so that its keys and
	// its launches speak of the same; nil where nothing is remembered.
	Known *sync.Map
	// Foreseen keeps what steps have found out while they are only asked what they
	// would do, and nothing changes under them; nil in a run.
	Foreseen *sync.Map
	// Hard is cancelled when even stopping in order takes too long for the
	// person who waits: a second Ctrl-C.
	Hard context.Context
}

// patience is how long a question about a repository may take.
const patience = 2 * time.Minute

// Ask answers a question about the world once for each node, so that its keys and
// its launches speak of the same state, whatever other nodes do meanwhile: an
// answer, or the problem with it. Where the scope remembers nothing it is asked again.
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

// ContextOf ends when the run ends; where there is none, with a person's second
// Ctrl-C.
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
