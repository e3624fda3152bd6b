package report

import (
	"time"

	"github.com/mxflow/mxflow/runtime/store"
)

// How the newest run stands.
const (
	UnderWay = "under way"
	Ended    = "ended"
	// Killed: it has no end on record, and nobody is at work who could make one.
	Killed = "killed"
	// Unknown: it has no end on record, and whether somebody is at work on it cannot
	// be told here.
	Unknown = "unknown"
	None    = "none"
)

// Work is who is at work on a state directory, and how the newest run stands.
type Work struct {
	Run   string `json:"run"`
	State string `json:"state"`
	// Holder is who has the lock now: an apply, or somebody who records what a person
	// decided; nil where nobody has, or has not said who it is.
	Holder *Holder `json:"at_work,omitempty"`
	Held   bool    `json:"-"`
}

// Holder leaves out the command line, which may hold what is nobody's business.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
}

// WorkOn tells a run under way from one that was killed: only a process that lives
// holds the lock, and it names there the run that it is at work on. No clock is
// asked, since it may be set back at any time.
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
	case err != nil, held && (by == nil || by.Run == nil):
		w.State = Unknown
	case held && *by.Run == last.ID:
		w.State = UnderWay
	default:
		w.State = Killed
	}
	return w
}
