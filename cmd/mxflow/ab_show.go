package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// abShow shows a comparison: the question before, the answer after the run.
type abShow struct {
	*app
	q     *ab
	at    abPlace
	began time.Time
}

func (s *abShow) begin() {
	fmt.Fprintf(s.stdout, "A  %s\nB  %s\n", oneLine(s.q.arms[0].Text), oneLine(s.q.arms[1].Text))
	fmt.Fprintf(s.stdout, "claim: B %s\n", s.q.claim.says(s.q.label()))
	fmt.Fprintln(s.stdout)
}

// end shows how it came out, in the place of the table of an apply.
func (s *abShow) end(st *store.Store, run string, sum runtime.Summary, end *ledger.End) {
	r := s.q.result(st, sum, end, s.at)
	r.Run = run
	r.conclude(s.q, end)
	if s.json {
		s.printLine(r)
		return
	}
	s.print(r, time.Since(s.began))
}

// rewordAB says events as one who has no plan understands them.
func rewordAB(ev runtime.Event) runtime.Event {
	ev.Variant, ev.Why = armName(ev.Variant), abReason(ev.Why, nil)
	ev.Phase, ev.Feature = "", ""
	switch ev.Type {
	case "node_done", "node_locked", "node_started":
		ev.Type = "" // the result says it
	}
	ev.Node = "ab"
	return ev
}

// armName is A where a plan has the baseline.
func armName(variant string) string {
	if variant == ledger.Baseline {
		return "A"
	}
	return variant
}

// globSees reports whether a line is one of those that a glob means.
func globSees(glob, line string) bool {
	g, err := logscan.ParseGlob(glob)
	return err == nil && g.Match(line)
}

// recordWords are where everything is kept and how to go on from it.
func (s *abShow) recordWords() [][2]string {
	by := s.at.plan
	if s.at.state != filepath.Join(s.at.folder, stateName) {
		by += " --state " + s.at.state
	}
	rows := [][2]string{{"record", s.at.state}, {"every launch", "mxflow show latest " + by}, {"step by step", "mxflow explain feature.B " + by}, {"intact", "mxflow audit verify " + by}}
	if s.q.writePlan != "" {
		rows = append(rows, [2]string{"the plan", fmt.Sprintf("%s; mxflow apply --state %s %s takes over these launches", s.q.writePlan, s.at.state, s.q.writePlan)})
	}
	return rows
}
