package view

import (
	"errors"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// How the last run ended is a sentence, whatever ended it.
func TestWork(t *testing.T) {
	for want, last := range map[string]store.RunInfo{
		"last run r1 finished, exit status 4":                              {ID: "r1", Exit: 4, Reason: verdict.New(code.Finished)},
		"last run r1 interrupted, exit status 130":                         {ID: "r1", Exit: 130, Reason: verdict.New(code.Interrupted)},
		"last run r1 stopped, exit status 4: cannot record: no space left": {ID: "r1", Exit: 4, Reason: verdict.OfError(errors.New("cannot record: no space left"))},
		"last run r1 did not finish (killed?), exit status -1":             {ID: "r1", Exit: -1, Reason: verdict.Say("abandoned", "did not finish (killed?)")},
	} {
		if got := Work(report.Work{}, last); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
