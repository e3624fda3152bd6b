package ledger

import (
	"fmt"
	"testing"
)

// What is made again keeps its number, also where others were launched meanwhile.
func TestNumbers(t *testing.T) {
	launch := func(id, variant string, ordinal, order int) *Launch {
		return &Launch{ID: id, VariantKey: variant, Ordinal: ordinal, Order: order}
	}
	for _, c := range []struct {
		launches []*Launch
		want     string
	}{
		{nil, "map[]"},
		{[]*Launch{launch("a1", "a", 1, 1), launch("b1", "b", 1, 2), launch("b2", "b", 2, 3), launch("a2", "a", 2, 4)}, "map[a1:1 a2:4 b1:2 b2:3]"},
		{[]*Launch{launch("a1", "a", 1, 1), launch("b1", "b", 1, 2), launch("b1r1", "b", 1, 3), launch("b1r2", "b", 1, 4), launch("b2", "b", 2, 5)}, "map[a1:1 b1:2 b1r1:2 b1r2:2 b2:3]"},
		{[]*Launch{launch("b1r1", "b", 1, 4), launch("c1", "c", 1, 3), launch("b1", "b", 1, 2), launch("a1", "a", 1, 1)}, "map[a1:1 b1:2 b1r1:2 c1:3]"},
	} {
		if got := fmt.Sprint(Numbers(c.launches)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
