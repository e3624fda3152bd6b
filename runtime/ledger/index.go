package ledger

import (
	"fmt"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Index holds the records of a ledger by node, launch and run, for those who decide and
// report, and for the ledger, which checks each record against those before it. It
// follows from the records alone, and must not be changed by others.
type Index struct {
	Records  []*Record
	History  map[string][]Decided // by node, oldest first
	Launches []*Launch
	ByID     map[string]*Launch
	RunOf    map[string]string // of a launch, by its ID
	Waived   []Waived
	Waivers  map[string]*Waiver // the newest by node
	Runs     []*RunView         // in order of their first record
	Nights   []Watched
	runs     map[string]*RunView
	drawn    map[string]*revealedDraws // of each run
}

type Decided struct {
	*Decision
	// Record is its position in the ledger, from 0; Run the run that made it, and Time
	// when.
	Record int       `json:"record"`
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
}

type Waived struct {
	*Waiver
	// Record is its position in the ledger, from 0; Run the run whose decision it is
	// about, and Time when it was given.
	Record int       `json:"record"`
	Run    string    `json:"run"`
	Time   time.Time `json:"time"`
}

type RunInfo struct {
	ID       string    `json:"id"`
	Started  time.Time `json:"started"`
	Plan     string    `json:"plan"`
	PlanFile string    `json:"plan_file"`
	Aside    bool      `json:"aside,omitempty"`
	// Done is false while the run continues, and forever if it was killed; the fields
	// after it are set if it is true.
	Done    bool            `json:"done"`
	Ended   time.Time       `json:"ended,omitzero"`
	Exit    int             `json:"exit"`
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Reason  verdict.Reason  `json:"reason,omitzero"`
}

// RunView is one run with everything it recorded, in order.
type RunView struct {
	RunInfo
	Start     *RunStart `json:"start"` // nil if the run never recorded its start
	End       *End      `json:"end"`   // nil unless Done
	Decisions []Decided `json:"decisions"`
	Launches  []*Launch `json:"launches"`
	Waivers   []*Waiver `json:"waivers,omitempty"`
}

// newIndex is the index of records that were checked before.
func newIndex(records ...*Record) (*Index, error) {
	x := &Index{
		History: map[string][]Decided{}, ByID: map[string]*Launch{}, RunOf: map[string]string{},
		Waivers: map[string]*Waiver{}, runs: map[string]*RunView{}, drawn: map[string]*revealedDraws{},
	}
	for _, r := range records {
		if err := x.add(r); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// add checks a record by itself and against those before it, and takes it in.
func (x *Index) add(r *Record) error {
	if err := r.check(); err != nil {
		return err
	}
	run := x.runs[r.Run]
	switch {
	case r.RunStart != nil && run != nil && run.Start != nil:
		return fmt.Errorf("starts run %s a second time", r.Run)
	case r.End != nil && run != nil && run.Done:
		return fmt.Errorf("ends run %s a second time", r.Run)
	case r.Start != nil && x.ByID[r.Start.Launch] != nil:
		return fmt.Errorf("starts launch %s after its end", r.Start.Launch)
	case r.Launch != nil && x.ByID[r.Launch.ID] != nil:
		return fmt.Errorf("reuses launch ID %s", r.Launch.ID)
	case r.Launch != nil && r.Launch.Draw != Draw{} && !x.drawn[r.Run].take(r.Launch.Draw):
		return fmt.Errorf("has a launch whose texts were drawn from a seed that run %s did not commit to", r.Run)
	case r.Waiver != nil:
		if err := r.Waiver.follows(x); err != nil {
			return err
		}
	case r.Night != nil:
		if err := r.Night.follows(x); err != nil {
			return err
		}
	case r.Decision != nil:
		d, last := r.Decision, x.Newest(r.Decision.Node)
		if last != nil && d.Attempt <= last.Attempt {
			return fmt.Errorf("is attempt %d of %s after attempt %d: attempts must increase", d.Attempt,
				d.Node, last.Attempt)
		}
	}
	if run == nil {
		run = &RunView{RunInfo: RunInfo{ID: r.Run}}
		x.Runs, x.runs[r.Run] = append(x.Runs, run), run
	}
	switch at := len(x.Records); {
	case r.RunStart != nil:
		run.Start, run.Started, run.Plan, run.PlanFile = r.RunStart, r.Time, r.RunStart.Plan, r.RunStart.PlanFile
		run.Aside = r.RunStart.Aside
		x.drawn[r.Run] = &revealedDraws{last: Draw{Seed: r.RunStart.Draws}, open: map[int]bool{}}
	case r.End != nil:
		run.End, run.Done, run.Ended = r.End, true, r.Time
		run.Exit, run.Verdict, run.Reason = r.End.Exit, r.End.Verdict, r.End.Reason
	case r.Launch != nil:
		run.Launches, x.Launches = append(run.Launches, r.Launch), append(x.Launches, r.Launch)
		x.ByID[r.Launch.ID], x.RunOf[r.Launch.ID] = r.Launch, r.Run
	case r.Decision != nil:
		d := Decided{Decision: r.Decision, Record: at, Run: r.Run, Time: r.Time}
		run.Decisions, x.History[d.Node] = append(run.Decisions, d), append(x.History[d.Node], d)
	case r.Waiver != nil:
		run.Waivers = append(run.Waivers, r.Waiver)
		x.Waived = append(x.Waived, Waived{Waiver: r.Waiver, Record: at, Run: r.Run, Time: r.Time})
		x.Waivers[r.Waiver.Node] = r.Waiver
	case r.Night != nil:
		x.Nights = append(x.Nights, Watched{Night: r.Night, Record: at, Run: r.Run, Time: r.Time})
	}
	x.Records = append(x.Records, r)
	return nil
}

// Aside reports whether a run was none of the plan's own applies.
func (x *Index) Aside(run string) bool { return x.runs[run] != nil && x.runs[run].Aside }

// Attempt is that decision about a node; nil if there is none.
func (x *Index) Attempt(node string, attempt int) *Decision {
	for _, d := range x.History[node] {
		if d.Attempt == attempt {
			return d.Decision
		}
	}
	return nil
}

// Newest is the newest decision about a node; nil if there is none.
func (x *Index) Newest(node string) *Decision {
	if h := x.History[node]; len(h) > 0 {
		return h[len(h)-1].Decision
	}
	return nil
}
