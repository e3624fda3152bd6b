package report

import (
	"time"

	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/store"
)

// The states of the newest run.
const (
	UnderWay = "under way"
	Ended    = "ended"
	// Killed: it has no end on record, and no process is left to record one.
	Killed = "killed"
	// Unknown: it has no end on record, and whether a process is running it cannot be
	// determined here.
	Unknown = "unknown"
	None    = "none"
)

// Work is who is working on a state directory, and the state of the newest run.
type Work struct {
	Run   string `json:"run"`
	State string `json:"state"`
	// Holder is who holds the lock: an apply, or a person's recorded decision in
	// progress; nil if nobody does, or has not identified itself.
	Holder *Holder `json:"at_work,omitempty"`
	Held   bool    `json:"-"`
}

// Holder omits the command line, which may contain private data.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
}

// WorkOn tells a run in progress from one that was killed: only a live process holds the
// lock, and it records there the run it is working on. No clock is used, as it may be set
// back at any time.
func WorkOn(st *store.Store) Work {
	runs := st.Runs()
	if len(runs) == 0 {
		return Work{State: None}
	}
	last := runs[len(runs)-1]
	w := Work{Run: last.ID, State: Ended}
	held, by, err := store.AtWork(st.Dir())
	if w.Held = held; by != nil {
		w.Holder = &Holder{by.PID, by.Host, by.Started}
	}
	switch {
	case last.Done:
	case err != nil, held && by == nil:
		w.State = Unknown
	case held && by.Run == last.ID:
		w.State = UnderWay
	default:
		w.State = Killed
	}
	return w
}

// Unfinished is why the newest run did not end normally, whatever was decided before; empty if it did.
func (s *Summary) Unfinished() string {
	switch WorkOn(s.Store).State {
	case UnderWay:
		return "is under way"
	case Killed:
		return "did not finish (killed?): the same command resumes it"
	case Unknown:
		return "is under way, or was killed"
	}
	if s.Run.Reason.Kind != code.Finished.Kind {
		return "ended: " + s.Run.Reason.String()
	}
	return ""
}

// Spending is what sealed applies have used so far.
type Spending struct {
	Launches int     `json:"launches"`
	Hours    float64 `json:"hours"`
}

// Spent counts launches of sealed applies, under any seal: a new one does not reset the
// budget; a person raises the limit.
func Spent(st *store.Store) (s Spending) {
	under := map[string]bool{}
	for _, r := range st.Records() {
		switch {
		case r.RunStart != nil:
			under[r.Run] = r.RunStart.Seal != ""
		case r.Launch != nil && under[r.Run]:
			s.Launches, s.Hours = s.Launches+1, s.Hours+r.Launch.Seconds/3600
		}
	}
	return s
}
