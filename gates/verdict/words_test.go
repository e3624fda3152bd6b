package verdict

import (
	"strings"
	"testing"
)

func TestAnd(t *testing.T) {
	for _, want := range []string{"", "a", "a and b", "a, b and c"} {
		names := strings.FieldsFunc(strings.ReplaceAll(want, " and ", ", "), func(r rune) bool { return r == ',' || r == ' ' })
		if got := And(names); got != want {
			t.Errorf("%q: %q, wanted %q", names, got, want)
		}
	}
}
