package steps

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans"
)

// A client that the machine woke late was disturbed, and the launch may be made
// again; where anything else is wrong too, another launch would not help.
func TestDisturbed(t *testing.T) {
	late := measure.Series{Name: measure.ClientDelay}
	for i := range 10 {
		late.At = append(late.At, time.Duration(i)*time.Second)
		late.Value = append(late.Value, 500) // ms
	}
	for _, c := range []struct {
		name   string
		delay  measure.Series
		pieces int
		want   bool
	}{
		{"woken late", late, 0, true},
		{"and answers in one piece", late, 20, false},
		{"answers in one piece alone", measure.Series{}, 20, false},
		{"nothing wrong", measure.Series{}, 0, false},
	} {
		r := &recording{taken: &Taken{}}
		r.sent = []sentCell{{
			w: &plans.Workload{Coherence: "off", MaxLag: 100 * time.Millisecond}, cell: plans.Cell{Address: "chat", Concurrency: 1},
			run: measure.CellRun{Cell: "chat", To: time.Minute}, delay: c.delay, samples: inOnePiece(20, c.pieces),
		}}
		r.judge()
		if r.taken.Disturbed != c.want || (len(r.taken.Invalid) == 0) != (c.name == "nothing wrong") {
			t.Errorf("%s: disturbed %v, invalid %q", c.name, r.taken.Disturbed, tell.Lines(r.taken.Invalid))
		}
	}
}
