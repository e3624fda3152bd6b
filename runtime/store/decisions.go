package store

import (
	"slices"
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// Decided is a decision and where it stands.
type Decided struct {
	*ledger.Decision
	// Record is its position in the ledger, from 0; Run who made it, and when.
	Record int       `json:"record"`
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
}

func (v *view) decided(at int) Decided {
	r := v.records[at]
	return Decided{Decision: r.Decision, Record: at, Run: r.Run, Time: r.Time}
}

// Latest is the newest decision about a node and the run that made it.
func (s *Store) Latest(node string) (d *ledger.Decision, run string, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := s.view.history[node]
	if len(h) == 0 {
		return nil, "", false
	}
	r := s.view.records[h[len(h)-1]]
	return r.Decision, r.Run, true
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
	var out []Decided
	for _, at := range s.view.history[node] {
		out = append(out, s.view.decided(at))
	}
	return out
}

// Decisions is the newest decision about each node, in the order in which they
// were made.
func (s *Store) Decisions() []Decided {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]Decided, 0, len(s.view.history))
	for _, h := range s.view.history {
		out = append(out, s.view.decided(h[len(h)-1]))
	}
	slices.SortFunc(out, func(a, b Decided) int { return a.Record - b.Record })
	return out
}
