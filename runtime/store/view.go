package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// view indexes the ledger for the queries that an apply makes all the time. It is built
// from the ledger alone and follows it record by record.
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

// Decided is a decision and its position.
type Decided struct {
	*ledger.Decision
	// Record is its position in the ledger, from 0; Run the run that made it, and Time
	// when.
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

// LaunchFilter selects launches. An empty field matches any.
type LaunchFilter struct {
	Session    string
	VariantKey string
	Purpose    string
	Node       string
	// OK selects successful launches only.
	OK bool
}

func (f LaunchFilter) wants(l *ledger.Launch) bool {
	return (f.Session == "" || f.Session == l.Session) &&
		(f.VariantKey == "" || f.VariantKey == l.VariantKey) &&
		(f.Purpose == "" || f.Purpose == l.Purpose) &&
		(f.Node == "" || f.Node == l.Node) &&
		(!f.OK || l.OK)
}

// Launches returns the launches that match the filter, oldest first.
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

// Waived is a waiver and its position.
type Waived struct {
	*ledger.Waiver
	// Record is its position in the ledger, from 0; Run the run whose decision it is
	// about, and Time when it was given.
	Record int       `json:"record"`
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
}

// Waiver is the newest waiver of a gate, including one that has expired or covers an
// earlier decision; nil if there is none.
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

// RunInfo is one run on a line.
type RunInfo struct {
	ID       string    `json:"id"`
	Started  time.Time `json:"started"`
	Plan     string    `json:"plan"`
	PlanFile string    `json:"plan_file"`
	// Done is false while the run continues, and forever if it was killed; the fields
	// after it are set if it is true.
	Done    bool            `json:"done"`
	Ended   time.Time       `json:"ended,omitzero"`
	Exit    int             `json:"exit"`
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Reason  verdict.Reason  `json:"reason,omitzero"`
}

// RunView is one run with everything it recorded, in order.
type RunView struct {
	RunInfo
	Start     *ledger.RunStart `json:"start"` // nil if the run never recorded its start
	End       *ledger.End      `json:"end"`   // nil unless Done
	Decisions []Decided        `json:"decisions"`
	Launches  []*ledger.Launch `json:"launches"`
	// Waivers are those of its decisions.
	Waivers []*ledger.Waiver `json:"waivers,omitempty"`
}

// Runs are all runs, oldest first.
func (s *Store) Runs() []RunInfo {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]RunInfo, 0, len(s.view.runs))
	for _, e := range s.view.runs {
		out = append(out, e.RunInfo)
	}
	return out
}

// Run is the run with this ID, the only one with this prefix, or the newest for "latest".
func (s *Store) Run(id string) (*RunView, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.view.find(id)
	if err != nil {
		return nil, fmt.Errorf("state directory %s: %w", s.dir, err)
	}
	run := *e
	run.Decisions, run.Launches, run.Waivers = slices.Clone(e.Decisions), slices.Clone(e.Launches), slices.Clone(e.Waivers)
	return &run, nil
}

func (v *view) find(id string) (*RunView, error) {
	if len(v.runs) == 0 {
		return nil, fmt.Errorf("no run is recorded here yet: run apply first")
	}
	if id == "latest" {
		return v.runs[len(v.runs)-1], nil
	}
	if e := v.runByID[id]; e != nil {
		return e, nil
	}
	var found []*RunView
	var names []string
	for _, e := range v.runs {
		if id != "" && strings.HasPrefix(e.ID, id) {
			found, names = append(found, e), append(names, e.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf(`no run ID starts with %q; the newest is %s, or "latest"`, id, v.runs[len(v.runs)-1].ID)
	default:
		return nil, fmt.Errorf("%q matches %d runs: %s; give more of the ID", id, len(found), strings.Join(names, ", "))
	}
}

// Journal is a run's access to the outcomes in a state directory.
type Journal struct{ store *Store }

// Journal is the state directory as a run sees it.
func (s *Store) Journal() Journal { return Journal{s} }

// Latest is the newest decision about a node, nil if there is none.
func (j Journal) Latest(node string) *ledger.Decision {
	d, _, ok := j.store.Latest(node)
	if !ok {
		return nil
	}
	return d
}

// History are all decisions about a node, oldest first.
func (j Journal) History(node string) (out []*ledger.Decision) {
	for _, d := range j.store.History(node) {
		out = append(out, d.Decision)
	}
	return out
}

// Retracted are the decisions by which people retracted a feature.
func (j Journal) Retracted() (out []*ledger.Decision) {
	for _, r := range j.store.Records() {
		if r.Decision.RetractedFeature() {
			out = append(out, r.Decision)
		}
	}
	return out
}

// Waiver is the standing waiver of a node, nil if there is none.
func (j Journal) Waiver(node string) *ledger.Waiver { return j.store.Waiver(node) }

// Append records.
func (j Journal) Append(records ...*ledger.Record) error { return j.store.Append(records...) }
