package verdict

import (
	"strings"
	"testing"
)

func TestLaunchesAndNames(t *testing.T) {
	for n, want := range map[int]string{0: "0 launches", 1: "1 launch", 12: "12 launches"} {
		if got := Launches(n); got != want {
			t.Errorf("%d: %q, wanted %q", n, got, want)
		}
	}
	for _, want := range []string{"", "a", "a and b", "a, b and c"} {
		names := strings.FieldsFunc(strings.ReplaceAll(want, " and ", ", "), func(r rune) bool { return r == ',' || r == ' ' })
		if got := And(names); got != want {
			t.Errorf("%q: %q, wanted %q", names, got, want)
		}
	}
}
