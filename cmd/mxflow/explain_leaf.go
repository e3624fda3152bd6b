package main

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// argues argues one comparison.
func argues(st *store.Store, r verdict.Rule, c verdict.Comparison, ended string) argument {
	out := argument{Text: c.Text, Verdict: string(c.Verdict)}
	t := c.Test
	if t != nil && t.Negated {
		out.Not = "not "
	}
	left, right := tell.Sides(c.Left, c.Right)
	switch {
	case t == nil:
		out.Said = []string{fmt.Sprintf("Found %s against %s. It could not be tested.", left, right)}
		return out
	case t.Form == verdict.Exact && countsOf(c, r) != nil:
		return countsSaid(out, c, r)
	case t.Form == verdict.Exact:
		out.How = "On the values themselves, which are the same however often they are looked at."
		out.Said = []string{fmt.Sprintf("Found %s %s %s: %s.", left, c.Op, right, holdsWord(c.Holds))}
		return append1(out, t.Note)
	}
	s := scale{t}
	out.Unit, out.series = t.Unit, t.Metric+" "+t.Stat+" "+t.Unit
	out.Claim = claim(s)
	out.How, out.shortHow = howTested(t)
	out.Data = dataOf(st, t)
	for i, l := range t.Looks {
		out.Looks = append(out.Looks, look{l, s.text(s.own(l.Estimate)), came(t, i, ended)})
	}
	if len(t.Unpaired) > 0 {
		out.Said = append(out.Said, fmt.Sprintf("No look counts %s, which have none of the other arm beside them.", verdict.And(t.Unpaired)))
	}
	if t.Form == verdict.Range {
		out.Said = append(out.Said, rangeSaid(s)...)
		return append1(out, t.Note)
	}
	if text := ranksSaid(t, r); text != "" {
		out.Said = append(out.Said, text)
	}
	out.levels = levelsSaid(st, t)
	if text := tiesSaid(t); text != "" {
		out.Said = append(out.Said, text)
	}
	out.levelsAt = len(out.Said)
	out.Said = append(out.Said, out.levels...)
	out.Said = append(out.Said, stopSaid(t, ended)...)
	if out.interval, out.plain = intervalSaid(s); out.interval != "" {
		out.intervalAt = len(out.Said)
		out.Said = append(out.Said, out.interval)
	}
	if out.Change = changeSaid(s); out.Change != "" {
		out.Said = append(out.Said, out.Change)
	}
	if out.More = moreSaid(s); out.More != "" {
		out.Said = append(out.Said, out.More)
	}
	return append1(out, t.Note)
}

func append1(a argument, note verdict.Reason) argument {
	if !note.IsZero() {
		a.Said = append(a.Said, tell.Sentence(note))
	}
	return a
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string { return tell.Capital(tell.Stop(text)) }

func holdsWord(holds bool) string {
	if holds {
		return "that holds"
	}
	return "that does not hold"
}

// claim is what is tested, in words.
func claim(s scale) string {
	t := s.test
	most := "at least"
	if !t.More {
		most = "at most"
	}
	switch {
	case t.Form == verdict.Ratio && t.Relation == string(plans.Gain):
		word, size := "better", t.Threshold
		if size < 0 {
			// At least −3 % better is at most 3 % worse.
			word, size = "worse", -size
			most = map[string]string{"at least": "at most", "at most": "at least"}[most]
		}
		return fmt.Sprintf("%s of %s is %s than that of %s by %s %s.", t.Metric, t.Arm, word, t.Against, most, percent(size))
	case t.Form == verdict.Ratio:
		return fmt.Sprintf("%s of %s changes against %s by %s %s.", t.Metric, t.Arm, t.Against, most, s.text(t.Threshold))
	case t.Form == verdict.Difference:
		return fmt.Sprintf("%s of %s minus that of %s is %s %s.", t.Metric, t.Arm, t.Against, most, s.text(t.Threshold))
	case t.Form == verdict.Range && t.Against != "" && t.Relative():
		return fmt.Sprintf("%s of every launch of %s, against every launch of %s, keeps to a change of %s.", t.Metric, t.Arm, t.Against, s.text(t.Threshold))
	case t.Form == verdict.Range && t.Against != "":
		return fmt.Sprintf("%s of every launch of %s minus that of every launch of %s keeps to %s.", t.Metric, t.Arm, t.Against, s.text(t.Threshold))
	case t.Form == verdict.Range:
		return fmt.Sprintf("%s of every launch of %s keeps to %s.", t.Metric, t.Arm, s.text(t.Threshold))
	}
	return fmt.Sprintf("%s of %s is %s %s.", t.Metric, t.Arm, most, s.text(t.Threshold))
}

// replicates is what to know of every t-test.
const replicates = "; each launch gives one number, since launches are the replicates"

// howTested names the test, and without what is to be known of every t-test.
func howTested(t *verdict.Test) (text, short string) {
	drift := ""
	switch t.Form {
	case verdict.Ratio:
		text = "Welch's t-test on the logs of the launches of both arms"
	case verdict.Difference:
		text = "Welch's t-test on the launches of both arms as they are"
	case verdict.LogLevel:
		text, drift = "One-sample t-test on the logs of the launches of one arm", " Interleaving does not protect it from drift."
	case verdict.Level:
		text, drift = "One-sample t-test on the launches of one arm as they are", " Interleaving does not protect it from drift."
	case verdict.Range:
		return "No t-test, since it hardly varies: the whole range of the launches against the limit.", ""
	default:
		return fmt.Sprintf("By a test that this version does not know: %q.", t.Form), ""
	}
	return text + replicates + "." + drift, text + "." + drift
}

// dataOf are the values that a test read, in the order of the starts.
func dataOf(st *store.Store, t *verdict.Test) (data []datum) {
	numbers := map[string]map[string]int{} // of a session, by launch
	add := func(arm string, ids []string, values []float64) {
		for i, v := range values {
			d := datum{Arm: arm, Value: v}
			if i < len(ids) {
				d.Launch = ids[i]
				if l, ok := st.LaunchByID(ids[i]); ok {
					if numbers[l.Session] == nil {
						numbers[l.Session] = ledger.Numbers(st.Launches(store.LaunchFilter{Session: l.Session}))
					}
					d.Number, d.Order, d.Round = numbers[l.Session][l.ID], l.Order, l.Ordinal
				}
			}
			data = append(data, d)
		}
	}
	add(t.Against, t.BaseLaunches, t.Base)
	add(t.Arm, t.Launches, t.Values)
	slices.SortStableFunc(data, func(a, b datum) int { return a.Order - b.Order })
	return data
}
