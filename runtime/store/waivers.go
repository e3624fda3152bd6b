package store

import (
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
)

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
	of := s.view.waivers[node]
	if len(of) == 0 {
		return nil
	}
	return s.view.records[of[len(of)-1]].Waiver
}

// Waivers are all waivers, oldest first; never nil.
func (s *Store) Waivers() []Waived {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := []Waived{}
	for _, at := range s.view.waived {
		r := s.view.records[at]
		out = append(out, Waived{Waiver: r.Waiver, Record: at, Run: r.Run, Time: r.Time})
	}
	return out
}
