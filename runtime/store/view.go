package store

import "github.com/mxflow/mxflow/runtime/ledger"

// view is what the ledger says, arranged for the questions that an apply asks
// all the time. It holds positions of records, is made from the ledger alone
// and follows it record by record.
type view struct {
	records  []*ledger.Record
	history  map[string][]int // node → its decisions, oldest first
	launches []int
	launchID map[string]int
	waivers  map[string][]int // node → its waivers, oldest first
	waived   []int            // all waivers
	runs     []*runEntry      // in order of their first record
	runByID  map[string]*runEntry
}

type runEntry struct {
	id                  string
	start, end          int // -1 where there is none
	decisions, launches []int
	waivers             []int
}

func newView() *view {
	return &view{history: map[string][]int{}, waivers: map[string][]int{}, launchID: map[string]int{}, runByID: map[string]*runEntry{}}
}

// add takes in the next record.
func (v *view) add(r *ledger.Record) {
	at := len(v.records)
	v.records = append(v.records, r)
	run := v.runByID[r.Run]
	if run == nil {
		run = &runEntry{id: r.Run, start: -1, end: -1}
		v.runByID[r.Run] = run
		v.runs = append(v.runs, run)
	}
	switch {
	case r.RunStart != nil:
		run.start = at
	case r.End != nil:
		run.end = at
	case r.Launch != nil:
		run.launches = append(run.launches, at)
		v.launches = append(v.launches, at)
		v.launchID[r.Launch.ID] = at
	case r.Decision != nil:
		run.decisions = append(run.decisions, at)
		v.history[r.Decision.Node] = append(v.history[r.Decision.Node], at)
	case r.Waiver != nil:
		run.waivers = append(run.waivers, at)
		v.waived = append(v.waived, at)
		v.waivers[r.Waiver.Node] = append(v.waivers[r.Waiver.Node], at)
	}
}
