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

// Step derives the outcome of one node, and does the work that is missing for it.
type Step interface {
	// Derive is what the record says of the node: its outcome, or the work that is
	// missing. It starts nothing, writes nothing and fetches nothing. ErrUndecided means
	// that it depends on something undecided.
	Derive(s *Scope) (*Derived, error)
	// Do does that work and returns its outcome. A verdict of fail is a value; an error
	// means that the step itself broke and becomes the verdict error. If ctx is cancelled
	// it cleans up and returns ctx's error, and nothing is recorded.
	Do(ctx context.Context, s *Scope) (*ledger.Decision, error)
}

// Preparer is a Step whose identity rests on something that an apply must fetch first, such
// as an image.
type Preparer interface {
	// Prepare comes before Derive in an apply. An error becomes the node's verdict error.
	Prepare(ctx context.Context, s *Scope) error
}

// ErrUndecided is returned by Derive if the answer depends on an outcome that does not
// exist yet: which features were accepted, for example.
var ErrUndecided = errors.New("depends on undecided nodes")

// Derived is what a record says of a node.
type Derived struct {
	// Key identifies by content the object of the node's work: a recorded outcome with
	// another key does not count. RulesKey covers everything else that the verdict depends on.
	Key, RulesKey string
	// Outcome is the node's outcome; nil while work is missing.
	Outcome *ledger.Decision
	// Why is why work is missing, Launches those of it that are to be made, and Notes what
	// they can show.
	Why      verdict.Reason
	Launches []Launch
	Notes    []verdict.Reason
	// Variant is the variant of the outcome that the missing work leads to.
	Variant map[string]string
}

// Outcomes are what nodes came to, at some point of an apply or of its record.
type Outcomes interface {
	// Outcome is the outcome of a node; nil while undecided or locked.
	Outcome(id string) *ledger.Decision
	// LockedBy is why a node is locked; no fact if it is not.
	LockedBy(id string) verdict.Reason
	// Assumed reports whether the outcome of a node is one that its missing work may lead to.
	Assumed(id string) bool
}

// NodeOutcomes are outcomes, locks and assumed outcomes by node.
type NodeOutcomes struct {
	Decisions map[string]*ledger.Decision
	Locks     map[string]verdict.Reason
	Open      map[string]bool
}

func (k *NodeOutcomes) Outcome(id string) *ledger.Decision { return k.Decisions[id] }

func (k *NodeOutcomes) LockedBy(id string) verdict.Reason { return k.Locks[id] }

func (k *NodeOutcomes) Assumed(id string) bool { return k.Open[id] }

// Launch is one launch that is to be made.
type Launch struct {
	Variant    string `json:"variant"`
	VariantKey string `json:"variant_key"`
	Engine     string `json:"engine"`
	// Model is the model that the engine's command loads, and Work the key of the
	// requests sent.
	Model   string `json:"model,omitempty"`
	Work    string `json:"work,omitempty"`
	Purpose string `json:"purpose"`
	// Alone is set if no other launch of its node can run in parallel with it.
	Alone bool `json:"alone,omitempty"`
	// Paced is how long its levels take by the clock, however fast the engine is;
	// seconds.
	Paced float64 `json:"paced_s,omitempty"`
	// Sure is set if it is made in any case: others are only made while they could still
	// settle a rule.
	Sure bool `json:"sure,omitempty"`
}

// Scope is what a step can see and use.
type Scope struct {
	Plan *plans.Plan
	Node *Node
	Run  string
	// Key and RulesKey are the results of Derive.
	Key, RulesKey string
	// Previous is the node's recorded outcome, nil the first time, Attempt what the next
	// one counts as, and Forced set if a person wants to measure again.
	Previous *ledger.Decision
	Attempt  int
	Forced   bool
	// Outcomes are those of the nodes before this one.
	Outcomes
	// Emit reports progress; never blocks for long.
	Emit func(Event)
	// Context ends when the run is to end gracefully; nil outside of runs.
	Context context.Context
	// Memo is what the node's step found out about its environment, so its identity and
	// its launches refer to the same state: in Reconcile, all nodes' steps. It is nil if
	// nothing is cached.
	Memo *sync.Map
	// Force is cancelled when the person cannot wait for a graceful end: a second Ctrl-C.
	Force context.Context

	w       *walk
	variant map[string]string
}

// Planning reports whether it is one of a walk that does nothing, so what is found out in it
// stays true to its end.
func (s *Scope) Planning() bool { return s != nil && s.Memo != nil && s.Context == nil }

// With is the scope of work with these keys.
func (s *Scope) With(key, judged string) *Scope {
	own := *s
	own.Key, own.RulesKey = key, judged
	return &own
}

// At is the scope of another node at this point.
func (s *Scope) At(n *Node) *Scope { return s.w.scope(n) }

// Recorded is the newest outcome on record if it still counts for work with this key, and
// otherwise why the work is wanted. pass, fail and inconclusive count; error and invalid
// are tried again, and so is a command that failed: what it reads is unknown, and may have
// been fixed. What a matrix rests on is known. changed is what changed in the environment, if
// known.
func (s *Scope) Recorded(key string, changed verdict.Reason) (*ledger.Decision, verdict.Reason) {
	p, n := s.Previous, s.Node
	retry := n.Kind == KindStep && !(n.StepBlock != nil && n.StepBlock.Kind == plans.MatrixStep)
	switch {
	case p == nil:
		return nil, verdict.New(code.First)
	case s.Forced:
		return nil, verdict.Say("rerun", "--rerun")
	case p.MeasureKey != key, p.Derived:
		why := verdict.New(code.MeasurementChanged)
		if !changed.IsZero() {
			why = why.From(changed)
		}
		return nil, why
	case p.Reusable() && (!retry || p.Verdict.Unlocks()):
		return p, verdict.Reason{}
	case s.w.waived[n.Phase]:
		// Another outcome would make another decision of the gate.
		return p, verdict.Say("gate_waived", "gate waived")
	}
	return nil, verdict.New(code.RetryAfter).Is(p.Verdict)
}

// QualifyLaunch is the prefix of a qualification launch's ID.
const QualifyLaunch = "q-"

// patience bounds a query to a repository.
const patience = 2 * time.Minute

// Ask answers a question about the environment once per node, so its identity and its
// launches refer to the same state, whatever other nodes do meanwhile: an answer, or the
// problem with it. If the scope caches nothing it is asked again.
func Ask[T any](s *Scope, question string, find func(context.Context) (T, error)) (answer T, problem string) {
	type found struct {
		answer  T
		problem string
	}
	remembers := s != nil && s.Memo != nil
	if remembers {
		if known, ok := s.Memo.Load(question); ok {
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
		s.Memo.Store(question, f)
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
	case s.Force != nil:
		return s.Force
	}
	return context.Background()
}
