package store

import (
	"slices"
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// view is what the ledger says, arranged for the questions that an apply asks
// all the time. It is made from the ledger alone and follows it record by record.
type view struct {
	records  []*ledger.Record
	history  map[string][]Decided // by node, oldest first
	launches []*ledger.Launch
	byID     map[string]*ledger.Launch
	runOf    map[string]string // of a launch, by its ID
	waived   []Waived
	waivers  map[string]*ledger.Waiver // the newest by node
	runs     []*RunView                // in order of their first record
	runByID  map[string]*RunView
}

func newView() *view {
	return &view{history: map[string][]Decided{}, byID: map[string]*ledger.Launch{}, runOf: map[string]string{}, waivers: map[string]*ledger.Waiver{}, runByID: map[string]*RunView{}}
}

// add takes in the next record.
func (v *view) add(r *ledger.Record) {
	at := len(v.records)
	v.records = append(v.records, r)
	run := v.runByID[r.Run]
	if run == nil {
		run = &RunView{RunInfo: RunInfo{ID: r.Run}}
		v.runByID[r.Run] = run
		v.runs = append(v.runs, run)
	}
	switch {
	case r.RunStart != nil:
		run.Start, run.Started, run.Plan, run.PlanFile = r.RunStart, r.Time, r.RunStart.Plan, r.RunStart.PlanFile
	case r.End != nil:
		run.End, run.Done, run.Ended = r.End, true, r.Time
		run.Exit, run.Verdict, run.Reason = r.End.Exit, r.End.Verdict, r.End.Reason
	case r.Launch != nil:
		run.Launches = append(run.Launches, r.Launch)
		v.launches = append(v.launches, r.Launch)
		v.byID[r.Launch.ID], v.runOf[r.Launch.ID] = r.Launch, r.Run
	case r.Decision != nil:
		d := Decided{Decision: r.Decision, Record: at, Run: r.Run, Time: r.Time}
		run.Decisions = append(run.Decisions, d)
		v.history[r.Decision.Node] = append(v.history[r.Decision.Node], d)
	case r.Waiver != nil:
		run.Waivers = append(run.Waivers, r.Waiver)
		v.waived = append(v.waived, Waived{Waiver: r.Waiver, Record: at, Run: r.Run, Time: r.Time})
		v.waivers[r.Waiver.Node] = r.Waiver
	}
}

// Decided is a decision and where it stands.
type Decided struct {
	*ledger.Decision
	// Record is its position in the ledger, from 0; Run who made it, and when.
	Record int       `json:"record"`
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
}

// Latest is the newest decision about a node and the run that made it.
func (s *Store) Latest(node string) (d *ledger.Decision, run string, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := s.view.history[node]
	if len(h) == 0 {
		return nil, "", false
	}
	last := h[len(h)-1]
	return last.Decision, last.Run, true
}

// Attempts is the number of the newest attempt at a node, 0 before the first.
func (s *Store) Attempts(node string) int {
	if d, _, ok := s.Latest(node); ok {
		return d.Attempt
	}
	return 0
}

// History is every decision about a node, oldest first.
func (s *Store) History(node string) []Decided {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.view.history[node])
}

// Decisions is the newest decision about each node, in the order in which they
// were made.
func (s *Store) Decisions() []Decided {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]Decided, 0, len(s.view.history))
	for _, h := range s.view.history {
		out = append(out, h[len(h)-1])
	}
	slices.SortFunc(out, func(a, b Decided) int { return a.Record - b.Record })
	return out
}

// LaunchFilter says which launches are wanted. An empty field wants any.
type LaunchFilter struct {
	Session    string
	VariantKey string
	Purpose    string
	Node       string
	// OK wants only launches that went well.
	OK bool
}

func (f LaunchFilter) wants(l *ledger.Launch) bool {
	return (f.Session == "" || f.Session == l.Session) &&
		(f.VariantKey == "" || f.VariantKey == l.VariantKey) &&
		(f.Purpose == "" || f.Purpose == l.Purpose) &&
		(f.Node == "" || f.Node == l.Node) &&
		(!f.OK || l.OK)
}

// Launches are the launches that the filter wants, oldest first.
func (s *Store) Launches(f LaunchFilter) []*ledger.Launch {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*ledger.Launch
	for _, l := range s.view.launches {
		if f.wants(l) {
			out = append(out, l)
		}
	}
	return out
}

// LaunchByID is the launch with this ID.
func (s *Store) LaunchByID(id string) (*ledger.Launch, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, ok := s.view.byID[id]
	return l, ok
}

// Waived is a waiver and where it stands.
type Waived struct {
	*ledger.Waiver
	// Record is its position in the ledger, from 0; Run the run whose decision it
	// is of, and Time when it was given.
	Record int       `json:"record"`
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
}

// Waiver is the newest waiver of a gate, also one that has expired or covers an
// earlier decision; nil when there is none.
func (s *Store) Waiver(node string) *ledger.Waiver {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.waivers[node]
}

// Waivers are all waivers, oldest first; never nil.
func (s *Store) Waivers() []Waived {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]Waived{}, s.view.waived...)
}
