// Package explain explains recorded decisions, to people and to programs. It shows what
// the decision and its launches contain, in the order of an engineer's argument: claim,
// data, test, what decided, what would have changed it. It knows the ledger and derives
// nothing that was decided.
package explain

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
)

// Explanation is a decision with everything that explains it.
type Explanation struct {
	Node string `json:"node"`
	// Alternative is the requested one, for a feature that chooses.
	Alternative string `json:"alternative,omitempty"`
	// Decision is nil if the node was never decided.
	Decision *store.Decided `json:"decision,omitempty"`
	// Locked is why the newest run could not decide it; then an earlier decision no
	// longer stands.
	Locked verdict.Reason `json:"locked,omitzero"`
	// Attempts are all decisions about the node, oldest first.
	Attempts []attempt `json:"attempts,omitempty"`
	// Engines are the plan's engines that the launches were started on.
	Engines []string `json:"engines,omitempty"`
	// Sessions are the orders in which launches were started.
	Sessions []sessionOrder `json:"orders,omitempty"`
	Rules    []rule         `json:"rules,omitempty"`
	// Causes lead from the decision to the root, if it was not made by its own evidence.
	Causes []verdict.Reason `json:"causes,omitempty"`
	Marks  []verdict.Reason `json:"marks,omitempty"`
	// Moved are the metrics of workloads that the candidate demonstrably changed.
	Moved []gates.Movement `json:"moved,omitempty"`
	Notes []verdict.Reason `json:"notes,omitempty"`
}

// attempt is one decision about a node on a line.
type attempt struct {
	Attempt int            `json:"attempt"`
	Verdict string         `json:"verdict"`
	Because verdict.Reason `json:"because,omitzero"`
	Session string         `json:"session,omitempty"`
	Run     string         `json:"run"`
	Time    time.Time      `json:"time"`
	// Explained is set for the explained one.
	Explained bool `json:"explained,omitempty"`
}

// Of collects the explanation of a node; attempt 0 is the newest. For a feature that
// chooses, a named alternative is explained alone.
func Of(st *store.Store, node, alternative string, number int) (*Explanation, error) {
	e := &Explanation{Node: node, Alternative: alternative}
	history := st.History(node)
	at := len(history) - 1
	if number > 0 {
		at = slices.IndexFunc(history, func(d store.Decided) bool { return d.Attempt == number })
		if at < 0 {
			return nil, fmt.Errorf("%s has no attempt %d: %s", node, number, attemptsThere(history))
		}
	} else {
		for _, l := range report.Locked(st) {
			if l.Node == node {
				e.Locked = l.Cause
			}
		}
	}
	for i, d := range history {
		e.Attempts = append(e.Attempts, attempt{d.Attempt, string(d.Verdict), d.Because, d.Session, d.Run, d.Time, i == at && e.Locked.IsZero()})
	}
	if !e.Locked.IsZero() {
		e.Causes = lockCauses(st, e.Locked)
		return e, nil
	}
	if at < 0 {
		return nil, fmt.Errorf("%s has not been decided yet", node)
	}
	d := history[at]
	e.Decision = &d
	if d.Retraction == nil {
		// A withdrawn decision reads no launch.
		e.Sessions, e.Notes = ordersOf(st, d)
	}
	e.Engines = EnginesOf(st, d.Decision)
	e.Moved = Moved(st, d.Decision)
	// The rules of a feature that chooses are those of one alternative, which are
	// explained with the others.
	ofAlternative := slices.ContainsFunc(d.Alternatives, func(alt ledger.Alternative) bool { return reflect.DeepEqual(alt.Rules, d.Rules) })
	if !ofAlternative && alternative == "" {
		e.Rules = rulesOf(d.Rules, "")
	}
	for _, alt := range d.Alternatives {
		if alternative == "" || alternative == alt.Name {
			e.Rules = append(e.Rules, rulesOf(alt.Rules, alt.Name)...)
		}
	}
	if !report.TestsDecided(d.Decision) {
		e.Causes = causesOf(st, d)
	}
	e.Marks = marksOf(st, d, time.Now())
	if last := history[len(history)-1]; at < len(history)-1 {
		e.Notes = append(e.Notes, verdict.Say("explain.superseded", "superseded by attempt {attempt} ({verdict})",
			verdict.Int("attempt", last.Attempt)).Is(last.Verdict).From(last.Because))
	}
	return e, nil
}

// Moved are the metrics that a feature demonstrably changed, by the launches that decided
// it.
func Moved(st *store.Store, d *ledger.Decision) []gates.Movement {
	i := slices.IndexFunc(d.Evidence, func(ev ledger.Evidence) bool { return ev.Feature == d.Feature })
	if d.Kind != ledger.KindFeature || d.Retraction != nil || d.Statistics == nil || i < 0 {
		return nil
	}
	ev, err := decide.Assemble(d.Evidence[i:i+1], st.LaunchByID)
	if err != nil {
		return nil // nothing is known of missing launches
	}
	return report.Decided(d, gates.ChangedMetrics(d.Feature, ev.Features[d.Feature], decide.RecordedSettings(d.Statistics)))
}

func attemptsThere(history []store.Decided) string {
	if len(history) == 0 {
		return "it was never decided"
	}
	var list []string
	for _, d := range history {
		list = append(list, fmt.Sprint(d.Attempt))
	}
	return "there is " + strings.Join(list, ", ")
}

// EnginesOf are the engines of the launches that a decision rests on, "kind.name".
func EnginesOf(st *store.Store, d *ledger.Decision) (engines []string) {
	for _, id := range evidenceLaunches(d) {
		if l, ok := st.LaunchByID(id); ok && l.Block != "" && !slices.Contains(engines, l.Block) {
			engines = append(engines, l.Block)
		}
	}
	return engines
}

// evidenceLaunches are the launches that the rules of a decision read, each once.
func evidenceLaunches(d *ledger.Decision) (ids []string) {
	for _, ev := range d.Evidence {
		ids = slices.Concat(ids, ev.Parent.Launches, ev.Candidate.Launches, ev.Root.Launches)
	}
	if len(ids) == 0 {
		ids = d.Launches
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}
