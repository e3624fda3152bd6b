package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// argues argues one comparison.
func argues(st *store.Store, r verdict.Rule, c verdict.Comparison) argument {
	out := argument{Text: c.Text, Verdict: string(c.Verdict)}
	if negated(c) {
		out.Not = "not "
	}
	t := c.Test
	switch {
	case t == nil:
		out.Said = []string{fmt.Sprintf("Found %s against %s. It could not be tested.", c.Left, c.Right)}
		return out
	case t.Form == verdict.Exact && countsOf(c, r) != nil:
		return countsSaid(out, c, r)
	case t.Form == verdict.Exact:
		out.How = "On the values themselves, which are the same however often they are looked at."
		out.Said = []string{fmt.Sprintf("Found %s %s %s: %s.", c.Left, c.Op, c.Right, holdsWord(c.Holds))}
		return append1(out, t.Note)
	}
	s := scaleOf(t)
	s.relative = relative(c)
	out.Unit, out.series = t.Unit, t.Metric+" "+t.Stat+" "+t.Unit
	out.Claim = claim(c, s)
	out.How = howTested(t)
	out.Data = dataOf(st, t)
	for i, l := range t.Looks {
		out.Looks = append(out.Looks, look{l, s.text(s.own(l.Estimate)), came(t, i)})
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
	out.Said = append1(out, tiesSaid(t)).Said
	out.Said = append(out.Said, out.levels...)
	out.Said = append(out.Said, stopSaid(t)...)
	if t.Stop == verdict.StopOpen && len(t.Looks) > 0 {
		out.at = lastLookOf(t)
	}
	out.Said = append(out.Said, intervalSaid(s)...)
	if out.Change = changeSaid(s); out.Change != "" {
		out.Said = append(out.Said, out.Change)
	}
	if out.More = moreSaid(s); out.More != "" {
		out.Said = append(out.Said, out.More)
	}
	return append1(out, t.Note)
}

func append1(a argument, note string) argument {
	if note != "" {
		a.Said = append(a.Said, sentence(note))
	}
	return a
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

func holdsWord(holds bool) string {
	if holds {
		return "that holds"
	}
	return "that does not hold"
}

// gainForm is how a rule asks for an improvement.
var gainForm = regexp.MustCompile(`\.gain\b`)

// negated reports whether the rule wants that a comparison does not hold.
func negated(c verdict.Comparison) bool {
	t := c.Test
	if t == nil || t.Form == verdict.Exact {
		return c.Verdict == verdict.Pass && !c.Holds || c.Verdict == verdict.Fail && c.Holds
	}
	more := strings.HasPrefix(c.Op, ">")
	if strings.IndexAny(c.Text, "-0123456789(") == 0 {
		more = !more // the number stands on the left
	}
	return more != t.More
}

// claim is what is tested, in words.
func claim(c verdict.Comparison, s scale) string {
	t := s.test
	most := "at least"
	if !t.More {
		most = "at most"
	}
	switch {
	case t.Form == verdict.Ratio && gainForm.MatchString(c.Text):
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
	case s.relative:
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

// howTested names the test.
func howTested(t *verdict.Test) string {
	switch t.Form {
	case verdict.Ratio:
		return "Welch's t-test on the logs of the launches of both arms" + replicates + "."
	case verdict.Difference:
		return "Welch's t-test on the launches of both arms as they are" + replicates + "."
	case verdict.LogLevel:
		return "One-sample t-test on the logs of the launches of one arm" + replicates + ". Interleaving does not protect it from drift."
	case verdict.Level:
		return "One-sample t-test on the launches of one arm as they are" + replicates + ". Interleaving does not protect it from drift."
	case verdict.Range:
		return "No t-test, since it hardly varies: the whole range of the launches against the limit."
	}
	return fmt.Sprintf("By a test that this version does not know: %q.", t.Form)
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
