package store

import "github.com/mxflow/mxflow/runtime/ledger"

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
	for _, at := range s.view.launches {
		if l := s.view.records[at].Launch; f.wants(l) {
			out = append(out, l)
		}
	}
	return out
}

// LaunchByID is the launch with this ID.
func (s *Store) LaunchByID(id string) (*ledger.Launch, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, ok := s.view.launchID[id]
	if !ok {
		return nil, false
	}
	return s.view.records[at].Launch, true
}
