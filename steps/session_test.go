package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/steps/variant"
)

// TestInterleave: two arms go ABBA BAAB, any prefix is balanced to within one
// round, and a longer session begins as a shorter one did.
func TestInterleave(t *testing.T) {
	a, b, c := &variant.Variant{Name: "A"}, &variant.Variant{Name: "B"}, &variant.Variant{Name: "C"}
	for _, x := range []struct {
		arms   []*variant.Variant
		rounds int
		want   string
	}{
		{[]*variant.Variant{a, b}, 1, "AB"},
		{[]*variant.Variant{a, b}, 3, "ABBABA"},
		{[]*variant.Variant{a, b}, 8, "ABBABAABBAABABBA"},
		{[]*variant.Variant{a, b, c}, 3, "ABCCBACBA"},
		{[]*variant.Variant{a}, 2, "AA"},
		{nil, 3, ""},
	} {
		var got strings.Builder
		count := map[*variant.Variant]int{}
		for i, s := range interleave(x.arms, x.rounds) {
			got.WriteString(s.variant.Name)
			count[s.variant]++
			if s.order != i+1 || s.number != i+1 || s.ordinal != count[s.variant] {
				t.Errorf("%s slot %d: order %d, ordinal %d", x.want, i, s.order, s.ordinal)
			}
		}
		if got.String() != x.want {
			t.Errorf("%d rounds of %d arms: %s, want %s", x.rounds, len(x.arms), got.String(), x.want)
		}
	}
}
