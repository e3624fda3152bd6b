package ledger

import "testing"

// TestDraws: whoever has the run's commitment can tell each draw from any other, and
// no draw twice.
func TestDraws(t *testing.T) {
	draws, committed := NewDraws()
	_, other := NewDraws()
	seen := map[string]bool{}
	for step := 1; step <= 5; step++ {
		d := draws.Next()
		if d.Step != step || !d.Committed(committed) || d.Committed(other) || seen[d.Seed] {
			t.Errorf("draw %d: %+v", step, d)
		}
		seen[d.Seed] = true
		if d.Step++; d.Committed(committed) {
			t.Errorf("draw %d counts as another", step)
		}
	}
	for _, bad := range []Draw{{}, {Seed: committed}, {Seed: committed, Step: -1}, {Seed: committed, Step: maxDraws + 1}} {
		if bad.Committed(committed) {
			t.Errorf("%+v", bad)
		}
	}
	if d := (*Draws)(nil).Next(); d != (Draw{}) {
		t.Errorf("%+v", d)
	}
}
