package view

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Explanation is a decision with everything that explains it.
type Explanation struct {
	Node string `json:"node"`
	// Alternative is the requested one, for a feature that chooses.
	Alternative string `json:"alternative,omitempty"`
	// Decision is nil if the node was never decided.
	Decision *ledger.Decided `json:"decision,omitempty"`
	// Locked is why the newest run could not decide it; then an earlier decision no
	// longer stands.
	Locked verdict.Reason `json:"locked,omitzero"`
	// Attempts are all decisions about the node, oldest first.
	Attempts []attempt `json:"attempts,omitempty"`
	// Engines are the plan's engines that the launches were started on.
	Engines []string `json:"engines,omitempty"`
	Rules   []rule   `json:"rules,omitempty"`
	// Causes are why it is locked.
	Causes []verdict.Reason `json:"causes,omitempty"`
	Marks  []verdict.Reason `json:"marks,omitempty"`
	// Moved are the metrics of workloads that the candidate demonstrably changed.
	Moved []gates.Movement `json:"moved,omitempty"`
	Notes []verdict.Reason `json:"notes,omitempty"`
	// Evidence is what proved that the port ran, and what was checked of its answers.
	Evidence []verdict.Reason `json:"evidence,omitempty"`

	of string // the alternative whose rules decided
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
	word      string
}

// Explain collects the explanation of a node; attempt 0 is the newest. For a feature that
// chooses, a named alternative is explained alone.
func Explain(st *store.Store, node, alternative string, number int) (*Explanation, error) {
	e := &Explanation{Node: node, Alternative: alternative}
	history := st.History(node)
	at := len(history) - 1
	if number > 0 {
		at = slices.IndexFunc(history, func(d ledger.Decided) bool { return d.Attempt == number })
		if at < 0 {
			return nil, fmt.Errorf("%s has no attempt %d: there are %d", node, number, len(history))
		}
	} else {
		e.Locked = report.RowsOf(st, time.Now()).At(node).Locked
	}
	for i, d := range history {
		e.Attempts = append(e.Attempts,
			attempt{
				d.Attempt, string(d.Verdict), d.Because, d.Session, d.Run, d.Time, i == at && e.Locked.IsZero(),
				report.Word(d.Decision, false),
			})
	}
	if !e.Locked.IsZero() {
		cause := e.Locked
		d, _, known := st.Latest(cause.Subject)
		if cause.Kind == code.Outcome.Kind && len(cause.Causes) == 0 && known && d.Verdict == cause.Verdict {
			cause = cause.From(verdict.Few(d.Why(), 3)...) // what its root came to
		}
		e.Causes = []verdict.Reason{cause}
		return e, nil
	}
	if at < 0 {
		return nil, fmt.Errorf("%s has not been decided yet", node)
	}
	d := history[at]
	e.Decision = &d
	for _, id := range report.EvidenceLaunches(d.Decision) {
		if _, ok := st.LaunchByID(id); !ok {
			e.Notes = append(e.Notes, verdict.New(code.LaunchUnrecorded).On(id))
		}
	}
	e.Engines = report.EnginesOf(st, d.Decision)
	e.Moved, e.Evidence = Moved(st, d.Decision), report.Proofs(st, d.Decision)
	// The rules of a feature that chooses are those of one alternative, which are
	// explained with the others.
	add := func(rules []verdict.Rule, of string) {
		for _, r := range rules {
			e.Rules = append(e.Rules, rule{r, of})
		}
	}
	for _, alt := range d.Alternatives {
		if e.of == "" && reflect.DeepEqual(alt.Rules, d.Rules) {
			e.of = alt.Name
		}
	}
	if e.of == "" && alternative == "" {
		add(d.Rules, "")
	}
	for _, alt := range d.Alternatives {
		if alternative == "" || alternative == alt.Name {
			add(alt.Rules, alt.Name)
		}
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
	i := slices.IndexFunc(d.Evidence, func(ev gates.Feature) bool { return ev.Name == d.Feature })
	if d.Kind != ledger.KindFeature || d.Statistics == nil || i < 0 {
		return nil
	}
	ev, err := decide.Read(d.Evidence[i:i+1], st.LaunchByID)
	if err != nil {
		return nil // nothing is known of missing launches
	}
	return report.Decided(d, gates.ChangedMetrics(d.Feature, ev[d.Feature], *d.Statistics))
}

// rule is a decided rule of a feature, or of one of its alternatives.
type rule struct {
	verdict.Rule
	Of string `json:"of,omitempty"` // an alternative's name
}

// marksOf is the waiver of a decision, if there is one.
func marksOf(st *store.Store, d ledger.Decided, now time.Time) (marks []verdict.Reason) {
	var waiver *ledger.Waiver
	for _, r := range st.Records() {
		if r.Waiver.About(d.Decision) {
			waiver = r.Waiver
		}
	}
	if bears := waiver.Effect(d.Decision, now); !bears.IsZero() {
		marks = append(marks, verdict.Say("explain.evidence_stays",
			"{causes}; the verdict by evidence remains {verdict}").Is(d.Verdict).From(bears))
	}
	return marks
}
