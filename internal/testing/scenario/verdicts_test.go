package scenario

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestMergedVerdicts: what differs between two runs is free, and nothing else is.
func TestMergedVerdicts(t *testing.T) {
	words := strings.Fields
	a := words("fail ( rule on=x is=fail ( below value=3.2 threshold=4 ) )")
	for _, tt := range []struct {
		b, merged string
		match, no []string
	}{
		{
			"fail ( rule on=x is=fail ( below value=3.3 threshold=4 ) )",
			"fail ( rule on=x is=fail ( below value=* threshold=4 ) )",
			[]string{"fail ( rule on=x is=fail ( below value=9 threshold=4 ) )"},
			[]string{
				"pass ( rule on=x is=fail ( below value=9 threshold=4 ) )",
				"fail ( rule on=x is=fail ( below value=9 threshold=5 ) )",
				"fail ( rule on=x is=fail ( below value=9 threshold=4 ) ) more", "fail", "",
			},
		},
		{
			"fail ( rule on=x is=fail ( noise ) )", "fail ( rule on=x is=fail ( …",
			[]string{"fail ( rule on=x is=fail ( other ) )"},
			[]string{"fail ( rule on=y is=fail ( other ) )"},
		},
	} {
		got := merge(a, words(tt.b))
		must.Equal(t, got, strings.Join(got, " "), tt.merged)
		for _, m := range append(tt.match, tt.b, strings.Join(a, " ")) {
			if !sameFacts(got, words(m)) {
				t.Errorf("%v does not match %s", got, m)
			}
		}
		for _, m := range tt.no {
			if sameFacts(got, words(m)) {
				t.Errorf("%v matches %s", got, m)
			}
		}
	}
}
