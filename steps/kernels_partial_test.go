package steps

import (
	"testing"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/steps/variant"
)

// A log that begins in the middle proves what is in it, and nothing by what is
// not.
func TestPartialLogs(t *testing.T) {
	seen := map[string]logscan.Match{"*there*": {Count: 1, FirstLine: "it is there", LineNo: 3}}
	for _, c := range []struct {
		name      string
		must, not []string
		want      verdict.Verdict
		partial   bool
	}{
		{"seen", []string{"*there*"}, nil, verdict.Pass, false},
		{"not seen", []string{"*absent*"}, nil, verdict.Inconclusive, true},
		{"nothing against it", []string{"*there*"}, []string{"*absent*"}, verdict.Inconclusive, true},
		{"seen against it", []string{"*absent*"}, []string{"*there*"}, verdict.Fail, false},
		{"no evidence", nil, nil, verdict.Inconclusive, false},
	} {
		wanted := []variant.Evidence{{Knob: "knob", Value: "on", MustSee: c.must, MustNotSee: c.not}}
		v, reasons, err := judgeKernels(wanted, seen)
		if err != nil {
			t.Fatal(err)
		}
		v, reasons = judgePartial(code.LogBeganBefore, wanted, seen, v, reasons)
		if v != c.want || (reasons[0].Code == code.LogBeganBefore) != c.partial {
			t.Errorf("%s: %s %q, want %s", c.name, v, tell.Lines(reasons), c.want)
		}
	}
}
