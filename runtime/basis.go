package runtime

import (
	"fmt"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Basis are the launches that the decisions of a run rest on: how many it made, and how many
// earlier runs did, from when to when.
type Basis struct {
	New  int       `json:"new"`
	Old  int       `json:"old"`
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// String says how many launches a run made, and how many of earlier runs it decided on,
// so an old verdict does not read as news; empty if none.
func (b Basis) String() string {
	if b.Old == 0 {
		return ""
	}
	const minute = "2006-01-02 15:04"
	first, last := b.From.Local().Format(minute), b.To.Local().Format(minute)
	switch day := len("2006-01-02 "); {
	case first[:day] != last[:day]:
		first += " to " + last
	case first != last:
		first += " to " + last[day:]
	}
	them := ""
	switch {
	case b.New == 1:
		them = "it and "
	case b.New > 1:
		them = "them and "
	}
	return fmt.Sprintf("%s: decided on %s%d of %s", verdict.Count(b.New, "new launch"), them, b.Old, first)
}
