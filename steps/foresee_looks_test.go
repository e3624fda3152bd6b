package steps

import (
	"strings"
	"testing"
)

// Launches that never differed resolve no more than rounding lets them.
func TestResolution(t *testing.T) {
	resolves := func(launches int) float64 { return 0.08 / float64(launches) }
	if got := resolution(0.005, 0.006, 4, 8, resolves); got != "4 launches an arm resolve 2 %, 8 resolve 1 % (launches differ by 0.5 %, up to 0.6 %)" {
		t.Error(got)
	}
	if got := resolution(0, 0, 4, 8, func(int) float64 { return 0 }); strings.Contains(got, "0 %") || !strings.Contains(got, "rounding") {
		t.Error(got)
	}
}

func TestShare(t *testing.T) {
	for want, x := range map[string]float64{"0.5 %": 0.005, "2.7 %": 0.0272, "99 %": 0.99, "100 %": 1, "290 %": 2.9, "44000 %": 440, "1e+10 %": 1e8} {
		if got := share(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}
