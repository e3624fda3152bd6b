package steps

import (
	"slices"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// made is how many launches of each variant stand in nobody's place.
func (s *session) made() map[string]int {
	made := map[string]int{}
	for i, launch := range s.all {
		if !slices.ContainsFunc(s.all[:i], func(o *ledger.Launch) bool {
			return o.VariantKey == launch.VariantKey && o.Ordinal == launch.Ordinal
		}) {
			made[launch.VariantKey]++
		}
	}
	return made
}

// slots is how many those are of all variants.
func (s *session) slots() (n int) {
	for _, made := range s.made() {
		n += made
	}
	return n
}

// total is how many launches the session takes at most, with those of who dropped
// out or came before.
func (s *session) total() int {
	most := s.made()
	for _, m := range s.members {
		for _, v := range m.variants {
			want := m.Rounds
			if m.Open {
				want = m.Most
			}
			most[v.Key] = max(most[v.Key], want)
		}
	}
	n := 0
	for _, rounds := range most {
		n += rounds
	}
	return n
}
