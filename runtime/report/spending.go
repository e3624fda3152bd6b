package report

import "github.com/mxflow/mxflow/runtime/store"

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
