package tell

import (
	"fmt"
	"time"
)

// Reused says how many launches a run made, and how many of earlier runs from then to then
// it decided on, so that nobody reads an old verdict as news; empty if none.
func Reused(made, old int, from, to time.Time) string {
	if old == 0 {
		return ""
	}
	const minute = "2006-01-02 15:04"
	first, last := from.Local().Format(minute), to.Local().Format(minute)
	switch day := len("2006-01-02 "); {
	case first[:day] != last[:day]:
		first += " to " + last
	case first != last:
		first += " to " + last[day:]
	}
	them := ""
	switch {
	case made == 1:
		them = "it and "
	case made > 1:
		them = "them and "
	}
	return fmt.Sprintf("%s: decided on %s%d of %s", Count(made, "new launch"), them, old, first)
}
