package engine

// Prepare fills in what the kind says where the Spec is silent, and returns the
// kind with the plan's changes to it. Every launcher calls it first.
func (s *Spec) Prepare() (Kind, *Failure) {
	kind, ok := LookupKind(s.Kind)
	if s.Profile != nil {
		kind, ok = *s.Profile, true
	}
	if !ok {
		return kind, startFailure(nil, "unknown engine kind %q; known are %s", s.Kind, kindNames())
	}
	if s.ReadyTimeout <= 0 {
		s.ReadyTimeout = kind.DefaultReadyTimeout
	}
	if s.StopGrace <= 0 {
		s.StopGrace = kind.DefaultStopGrace
	}
	return kind, nil
}
