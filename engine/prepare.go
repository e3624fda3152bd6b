package engine

import (
	"github.com/mxflow/mxflow/engine/kinds"
)

// Prepare fills in what the kind says where the Spec is silent, and returns the
// kind with the plan's changes to it. Every launcher calls it first.
func (s *Spec) Prepare() (kinds.Kind, *Failure) {
	kind, ok := kinds.Lookup(s.Kind)
	if s.Profile != nil {
		kind, ok = *s.Profile, true
	}
	if !ok {
		return kind, StartFailure(nil, "unknown engine kind %q; known are %s", s.Kind, kinds.Names())
	}
	if s.ReadyTimeout <= 0 {
		s.ReadyTimeout = kind.DefaultReadyTimeout
	}
	if s.StopGrace <= 0 {
		s.StopGrace = kind.DefaultStopGrace
	}
	return kind, nil
}
