package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/store"
)

// came is what followed from the look at i.
func came(t *verdict.Test, i int, ended string) string {
	l := t.Looks[i]
	last := i == len(t.Looks)-1
	switch {
	case l.DF == 0 && last && t.Stop == verdict.StopScreen:
		return "fail: screened"
	case l.DF == 0:
		return "no test yet"
	case l.PPass <= t.Pass:
		return "pass: p ≤ " + tell.PLevel(t.Pass)
	case l.PFail <= t.Fail:
		return "fail: p ≤ " + tell.PLevel(t.Fail)
	case last && t.Stop == verdict.StopFutile:
		return "stop: futile"
	case last && t.Stop == verdict.StopEnd:
		return "the end"
	case last && t.Stop == verdict.StopOpen && ended != "":
		return "open"
	}
	return "go on"
}

// levelsSaid says at which levels looks decide, how the budget was shared, and
// what floors the standard deviation.
func levelsSaid(st *store.Store, t *verdict.Test) (said []string) {
	if t.Pass > 0 || t.Fail > 0 {
		s := fmt.Sprintf("A look passes at p ≤ %s and fails at p ≤ %s", tell.PLevel(t.Pass), tell.PLevel(t.Fail))
		if share := tell.Shares(t.Share); share != "" {
			s += ": " + share
		}
		if len(t.Plan) > 0 {
			s += fmt.Sprintf(". Looks were planned at %s an arm", looksWord(t.Plan))
		}
		said = append(said, s+".")
	}
	if floor := floorSaid(st, t); floor != "" {
		said = append(said, floor)
	}
	return said
}

// looksWord is "3, 4, 6 and 8 launches".
func looksWord(looks []int) string {
	words := make([]string, len(looks))
	for i, n := range looks {
		words[i] = fmt.Sprint(n)
	}
	return verdict.And(words) + " " + plural(looks[len(looks)-1], "launch", "launches")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// stopSaid says why the test ended; of one that stayed open, what follows: ended is why
// no more launches are made.
func stopSaid(t *verdict.Test, ended string) []string {
	n, l := 0, verdict.Look{}
	if len(t.Looks) > 0 {
		l = t.Looks[len(t.Looks)-1]
		n = l.N
	}
	at := lastLookOf(t)
	switch t.Stop {
	case verdict.StopPass:
		return []string{fmt.Sprintf("Decided at %s: %s for a pass, not above %s.", at, tell.PIs(l.PPass), tell.PLevel(t.Pass)) + latched(t, n)}
	case verdict.StopFail:
		return []string{fmt.Sprintf("Decided at %s: %s for a fail, not above %s.", at, tell.PIs(l.PFail), tell.PLevel(t.Fail)) + latched(t, n)}
	case verdict.StopScreen:
		return []string{fmt.Sprintf("Screened at %s: it is so far beyond the threshold that more launches are not worth it. This is no test of how launches differ.", at)}
	case verdict.StopFutile:
		return []string{fmt.Sprintf("Stopped at %s: as things stand, a verdict by the last look has %.1f %% chance left, less than 5 %%.", at, 100*l.Chance)}
	case verdict.StopEnd:
		return []string{fmt.Sprintf("Ended at %s, the most that the plan makes: neither level was reached (%s for a pass, %s for a fail).", at, tell.PIs(l.PPass), tell.PIs(l.PFail))}
	case verdict.StopOpen:
		if n == 0 {
			return []string{fmt.Sprintf("Still open: %d against %d launches are there, and the first look has not come.", len(t.Values), len(t.Base))}
		}
		return []string{openSaid(at, cmp.Or(ended, goesOn))}
	}
	return []string{fmt.Sprintf("It ended in a way that this version does not know: %q.", t.Stop)}
}

// lastLookOf is how many launches the last look is of: "3 launches an arm".
func lastLookOf(t *verdict.Test) string {
	n := 0
	if len(t.Looks) > 0 {
		n = t.Looks[len(t.Looks)-1].N
	}
	if t.Against == "" {
		return count(n, "launch")
	}
	return count(n, "launch") + " an arm"
}

// latched says that launches behind the look that decided change nothing.
func latched(t *verdict.Test, n int) string {
	if len(t.Values) <= n {
		return ""
	}
	return fmt.Sprintf(" Launches behind that look were made for other comparisons (%d of this arm are there) and do not change it.", len(t.Values))
}

// flatters is what to know of every estimate that stopped at a pass.
const flatters = " An estimate that stopped at a pass flatters a little, so quote the interval."

// intervalSaid is the interval in the rule's own number, and without what is to be
// known of all of them; empty where there is none.
func intervalSaid(s scale) (text, plain string) {
	t := s.test
	if len(t.Looks) == 0 || t.Low == nil || t.High == nil {
		return "", ""
	}
	l := t.Looks[len(t.Looks)-1]
	plain = fmt.Sprintf("It is %s, interval %s to %s.", s.text(s.own(l.Estimate)), s.text(*t.Low), s.text(*t.High))
	if t.Stop == verdict.StopPass {
		return plain + flatters, plain
	}
	return plain, plain
}

// rangeSaid argues a comparison of ranges.
func rangeSaid(s scale) []string {
	t := s.test
	if len(t.Values) == 0 {
		return []string{"There is no launch to look at."}
	}
	own := rangeOf(t, t.Arm, t.Values)
	if len(t.Base) > 0 {
		own += ", " + rangeOf(t, t.Against, t.Base)
	}
	said := []string{own + "."}
	switch {
	case t.Low == nil || t.High == nil || math.IsNaN(*t.Low) || math.IsNaN(*t.High):
		return append(said, "That gives no number to hold against the limit.")
	case t.Against == "":
		return append(said, fmt.Sprintf("So it is between %s and %s, and the limit is %s.", s.text(*t.Low), s.text(*t.High), s.text(t.Threshold)))
	}
	what := "difference"
	if t.Relative() {
		what = "change"
	}
	return append(said, fmt.Sprintf("So the %s of any two launches is between %s and %s, and the limit is %s. A limit in between is inconclusive.",
		what, s.text(*t.Low), s.text(*t.High), s.text(t.Threshold)))
}

func rangeOf(t *verdict.Test, arm string, values []float64) string {
	return fmt.Sprintf("%s has %s to %s", arm, rawText(t, slices.Min(values)), rawText(t, slices.Max(values)))
}

// rawText is a launch's own value with its unit.
func rawText(t *verdict.Test, x float64) string {
	raw := *t
	raw.Form = verdict.Level
	return ownText(&raw, x)
}
