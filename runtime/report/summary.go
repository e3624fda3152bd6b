package report

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Summary is what came of a plan, made once of its record: every reader prints this, and walks the
// record for none of it.
type Summary struct {
	Store *store.Store
	// Plan is that of the newest run; nil if it is unreadable. Run is that run, nil without one.
	Plan *plans.Plan
	Run  *ledger.RunView
	Now  time.Time
	Rows Rows
	// Arms are those of all sessions, in the order in which they were decided.
	Arms    []*Arm
	Stack   Stack
	Ends    Ends
	Answer  Answer
	Targets []Contest
	// Reproduction is what came of the record that it reproduces, as whoever read that found; nil without one.
	Reproduction *decide.Reproduction
	// Nights are those of a watch, oldest first.
	Nights []Night

	tests Tests
	// engine is the one on which the baseline was last qualified.
	engine string
	ports  map[string]*Port
	// uncounted are those of invalid variants.
	uncounted []*Port
}

// ErrNothing is what readers of a state directory without a run say.
var ErrNothing = errors.New("nothing was applied here, so there is nothing to report")

// SummaryOf is of a state directory and of the plan of its newest run, nil if that is unreadable.
func SummaryOf(st *store.Store, p *plans.Plan, now time.Time) *Summary {
	decisions := compared(st)
	s := &Summary{Store: st, Plan: p, Now: now, Rows: RowsOf(st, now), Arms: ArmsOf(st, decisions...)}
	if run, err := st.Run("latest"); err == nil {
		s.Run = run
	}
	for i, r := range s.Rows {
		if p != nil && r.Feature != "" {
			s.Rows[i].Planned = p.Feature(r.Feature)
		}
	}
	for _, l := range st.Launches(store.LaunchFilter{Node: ledger.Baseline}) {
		s.engine = cmp.Or(l.Block, s.engine)
	}
	s.tests = tests(decisions...)
	s.ports = s.portsOf(decisions)
	s.addUncounted()
	s.Stack = s.stack()
	s.Ends = s.ends()
	s.Targets = s.targets()
	s.Nights, _ = NightsOf(st)
	if s.Answer = s.answer(); len(s.Nights) > 0 {
		s.Answer = Answer{Accepted: s.Nights[len(s.Nights)-1].String()}
	}
	return s
}

// Row is a node of the plan and what came of it.
type Row struct {
	Node string `json:"node"`
	// Phase is the one that it is in. Feature is set if it decides one, Gate if it decides a phase.
	Phase   string `json:"phase,omitempty"`
	Feature string `json:"-"`
	Gate    string `json:"-"`
	// Decided is nil if no decision stands, Overruled what people decided about it.
	Decided   *ledger.Decided `json:"-"`
	Overruled Overruled       `json:"-"`
	// Locked is why it could not run; no fact if it could.
	Locked verdict.Reason `json:"cause,omitzero"`
	// Gone is set if the plan no longer has it.
	Gone bool `json:"-"`
	// Planned is the feature in a plan that can be read.
	Planned *plans.Feature `json:"-"`
}

// Rows are all nodes of the plan in its order, followed by decided nodes that it once
// had. A node that is locked now has no decision, whatever was decided about it before.
type Rows []Row

// RowsOf are those of a state directory.
func RowsOf(st *store.Store, now time.Time) Rows {
	// The plan is that of the newest run that recorded its nodes.
	var nodes []string
	runs, newest := st.Runs(), false
	for i := len(runs) - 1; i >= 0 && len(nodes) == 0; i-- {
		if view, err := st.Run(runs[i].ID); err == nil {
			if newest = i == len(runs)-1; view.Start != nil {
				nodes = view.Start.Nodes
			}
		}
	}
	places := map[string]int{} // before 0, where all other nodes are
	for i, n := range nodes {
		places[n] = i - len(nodes)
	}
	outside := func(node string) bool { return newest && len(nodes) > 0 && places[node] == 0 }

	// Locked is what the last finished run could not run, unless it was decided since. What
	// --target left out was left out for that run only.
	locked, finished := map[string]verdict.Reason(nil), -1
	for i, r := range st.Records() {
		switch {
		case st.Aside(r.Run):
		case r.End != nil && r.End.Reason.Kind == code.Finished.Kind:
			locked, finished = maps.Clone(r.End.Locked), i
		case r.RunStart != nil:
			maps.DeleteFunc(locked, func(_ string, why verdict.Reason) bool {
				return why.Kind == code.NotTargeted.Kind
			})
		}
	}
	var rows, gone []Row
	known := map[string]bool{}
	for _, d := range st.Decisions() {
		if d.Record > finished {
			delete(locked, d.Node)
		}
		_, isLocked := locked[d.Node]
		switch r := RowOf(d, st.Waiver(d.Node), now); {
		case outside(d.Node):
			r.Gone = true
			gone = append(gone, r)
		case !isLocked:
			rows = append(rows, r)
			known[d.Node] = true
		}
	}
	for _, node := range append(slices.Sorted(maps.Keys(locked)), nodes...) {
		why, isLocked := locked[node]
		if !known[node] && !outside(node) && (isLocked || newest) {
			r := Row{Node: node, Phase: phaseOf(nodes, node), Locked: why}
			rows = append(rows, r.named())
			known[node] = true
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return places[a.Node] - places[b.Node] })
	return append(rows, gone...)
}

// RowOf is a decision as a row, with the newest waiver of its node, which may be nil.
func RowOf(d ledger.Decided, w *ledger.Waiver, now time.Time) Row {
	r := Row{Node: d.Node, Phase: d.Phase, Decided: &d, Overruled: overruledOf(d.Decision, w, now)}
	return r.named()
}

// named has what the node decides. One that confirms a feature on another engine does not decide it.
func (r Row) named() Row {
	if name, is := strings.CutPrefix(r.Node, "feature."); is && !strings.ContainsAny(name, ".@") {
		r.Feature = name
	}
	if name, is := strings.CutPrefix(r.Node, "phase."); is && !strings.Contains(name, ".step.") {
		r.Gate = name
	}
	return r
}

// phaseOf is a node's phase: the one in its address, or the next that ends after it in
// the plan's order, as a phase ends with its gate.
func phaseOf(nodes []string, node string) string {
	if rest, ok := strings.CutPrefix(node, "phase."); ok {
		name, _, _ := strings.Cut(rest, ".")
		return name
	}
	at := slices.Index(nodes, node)
	if at < 0 || !strings.HasPrefix(node, "feature.") {
		return ""
	}
	for _, n := range nodes[at:] {
		if name, ok := strings.CutPrefix(n, "phase."); ok && !strings.Contains(name, ".step.") {
			return name
		}
	}
	return ""
}

// InForce reports whether a decision about a node of the plan stands.
func (r Row) InForce() bool { return r.Decided != nil && !r.Gone }

// At is the row of a node; a zero one if there is none.
func (rows Rows) At(node string) Row {
	for _, r := range rows {
		if r.Node == node {
			return r
		}
	}
	return Row{}
}

// InForce are the newest decisions that still stand, in the plan's order.
func (s *Summary) InForce() (all []ledger.Decided) {
	for _, r := range s.Rows {
		if r.InForce() {
			all = append(all, *r.Decided)
		}
	}
	return all
}

// Features are those of the plan, or of the newest run without it, in its order.
func (s *Summary) Features() (rows []Row) {
	if s.Plan == nil {
		return slices.DeleteFunc(slices.Clone(s.Rows), func(r Row) bool { return r.Feature == "" || r.Gone })
	}
	for _, f := range s.Plan.Features() {
		r := s.Rows.At("feature." + f.Name)
		if r.Gone {
			r = Row{}
		}
		r.Node, r.Feature, r.Phase, r.Planned = "feature."+f.Name, f.Name, f.Phase, f
		rows = append(rows, r)
	}
	return rows
}

// Word is what a decision came to in a word: a feature in the stack is accepted. A waiver is shown
// beside the verdict and never replaces it.
func Word(d *ledger.Decision, waived bool) string {
	word := string(d.Verdict)
	if inStack(d) {
		word = "accepted"
	}
	if waived {
		word += ", waived"
	}
	return word
}

// Word is what came of the node.
func (r Row) Word() string {
	switch {
	case r.Decided != nil:
		return Word(r.Decided.Decision, r.Overruled.State == Waived)
	case r.Locked.IsZero():
		return "not decided yet"
	}
	return LockedWord(r.Locked)
}

// LockedWord is the state of a node without an outcome.
func LockedWord(why verdict.Reason) string {
	if why.IsZero() || why.Kind == code.NotTargeted.Kind {
		return "not run"
	}
	return "locked"
}

// Status is Word with why a feature did not pass, or what it waits for.
func (r Row) Status() string {
	word, f := r.Word(), r.Planned
	if f == nil {
		f = &plans.Feature{}
	}
	switch {
	case r.Decided != nil:
		word += verdict.Behind(": ", r.Short())
	case len(f.BlockedBy) > 0:
		word = "blocked by " + strings.Join(f.BlockedBy, "; ")
	case !r.Locked.IsZero():
		word += ": " + r.Locked.String()
	case r.Planned != nil:
		word = "TODO"
	}
	return word + verdict.Behind("; superseded by ", f.SupersededBy)
}

// Waived is the State of what a waiver covers.
const Waived = "waived"

// Overruled is what people decided about an outcome.
type Overruled struct {
	Node    string          `json:"node"`
	Verdict verdict.Verdict `json:"verdict"`
	Attempt int             `json:"attempt"`
	// State is "waived", "waiver expired", "waiver revoked", or "waived before" (an earlier
	// decision); empty if there is no waiver.
	State string `json:"state"`
	// Reasons are who decided what about it, and why.
	Reasons []verdict.Reason `json:"reasons"`
}

// overruledOf is the effect of the newest waiver of its node on a decision.
func overruledOf(d *ledger.Decision, w *ledger.Waiver, now time.Time) Overruled {
	o := Overruled{Node: d.Node, Verdict: d.Verdict, Attempt: d.Attempt}
	bears := w.Effect(d, now)
	if bears.IsZero() {
		return o
	}
	switch {
	case w.Covers(d, now):
		o.State = Waived
	case w.Revoked:
		o.State = "waiver revoked"
	case !now.Before(w.Expires):
		o.State = "waiver expired"
	default:
		o.State = "waived before"
	}
	o.Reasons = []verdict.Reason{bears}
	return o
}

// Note is the state for a table whose sentence is elsewhere; empty if Word has it.
func (o Overruled) Note() string {
	if o.State == Waived {
		return ""
	}
	return o.State
}
