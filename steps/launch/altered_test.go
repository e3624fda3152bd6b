package launch

import (
	"errors"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// TestAltered: no launch is made where engines would inherit something else than the first did.
func TestAltered(t *testing.T) {
	began := map[string]string{"cpus": "0-1", "priority": "nice 5"}
	for name, tc := range map[string]struct {
		now  map[string]string
		want string
	}{
		"as from the start":   {began, ""},
		"another thread":      {map[string]string{"cpus": "0-1", "priority": "idle, nice 5 | nice 5"}, "priority was nice 5, is idle, nice 5 | nice 5"},
		"it is not known":     {map[string]string{"cpus": "0-1"}, "priority was nice 5, is unknown"},
		"more than was known": {map[string]string{"cpus": "0-1", "priority": "nice 5", "timer slack": "50000 ns"}, "timer slack was unknown, is 50000 ns"},
		"two that are others": {map[string]string{"cpus": "0", "priority": "normal"}, "cpus was 0-1, is 0; priority was nice 5, is normal"},
	} {
		err := differs(began, tc.now)
		fault, broke := errors.AsType[*verdict.Fault](err)
		switch {
		case broke != (tc.want != ""):
			t.Errorf("%s: %v", name, err)
		case broke && (fault.Reason.Kind != code.Altered.Kind || verdict.Semicolons(fault.Reason.Causes) != tc.want):
			t.Errorf("%s: %s", name, verdict.Semicolons(fault.Reason.Causes))
		}
	}
}
