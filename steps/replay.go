package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Replay decides recorded decisions again, from the raw data that were kept. It
// starts nothing and writes nothing into the state directory. What several
// decisions share, a plan or a launch, is read once. It is not for use by several
// goroutines.
type Replay struct {
	store *store.Store
	// inputs are values of variables that the person gives, for what is not in the
	// ledger: sensitive ones.
	inputs []load.Given
	// Seal, where set, makes the mark by which a sensitive value is told from
	// another one without being on record.
	Seal func(text string) string

	probing  bool // what a sensitive input has a part in is looked for
	runs     map[string]*ledger.RunStart
	arch     map[string]string // by launch
	plans    map[string]*recordedPlan
	launches map[string]*replayedLaunch
	noise    map[string]map[string]gates.Noise
}

// ReplayOutcome is what deciding again came to.
type ReplayOutcome string

const (
	// ReplayAgrees: every verdict is the same, and every number bit for bit.
	ReplayAgrees ReplayOutcome = "agrees"
	// ReplayTests: the tests that it recorded agree with its launches and with
	// themselves, but the rules that they belong to could not be compiled.
	ReplayTests ReplayOutcome = "tests agree"
	// ReplayDiffers: something is not.
	ReplayDiffers ReplayOutcome = "differs"
	// ReplayBroken: what was kept is gone or damaged.
	ReplayBroken ReplayOutcome = "evidence missing"
	// ReplayUnruled: no rule decided, so there is none to decide again.
	ReplayUnruled ReplayOutcome = "no rules"
)

// Replayed is one decision that was decided again.
type Replayed struct {
	Node    string        `json:"node"`
	Attempt int           `json:"attempt"`
	Record  int           `json:"record"`
	Run     string        `json:"run"`
	Stands  bool          `json:"stands"`
	Outcome ReplayOutcome `json:"outcome"`
	// Recorded and Again are the verdicts of the whole; Again is empty where there
	// is none.
	Recorded verdict.Verdict `json:"recorded"`
	Again    verdict.Verdict `json:"again,omitempty"`
	// Rules says where the rules came from, Why what stood in the way.
	Rules RulesFrom      `json:"rules_from,omitempty"`
	Why   verdict.Reason `json:"why,omitzero"`
	// Numbers were compared, and these came out otherwise.
	Numbers     int                `json:"numbers,omitempty"`
	Differences []ReplayDifference `json:"differences,omitempty"`
	// Notes are what to know of an agreement: another architecture, say.
	Notes []verdict.Reason `json:"notes,omitempty"`
}

// ReplayDifference is one thing that came out otherwise.
type ReplayDifference struct {
	// Rule is the rule's name, or "launch ID", "noise", "decision"; What is the place
	// in it, such as "comparisons[1].test.looks[1].p_pass".
	Rule string `json:"rule"`
	What string `json:"what"`
	// Recorded and Again are the values on both sides, "absent" where there is none.
	Recorded string `json:"recorded"`
	Again    string `json:"again"`
}

// NewReplay prepares to replay what a state directory holds.
func NewReplay(st *store.Store, inputs []load.Given) *Replay {
	r := &Replay{
		store: st, inputs: inputs,
		runs: map[string]*ledger.RunStart{}, arch: map[string]string{},
		plans: map[string]*recordedPlan{}, launches: map[string]*replayedLaunch{}, noise: map[string]map[string]gates.Noise{},
	}
	for _, rec := range st.Records() {
		switch {
		case rec.RunStart != nil:
			r.runs[rec.Run] = rec.RunStart
		case rec.Launch != nil:
			if start := r.runs[rec.Run]; start != nil {
				r.arch[rec.Launch.ID] = start.Environment["arch"]
			}
		}
	}
	return r
}

// Decisions are the recorded decisions about features and gates, oldest first,
// those that others took the place of among them.
func (r *Replay) Decisions() (out []store.Decided) {
	for i, rec := range r.store.Records() {
		if d := rec.Decision; d != nil && ruled(d) {
			out = append(out, store.Decided{Decision: d, Record: i, Run: rec.Run, Time: rec.Time})
		}
	}
	return out
}

// ruled reports whether decisions of that kind are made by rules.
func ruled(d *ledger.Decision) bool {
	switch runtime.Kind(d.Kind) {
	case runtime.KindFeature, runtime.KindCriteria, runtime.KindGate:
		return true
	}
	return false
}

// Decide decides one decision again.
func (r *Replay) Decide(d store.Decided) Replayed {
	out := Replayed{Node: d.Node, Attempt: d.Attempt, Record: d.Record, Run: d.Run, Recorded: d.Verdict}
	if latest, _, ok := r.store.Latest(d.Node); ok {
		out.Stands = latest == d.Decision
	}
	switch {
	case d.Retraction != nil:
		out.Outcome, out.Why = ReplayUnruled, d.Retraction.Of(d.Node)
		return out
	case !hasRules(d.Decision):
		out.Outcome, out.Why = ReplayUnruled, verdict.New(code.NoRule).From(first(d.Reasons)...)
		return out
	case d.Statistics == nil || len(d.Evidence) == 0:
		out.Outcome, out.Why = ReplayBroken, verdict.New(code.KeptNotWhat)
		return out
	}
	ev, err := r.evidence(&out, d.Evidence)
	if err != nil {
		out.Outcome, out.Why = ReplayBroken, verdict.OfError(err)
		return out
	}
	rules := r.rulesOf(d, ev)
	r.checkNoise(&out, d, rules)
	if out.Rules = rules.from; rules.from == RulesGone {
		out.Why = rules.why
		r.checkTests(&out, d)
	} else {
		out.Notes = append(out.Notes, rules.notes...)
		out.Differences = append(out.Differences, rules.differ...)
		r.decideAgain(&out, d, rules)
	}
	switch out.Outcome = ReplayAgrees; {
	case len(out.Differences) > 0:
		out.Outcome = ReplayDiffers
	case rules.from == RulesGone:
		out.Outcome = ReplayTests
	}
	return out
}

func hasRules(d *ledger.Decision) bool {
	for _, alt := range d.Alternatives {
		if len(alt.Rules) > 0 {
			return true
		}
	}
	return len(d.Rules) > 0
}

// first is the first of several reasons; none where there is none.
func first(reasons []verdict.Reason) []verdict.Reason { return reasons[:min(1, len(reasons))] }

func (out *Replayed) differ(rule, what, recorded, again string) {
	out.Differences = append(out.Differences, ReplayDifference{rule, what, recorded, again})
}

func (out *Replayed) note(note verdict.Reason) { out.Notes = noted(out.Notes, note) }

// noted adds a note, once.
func noted(notes []verdict.Reason, note verdict.Reason) []verdict.Reason {
	if slices.ContainsFunc(notes, note.Equal) {
		return notes
	}
	return append(notes, note)
}
