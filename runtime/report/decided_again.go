package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// usualMost is the most launches an arm that may be gone on to after they were
// looked at: the levels of fewer allow for it.
const usualMost = 8

// DecidedAgain says what a reader of a decision has to know of those before it:
// how often the candidate was measured from the start, and which rules and error
// rates were others when its launches were seen first. The error rates hold for
// rules that stand before the launches; one that was moved afterwards may have
// been moved to where they lie.
func DecidedAgain(st *store.Store, d store.Decided) (says []string) {
	if starts := StartsOf(st, d); len(starts) > 1 {
		says = append(says, fmt.Sprintf("it was measured %d times from the start at this revision, so that the chance of an error is up to %d times that of one", len(starts), len(starts)))
	}
	return append(says, Moved(st.History(d.Node), d)...)
}

// StartsOf are the sessions in which a candidate of a decision was measured with
// the same work, up to when it was made: each is another chance of an error. Of
// several candidates it is the one with the most. Sessions in which it was what
// others were measured against, which are launched after it was accepted, are none.
func StartsOf(st *store.Store, d store.Decided) (most []string) {
	type revision struct{ variant, work string }
	sessions := map[revision][]string{}
	parent := map[string]string{} // by session: its first launch is one of the parent
	for i, r := range st.Records() {
		l := r.Launch
		if i >= d.Record {
			break
		}
		if l == nil || l.Purpose != ledger.ForBenchmark {
			continue
		}
		if parent[l.Session] == "" {
			parent[l.Session] = l.VariantKey
		}
		rev := revision{l.VariantKey, l.Work}
		if parent[l.Session] != l.VariantKey && !slices.Contains(sessions[rev], l.Session) {
			sessions[rev] = append(sessions[rev], l.Session)
		}
	}
	for _, ev := range d.Evidence {
		for _, id := range ev.Candidate.Launches {
			if l, ok := st.LaunchByID(id); ok && len(sessions[revision{l.VariantKey, l.Work}]) > len(most) {
				most = sessions[revision{l.VariantKey, l.Work}]
			}
		}
	}
	return most
}

// Moved compares a decision with those before it that saw some of its launches.
// Where the first of them was decided as this one is, nothing was moved to where
// the launches lie.
func Moved(history []store.Decided, d store.Decided) (says []string) {
	said := map[string]bool{}
	for i, was := range history {
		if was.Record >= d.Record || was.Statistics == nil || d.Statistics == nil || !share(was.Decision, d.Decision) {
			continue
		}
		what := strings.Join(differences(was.Decision, d.Decision), "; ")
		if what == "" {
			if len(says) == 0 && !slices.ContainsFunc(history[:i], func(o store.Decided) bool { return share(o.Decision, d.Decision) }) {
				return nil
			}
			continue
		}
		if !said[what] {
			said[what] = true
			says = append(says, fmt.Sprintf("attempt %d saw launches that this one rests on and was %s by other rules, so that the error rates do not hold for what was changed since: %s", was.Attempt, was.Verdict, what))
		}
	}
	return says
}

// share reports whether two decisions rest on a launch that both read.
func share(a, b *ledger.Decision) bool {
	read := map[string]bool{}
	for _, ev := range a.Evidence {
		for _, id := range ev.Candidate.Launches {
			read[id] = true
		}
	}
	return slices.ContainsFunc(b.Evidence, func(ev ledger.Evidence) bool {
		return slices.ContainsFunc(ev.Candidate.Launches, func(id string) bool { return read[id] })
	})
}

// differences are the rules and settings in which two decisions differ, in words.
func differences(was, is *ledger.Decision) (list []string) {
	before, old := deciding(was)
	now, decides := deciding(is)
	for _, name := range before {
		a, b := old[name], decides[name]
		switch against := thresholdsMoved(a, b); {
		case b.Expr == "":
			list = append(list, fmt.Sprintf("%s (%s) decided then and does not any more", name, a.Expr))
		case b.Expr != a.Expr:
			list = append(list, fmt.Sprintf("%s was %s and is %s", name, a.Expr, b.Expr))
		case against != "":
			list = append(list, fmt.Sprintf("%s (%s) %s", name, a.Expr, against))
		}
	}
	for _, name := range now {
		if old[name].Expr == "" {
			list = append(list, fmt.Sprintf("%s (%s) did not decide then", name, decides[name].Expr))
		}
	}
	return append(list, settingsChanged(was, is)...)
}

// deciding are the rules of a decision that decide, by name and in order.
func deciding(d *ledger.Decision) (names []string, rules map[string]ledger.Rule) {
	rules = map[string]ledger.Rule{}
	for _, r := range d.Rules {
		if r.Decides {
			names, rules[r.Name] = append(names, r.Name), r
		}
	}
	return names, rules
}

// thresholdsMoved says that a rule with the same words is held against another
// number, which stands elsewhere in the plan: that of a target.
func thresholdsMoved(was, is ledger.Rule) string {
	for i, c := range was.Comparisons {
		if i >= len(is.Comparisons) || c.Test == nil || is.Comparisons[i].Test == nil {
			continue
		}
		if a, b := c.Test.Threshold, is.Comparisons[i].Test.Threshold; a != b {
			return fmt.Sprintf("was held against %g and is against %g", a, b)
		}
	}
	return ""
}

func settingsChanged(was, is *ledger.Decision) (list []string) {
	a, b := *was.Statistics, *is.Statistics
	if a.FalsePass != b.FalsePass {
		list = append(list, fmt.Sprintf("false_pass was %g and is %g", a.FalsePass, b.FalsePass))
	}
	if a.FalseFail != b.FalseFail {
		list = append(list, fmt.Sprintf("false_fail was %g and is %g", a.FalseFail, b.FalseFail))
	}
	if x, y := max(1, a.Alternatives), max(1, b.Alternatives); x != y {
		list = append(list, fmt.Sprintf("it was one of %d alternatives for one place and is one of %d", x, y))
	}
	if a.Min != b.Min {
		list = append(list, fmt.Sprintf("the first look was at %d launches an arm and is at %d", a.Min, b.Min))
	}
	if x, y := mostOf(was), mostOf(is); x != y && y > usualMost {
		list = append(list, fmt.Sprintf("at most %d launches an arm were declared then, and %d now", x, y))
	}
	return list
}

// mostOf is the most launches an arm that a decision allowed.
func mostOf(d *ledger.Decision) int {
	most := 0
	for _, ev := range d.Evidence {
		most = max(most, ev.Max)
	}
	if most == 0 {
		return d.Statistics.Max
	}
	return most
}

// again is what readers have to know of decisions that were not the first.
func (p *page) again() {
	var rows [][]string
	for _, d := range Standing(p.st) {
		if says := DecidedAgain(p.st, d); len(says) > 0 {
			rows = append(rows, []string{d.Node, string(d.Verdict), strings.Join(says, "\n")})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.line("## Decided more than once")
	p.line("")
	p.head("Node", "Verdict", "To know")
	for _, row := range rows {
		p.row(row...)
	}
	p.line("")
}
