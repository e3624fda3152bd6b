package measure

import (
	"strings"
	"testing"
)

// A count that cannot be has no metrics: each token would be kept with its time.
func TestCountsThatCannotBe(t *testing.T) {
	for _, c := range []struct{ asked, claimed int }{{8, 2_000_000_000}, {8, 16*8 + 1025}, {0, 2_000_000_000}} {
		s := sample(32, c.claimed, text(10, 1), text(20, c.claimed), done(21))
		s.RequestedOutput = c.asked
		if v, err := Derive(s); err == nil || !strings.Contains(err.Error(), "event 1 claims") {
			t.Errorf("%d asked, %d claimed: %d metrics, %v", c.asked, c.claimed, len(v), err)
		}
	}
	s := sample(32, 16, text(10, 1), text(20, 16), done(21))
	s.RequestedOutput = 8
	if _, err := Derive(s); err != nil {
		t.Errorf("twice as many as asked for: %v", err)
	}
}
