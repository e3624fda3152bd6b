package steps

import "github.com/mxflow/mxflow/runtime/ledger"

// crashed reports whether the engine ended a launch by itself, also before it was
// ready.
func crashed(l *ledger.Launch) bool { return !l.OK && l.Exit != nil }

// crashes is how often a variant crashed since its last launch that counts, in any
// slot. What is launched after that must not make them forgotten.
func (s *session) crashes(v *variant) (n int) {
	for _, launch := range s.all {
		switch {
		case launch.VariantKey != v.key:
		case sound(launch):
			n = 0
		case crashed(launch):
			n++
		}
	}
	return n
}

// died keeps that a launch broke: the nodes of other candidates in the session do
// not try it again behind the back of whoever has to hear of it. The next apply does.
func (s *session) died(launch *ledger.Launch) {
	if s.lab.died == nil {
		s.lab.died = map[string]*ledger.Launch{}
	}
	s.lab.died[s.id+launch.VariantKey] = launch
}

// dropDead leaves out members whose candidate broke earlier in this apply.
func (s *session) dropDead() {
	for _, m := range s.members {
		if l := s.lab.died[s.id+m.arms.candidate.key]; l != nil {
			m.broken, m.open = l, false
		}
	}
}
