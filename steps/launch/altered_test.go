package launch

import (
	"errors"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// TestAltered: no launch is made where engines would inherit something else than before.
func TestAltered(t *testing.T) {
	differs := func(name, was, is string) verdict.Reason {
		return verdict.New(code.SideDiffers, verdict.Text("was", was), verdict.Text("is", is)).On(name)
	}
	for name, tc := range map[string]struct {
		began, now map[string]string
		want       []verdict.Reason
	}{
		"nothing to hold against":          {nil, map[string]string{"nice": "19"}, nil},
		"bound and lowered from the start": {map[string]string{"cpus": "0", "nice": "5"}, map[string]string{"cpus": "0", "nice": "5"}, nil},
		"two are others": {
			map[string]string{"cpus": "0-1", "nice": "0", "policy": "other"},
			map[string]string{"cpus": "0", "nice": "0 | 19", "policy": "other"},
			[]verdict.Reason{differs("cpus", "0-1", "0"), differs("nice", "0", "0 | 19")},
		},
		"one is not known any more": {map[string]string{"nice": "0"}, map[string]string{}, []verdict.Reason{differs("nice", "0", "")}},
		"one was not known":         {map[string]string{}, map[string]string{"nice": "0"}, []verdict.Reason{differs("nice", "", "0")}},
	} {
		err := (&Lab{Inherited: tc.began}).altered(tc.now)
		fault, broke := errors.AsType[*verdict.Fault](err)
		if broke != (tc.want != nil) || broke && !fault.Reason.Equal(verdict.Say("launch.altered",
			"mxflow itself was changed during the run, and engines inherit that ({causes}): further launches "+
				"would not be comparable. Find out what changed it (an engine may have), then apply again from a new "+
				"shell").From(tc.want...)) {
			t.Errorf("%s: %+v, want %+v", name, fault, tc.want)
		}
	}
}
