package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// Latest is the newest decision about a node and the run that made it.
func (s *Store) Latest(node string) (d *ledger.Decision, run string, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := s.index.History[node]
	if len(h) == 0 {
		return nil, "", false
	}
	last := h[len(h)-1]
	return last.Decision, last.Run, true
}

// History is every decision about a node, oldest first.
func (s *Store) History(node string) []ledger.Decided {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.index.History[node])
}

// Decisions is the newest decision about each node, in the order in which they
// were made. What a run aside decided counts for the nodes that an apply of the plan had too.
func (s *Store) Decisions() []ledger.Decided {
	s.mu.RLock()
	defer s.mu.RUnlock()
	planned := map[string]bool{}
	for _, r := range s.index.Runs {
		if r.Start != nil && !r.Aside {
			for _, node := range r.Start.Nodes {
				planned[node] = true
			}
		}
	}
	out := make([]ledger.Decided, 0, len(s.index.History))
	for node, h := range s.index.History {
		if last := h[len(h)-1]; !s.index.Aside(last.Run) || planned[node] {
			out = append(out, last)
		}
	}
	slices.SortFunc(out, func(a, b ledger.Decided) int { return a.Record - b.Record })
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

// Launches returns the launches that match the filter, oldest first.
func (s *Store) Launches(f LaunchFilter) []*ledger.Launch {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*ledger.Launch
	for _, l := range s.index.Launches {
		if (f.Session == "" || f.Session == l.Session) && (f.VariantKey == "" || f.VariantKey == l.VariantKey) &&
			(f.Purpose == "" || f.Purpose == l.Purpose) && (f.Node == "" || f.Node == l.Node) && (!f.OK || l.OK) {
			out = append(out, l)
		}
	}
	return out
}

func (s *Store) LaunchByID(id string) (*ledger.Launch, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, ok := s.index.ByID[id]
	return l, ok
}

// Waiver is the newest waiver of a gate, including one that has expired or covers an
// earlier decision; nil if there is none.
func (s *Store) Waiver(node string) *ledger.Waiver {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.Waivers[node]
}

// Waivers are all waivers, oldest first; never nil.
func (s *Store) Waivers() []ledger.Waived {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]ledger.Waived{}, s.index.Waived...)
}

// Nights are those of mxflow watch, oldest first.
func (s *Store) Nights() []ledger.Watched {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.index.Nights)
}

// Attempt is that decision about a node; nil if there is none.
func (s *Store) Attempt(node string, attempt int) *ledger.Decision {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.Attempt(node, attempt)
}

// Runs are the applies of the plan, oldest first, without runs aside.
func (s *Store) Runs() []ledger.RunInfo {
	return slices.DeleteFunc(s.AllRuns(), func(r ledger.RunInfo) bool { return r.Aside })
}

// Aside reports whether a run was none of the plan's own applies.
func (s *Store) Aside(run string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.Aside(run)
}

// AllRuns are all runs, those aside too, oldest first.
func (s *Store) AllRuns() []ledger.RunInfo {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]ledger.RunInfo, 0, len(s.index.Runs))
	for _, e := range s.index.Runs {
		out = append(out, e.RunInfo)
	}
	return out
}

// Run is the run with this ID, the only one with this prefix, or the plan's newest apply
// for "latest".
func (s *Store) Run(id string) (*ledger.RunView, error) {
	own := s.Runs()
	newest := ""
	if len(own) > 0 {
		newest = own[len(own)-1].ID
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	runs, found := s.index.Runs, []*ledger.RunView(nil)
	var names []string
	for _, r := range runs {
		if r.ID == id || id == "latest" && r.ID == newest {
			found = []*ledger.RunView{r}
			break
		}
		if id != "" && strings.HasPrefix(r.ID, id) {
			found, names = append(found, r), append(names, r.ID)
		}
	}
	switch {
	case len(found) == 0 && newest == "":
		return nil, fmt.Errorf("state directory %s: no apply is recorded here yet: %w", s.dir, ErrApplyFirst)
	case len(found) == 0:
		return nil, fmt.Errorf(`state directory %s: no run ID starts with %q; the newest is %s, or "latest"`,
			s.dir, id, newest)
	case len(found) > 1:
		return nil, fmt.Errorf("state directory %s: %q matches %d runs: %s; give more of the ID", s.dir, id, len(found),
			strings.Join(names, ", "))
	}
	run := *found[0]
	run.Decisions, run.Launches, run.Waivers = slices.Clone(run.Decisions), slices.Clone(run.Launches),
		slices.Clone(run.Waivers)
	return &run, nil
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

// Waiver is the standing waiver of a node, nil if there is none.
func (j Journal) Waiver(node string) *ledger.Waiver { return j.store.Waiver(node) }

func (j Journal) Append(records ...*ledger.Record) error { return j.store.Append(records...) }
