// Package replay repeats recorded decisions from their raw data and the recorded plan,
// for an audit. It reads the ledger's records, compiles recorded plans, and decides as an
// apply does. It starts nothing and writes nothing into the state directory.
package replay

import (
	"errors"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Replay decides recorded decisions again, from the raw data that were kept. It starts
// nothing and writes nothing into the state directory. What several decisions share, a
// plan or a launch, is read once. It is not safe for concurrent use.
type Replay struct {
	store    *store.Store
	registry *plans.Registry
	// inputs are values of variables that the person gives, for what is not in the
	// ledger: sensitive ones.
	inputs []load.Given
	// key makes the marks that tell sensitive values apart, which are not on record; nil
	// if the state directory has none.
	key []byte
	// Evaluator decides levels again; if nil, none is.
	Evaluator Evaluator

	runs     map[string]*ledger.RunStart
	arch     map[string]string                    // by launch
	recorded map[string]int                       // the positions of launches in the ledger
	locked   map[string]map[string]verdict.Reason // nodes, by run
	last     map[string]int                       // the position of a run's last record
	plans    map[string]*recordedPlan
	launches map[string]*replayedLaunch
	sessions map[string][]*ledger.Launch
	cache    decide.Cache
}

type Outcome string

const (
	// Agrees: every verdict is the same, and every number bit for bit.
	Agrees Outcome = "agrees"
	// Differs: something does not.
	Differs Outcome = "differs"
	// Broken: what was kept is gone or damaged.
	Broken Outcome = "evidence missing"
	// Unruled: no rule decided, so there is none to decide again.
	Unruled Outcome = "no rules"
	// Unreplayed: none of it could be decided again.
	Unreplayed Outcome = "not replayed"
)

type Replayed struct {
	Node    string  `json:"node"`
	Attempt int     `json:"attempt"`
	Record  int     `json:"record"`
	Run     string  `json:"run"`
	InForce bool    `json:"in_force"`
	Outcome Outcome `json:"outcome"`
	// Recorded and Verdict are the verdicts of the whole, then and now; Verdict is empty if there is none.
	Recorded verdict.Verdict `json:"recorded"`
	Verdict  verdict.Verdict `json:"verdict,omitempty"`
	// Rules is the source of the rules, Why what prevented using the plan's.
	Rules RulesFrom      `json:"rules_from,omitempty"`
	Why   verdict.Reason `json:"why,omitzero"`
	// Numbers were compared, and Differences are those that differ.
	Numbers     int          `json:"numbers,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
	// Unreplayed are levels that were not decided again: their verdicts are the ledger's.
	Unreplayed []string `json:"unreplayed,omitempty"`
	// LedgerOnly is what else it rests on that only the ledger shows.
	LedgerOnly []string `json:"ledger_only,omitempty"`
	// Notes are what to know about an agreement, such as another architecture.
	Notes []verdict.Reason `json:"notes,omitempty"`
}

// Difference is one value that came out differently.
type Difference struct {
	// Rule is the rule's name, or "launch ID", "noise", "decision"; What is the place in
	// it, such as "comparisons[1].test.looks[1].p_pass".
	Rule string `json:"rule"`
	What string `json:"what"`
	// Recorded and Replayed are the values on both sides, "absent" if there is none.
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// New prepares to replay the contents of a state directory. The registry compiles
// recorded plans.
func New(st *store.Store, registry *plans.Registry, inputs []load.Given) *Replay {
	r := &Replay{
		store: st, registry: registry, inputs: inputs,
		runs: map[string]*ledger.RunStart{}, arch: map[string]string{}, recorded: map[string]int{},
		locked: map[string]map[string]verdict.Reason{},
		plans:  map[string]*recordedPlan{}, launches: map[string]*replayedLaunch{},
		sessions: map[string][]*ledger.Launch{}, cache: decide.NewCache(), last: map[string]int{},
	}
	if key, err := store.KnownSecretKey(st.Dir()); err == nil {
		r.key = key
	}
	for i, rec := range st.Records() {
		r.last[rec.Run] = i
		switch {
		case rec.RunStart != nil:
			r.runs[rec.Run] = rec.RunStart
		case rec.End != nil:
			r.locked[rec.Run] = rec.End.Locked
		case rec.Launch != nil:
			r.recorded[rec.Launch.ID] = i
			if start := r.runs[rec.Run]; start != nil {
				r.arch[rec.Launch.ID] = start.Environment["arch"]
			}
		}
	}
	return r
}

// Decisions returns the recorded decisions that can at least partly be decided again,
// oldest first, superseded ones included.
func (r *Replay) Decisions() (out []ledger.Decided) {
	for i, rec := range r.store.Records() {
		if d := rec.Decision; d != nil && r.replayable(d) {
			out = append(out, ledger.Decided{Decision: d, Record: i, Run: rec.Run, Time: rec.Time})
		}
	}
	return out
}

func (r *Replay) replayable(d *ledger.Decision) bool {
	return byRules(d) || d.Kind == ledger.KindQualify || d.Kind == ledger.KindBenchmark || r.stepReplayable(d)
}

// LedgerOnly returns the newest decisions of steps that are not decided again.
func (r *Replay) LedgerOnly() (out []ledger.Decided) {
	for _, d := range r.store.Decisions() {
		if d.Kind == ledger.KindStep && !r.stepReplayable(d.Decision) && !d.Derived {
			out = append(out, d)
		}
	}
	return out
}

// byRules reports whether decisions of that kind are made by rules.
func byRules(d *ledger.Decision) bool {
	return slices.Contains([]string{ledger.KindFeature, ledger.KindCriteria, ledger.KindGate}, d.Kind)
}

func (r *Replay) Decide(d ledger.Decided) Replayed {
	out := Replayed{Node: d.Node, Attempt: d.Attempt, Record: d.Record, Run: d.Run, Recorded: d.Verdict}
	if latest, _, ok := r.store.Latest(d.Node); ok {
		out.InForce = latest == d.Decision
	}
	switch {
	case d.Kind == ledger.KindQualify:
		r.decideLevels(&out, d)
		return out
	case d.Kind == ledger.KindBenchmark:
		r.decideBenchmark(&out, d)
		return out
	case d.Kind == ledger.KindStep:
		r.decideStep(&out, d)
		return out
	case !hasRules(d.Decision):
		out.Outcome, out.Why = Unruled, verdict.New(code.NoRule).From(first(d.Why())...)
		return out
	case d.Statistics == nil || len(d.Evidence) == 0:
		out.lackEvidence()
		return out
	}
	if err := r.recompute(&out, d.Evidence); err != nil {
		out.Outcome, out.Why = Broken, verdict.OfError(err)
		return out
	}
	r.decideByRules(&out, d)
	return out
}

// decideByRules decides a node as an apply does, by the plan and the record of then.
func (r *Replay) decideByRules(out *Replayed, d ledger.Decided) {
	plan := r.planOf(d.Run)
	if plan.res == nil {
		out.Outcome, out.Why = Unreplayed, plan.why
		return
	}
	out.Rules = RulesOfPlan
	by, node := plan.res.Plan, plan.graph.Node(d.Node)
	if !plan.exact {
		out.Rules = RulesAsRecorded
		out.note(verdict.New(code.PlanInexact, plan.lacking()...))
		var why verdict.Reason
		if by, node, why = plan.asRecorded(d.Decision); !why.IsZero() {
			out.Outcome, out.Why = Unreplayed, why
			return
		}
	}
	if node == nil || string(node.Kind) != d.Kind {
		out.differ("decision", "node", d.Node, "none that is decided so")
		out.conclude()
		return
	}
	at := r.viewAt(out, d, by, plan.graph)
	if plan.exact && at.view.Goals != nil && runtime.Digest(plan.goals) != runtime.Digest(at.view.Goals) {
		out.differ("run "+d.Run, "goals", "as recorded", "another")
	}
	replayed, err := decide.Node(at.view, node)
	switch {
	case at.gone != nil:
		out.Outcome, out.Why = Broken, verdict.OfError(at.gone)
		return
	case errors.Is(err, runtime.ErrUndecided): // no decision on what it rests on
		out.lackEvidence()
		return
	case err != nil:
		out.Outcome, out.Why = Broken, verdict.OfError(err)
		return
	}
	out.Verdict = replayed.Verdict
	r.compare(out, d, replayed)
	out.conclude()
}

func (out *Replayed) lackEvidence() {
	out.Outcome, out.Why = Broken,
		verdict.Say("replay.kept_not_what", "its record lacks the evidence that decided it")
}

// recompute evaluates the launches that evidence names again.
func (r *Replay) recompute(out *Replayed, kept []gates.Feature) error {
	for _, ev := range kept {
		for _, arm := range []gates.Arm{ev.Candidate, ev.Parent, ev.Root} {
			for _, id := range append(arm.IDs(), arm.Qualified.ID) {
				if id == "" {
					continue
				}
				if _, err := r.recomputeLaunch(out, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func hasRules(d *ledger.Decision) bool {
	return len(d.Rules) > 0 || slices.ContainsFunc(d.Alternatives, func(alt ledger.Alternative) bool {
		return len(alt.Rules) > 0
	})
}

// first returns the first of several reasons, if any.
func first(reasons []verdict.Reason) []verdict.Reason { return reasons[:min(1, len(reasons))] }

func (out *Replayed) differ(rule, what, recorded, replayed string) {
	out.Differences = append(out.Differences, Difference{rule, what, recorded, replayed})
}

func (out *Replayed) note(note verdict.Reason) {
	if !slices.ContainsFunc(out.Notes, note.Equal) {
		out.Notes = append(out.Notes, note)
	}
}
