package main

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// floorSaid says by which stored launch noise no arm is taken to vary less, and of
// which sessions it is: one that was disturbed widens all that come later.
func floorSaid(st *store.Store, t *verdict.Test) string {
	if t.Floor <= 0 {
		return ""
	}
	about := fmt.Sprintf("%.2g", t.Floor)
	if t.Form == verdict.Ratio || t.Form == verdict.LogLevel {
		about = fmt.Sprintf("%.2g %%", 100*t.Floor)
	}
	return fmt.Sprintf("No arm's standard deviation is taken as less than %s, by which launches of this engine differed before this session (%.3g degrees of freedom%s): stored noise may widen a verdict, never narrow it.",
		about, t.FloorDF, sessionsWord(noiseSessions(st, t)))
}

// noiseSessions are the sessions that stored launch noise was taken of, oldest first.
func noiseSessions(st *store.Store, t *verdict.Test) []string {
	if len(t.Launches) == 0 {
		return nil
	}
	first, ok := st.LaunchByID(t.Launches[0])
	if !ok {
		return nil
	}
	var variants []string
	for _, l := range st.Launches(store.LaunchFilter{Session: first.Session}) {
		variants = append(variants, l.VariantKey)
	}
	key := t.Metric
	if t.Stat != "median" {
		key += "." + t.Stat
	}
	return steps.NoiseSessions(steps.NoiseBefore(st.Records(), first.Session, first.Work, variants...), key)
}

func sessionsWord(sessions []string) string {
	switch len(sessions) {
	case 0:
		return ""
	case 1:
		return ", session " + sessions[0]
	default:
		return ", sessions " + verdict.And(sessions)
	}
}
