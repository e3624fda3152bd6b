package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// RunInfo is one run in a line.
type RunInfo struct {
	ID       string    `json:"id"`
	Started  time.Time `json:"started"`
	Plan     string    `json:"plan"`
	PlanFile string    `json:"plan_file"`
	// Done is false while the run goes on, and for ever if it was killed; what
	// follows is set when it is true.
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

// Run is the run with this ID, with the only ID that begins so, or the newest
// one when asked for "latest".
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
		return nil, fmt.Errorf("no run was recorded here yet: run apply first")
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
		return nil, fmt.Errorf(`no run has an id that begins with %q; the newest is %s, and "latest" names it too`, id, v.runs[len(v.runs)-1].ID)
	default:
		return nil, fmt.Errorf("%q begins the ids of %d runs: %s; give more of it", id, len(found), strings.Join(names, ", "))
	}
}
