package store

import (
	"cmp"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// usualMost is the most launches an arm that may be gone on to after they were
// looked at: the levels of fewer allow for it.
const usualMost = 8

// DecidedAgain says what a reader of a decision has to know of those before it:
// which try it is, and which rules and error rates were others when its launches were
// seen first. The error rates hold for
// rules that stand before the launches; one that was moved afterwards may have
// been moved to where they lie.
func (st *Store) DecidedAgain(d Decided) (reasons []verdict.Reason) {
	for _, r := range d.Reasons {
		if r.Code == code.Tried || r.Code == code.TriesSpent {
			reasons = append(reasons, r)
		}
	}
	return append(reasons, Moved(st.History(d.Node), d)...)
}

// Moved compares a decision with those before it that saw some of its launches.
// Where the first of them was decided as this one is, nothing was moved to where
// the launches lie.
func Moved(history []Decided, d Decided) (moved []verdict.Reason) {
	for i, was := range history {
		if was.Record >= d.Record || was.Statistics == nil || d.Statistics == nil || !share(was.Decision, d.Decision) {
			continue
		}
		what := differences(was.Decision, d.Decision)
		if len(what) == 0 {
			if len(moved) == 0 && !slices.ContainsFunc(history[:i], func(o Decided) bool { return share(o.Decision, d.Decision) }) {
				return nil
			}
			continue
		}
		if !slices.ContainsFunc(moved, func(m verdict.Reason) bool { return slices.EqualFunc(m.Causes, what, verdict.Reason.Equal) }) {
			moved = append(moved, verdict.New(code.Moved, verdict.Int("attempt", was.Attempt)).Is(was.Verdict).From(what...))
		}
	}
	return moved
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

// differences are the rules and settings in which two decisions differ.
func differences(was, is *ledger.Decision) (list []verdict.Reason) {
	before, old := deciding(was)
	now, decides := deciding(is)
	for _, name := range before {
		a, b := old[name], decides[name]
		switch moved, from, to := thresholdMoved(a, b); {
		case b.Expr == "":
			list = append(list, verdict.New(code.RuleDropped, verdict.Text("expr", a.Expr)).On(name))
		case b.Expr != a.Expr:
			list = append(list, verdict.New(code.RuleRewritten, verdict.Text("was", a.Expr), verdict.Text("is", b.Expr)).On(name))
		case moved:
			list = append(list, verdict.New(code.ThresholdMoved, verdict.Text("expr", a.Expr), number("was", from), number("is", to)).On(name))
		}
	}
	for _, name := range now {
		if old[name].Expr == "" {
			list = append(list, verdict.New(code.RuleAdded, verdict.Text("expr", decides[name].Expr)).On(name))
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

// thresholdMoved reports whether a rule with the same words is held against another
// number, which stands elsewhere in the plan: that of a target.
func thresholdMoved(was, is ledger.Rule) (moved bool, from, to float64) {
	for i, c := range was.Comparisons {
		if i >= len(is.Comparisons) || c.Test == nil || is.Comparisons[i].Test == nil {
			continue
		}
		if a, b := c.Test.Threshold, is.Comparisons[i].Test.Threshold; a != b {
			return true, a, b
		}
	}
	return false, 0, 0
}

func number(name string, x float64) verdict.Arg { return verdict.Num(name, x, "") }

func settingsChanged(was, is *ledger.Decision) (list []verdict.Reason) {
	a, b := *was.Statistics, *is.Statistics
	moved := func(differs bool, r verdict.Reason) {
		if differs {
			list = append(list, r)
		}
	}
	moved(a.FalsePass != b.FalsePass, verdict.New(code.SettingMoved, number("was", a.FalsePass), number("is", b.FalsePass)).On("false_pass"))
	moved(a.FalseFail != b.FalseFail, verdict.New(code.SettingMoved, number("was", a.FalseFail), number("is", b.FalseFail)).On("false_fail"))
	x, y := max(1, a.Alternatives), max(1, b.Alternatives)
	moved(x != y, verdict.New(code.AlternativesMoved, verdict.Int("was", x), verdict.Int("is", y)))
	moved(ledger.FirstMoved(a.Min, b.Min), verdict.New(code.FirstLookMoved, verdict.Int("was", a.Min), verdict.Int("is", b.Min)))
	x, y = mostOf(was), mostOf(is)
	moved(x != y && y > usualMost, verdict.New(code.MostMoved, verdict.Int("was", x), verdict.Int("is", y)))
	return list
}

// mostOf is the most launches an arm that a decision allowed.
func mostOf(d *ledger.Decision) int {
	most := 0
	for _, ev := range d.Evidence {
		most = max(most, ev.Max)
	}
	return cmp.Or(most, d.Statistics.Max)
}
