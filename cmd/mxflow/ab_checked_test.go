package main

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// TestTestWords: what was not screened is not called so, and a chance of nothing is
// not printed as one of 0 %.
func TestTestWords(t *testing.T) {
	for name, c := range map[string]struct {
		stop   verdict.Stop
		n      int
		chance float64
		want   string
	}{
		"screened":     {verdict.StopScreen, 1, 0, "screened: one launch of each"},
		"not screened": {verdict.StopEnd, 1, 0, "none: one launch of each"},
		"futile":       {verdict.StopFutile, 4, 0.032, "more launches would have told with a chance of 3.2 %, so it stopped"},
		"hopeless":     {verdict.StopFutile, 4, 1e-9, "more launches would hardly have told (in less than 0.1 % of cases), so it stopped"},
	} {
		got := testWords(&verdict.Test{Form: verdict.Ratio, Stop: c.stop, Looks: []verdict.Look{{N: c.n, Chance: c.chance}}})
		if !strings.Contains(got, c.want) || strings.Contains(got, "of 0 %") || strings.Contains(got, "screened") != (c.stop == verdict.StopScreen) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestPortDiffers: that one of two scripts is told its port by a variable is not what
// is compared.
func TestPortDiffers(t *testing.T) {
	q := &ab{}
	q.shape.Own[0].Env = map[string]string{"KERNEL": "marlin"}
	q.shape.Own[1].Env = map[string]string{"KERNEL": "gemm", "PORT": "{port}"}
	r := &abResult{}
	r.differences(q)
	for _, d := range r.Differs {
		want := map[string]string{"KERNEL": "yes: it is what is compared", "PORT": "yes: it says where one listens"}[d.What]
		if want == "" || d.Intended != want {
			t.Errorf("%+v", d)
		}
	}
	if len(r.Differs) != 2 {
		t.Errorf("%+v", r.Differs)
	}
}
