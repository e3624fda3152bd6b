package outcome

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Why are a decision's reasons, comparisons first.
func Why(d *ledger.Decision) []verdict.Reason {
	rules, unmeasured := rulesSay(d)
	var root []verdict.Reason
	if broke := report.Broke(d.Why()); broke != nil && d.Verdict == verdict.Error {
		root = []verdict.Reason{*broke}
	}
	reasons := slices.Concat(root, headline(d), rules)
	if len(d.Rules) == 0 || d.Verdict == verdict.Error || d.Verdict == verdict.Invalid {
		for _, r := range slices.Concat(d.Reasons, d.Notes) {
			bare := slices.ContainsFunc(d.Levels, func(l ledger.Level) bool { return l.WithoutCauses().Equal(r) })
			if !slices.ContainsFunc(reasons, r.Equal) && !(unmeasured && bare) {
				reasons = append(reasons, r)
			}
		}
	}
	if len(reasons) == 0 {
		for _, l := range d.Levels {
			reasons = append(reasons, verdict.Say("level.short", "{subject} {verdict}").On(l.Name).Is(l.Verdict))
		}
	}
	for _, m := range d.Marks() {
		if !slices.ContainsFunc(reasons, m.Equal) {
			reasons = append(reasons, m)
		}
	}
	reasons = append(reasons, d.Findings...)
	if d.Exit != nil && *d.Exit >= 0 && !saysExit(reasons) { // a signal's name is in the reasons
		reasons = append(reasons, verdict.Say("exit_status", "exit status {exit}", verdict.Int("exit", *d.Exit)))
	}
	if len(d.LogTail) > 0 && !verdict.Holds(root, code.Diagnosed.Kind) {
		reasons = append(reasons, verdict.Say("log.last_line", "last log line: {line}",
			verdict.Text("line", d.LogTail[len(d.LogTail)-1])))
	}
	return reasons
}

// saysExit reports whether reasons contain an exit status.
func saysExit(reasons []verdict.Reason) bool {
	return slices.ContainsFunc(reasons, func(r verdict.Reason) bool {
		_, says := r.Values["exit"]
		return says || saysExit(r.Causes)
	})
}

// headline is what precedes a decision's levels, criteria and rules: the choice, where it
// was confirmed, and that its rules were fitted to the data.
func headline(d *ledger.Decision) []verdict.Reason {
	if k := runtime.Kind(d.Kind); k != runtime.KindFeature && k != runtime.KindCriteria && k != runtime.KindGate {
		return nil
	}
	at := slices.IndexFunc(d.Reasons, func(r verdict.Reason) bool { return r.Kind == code.Level.Kind })
	if at < 0 && len(d.Rules) == 0 {
		return nil
	} else if at < 0 {
		at = len(d.Reasons)
	}
	return slices.Clone(d.Reasons[:at])
}

// rulesSay are the reasons of the rules. What could not be measured is reported once, for
// all rules that read it, and unmeasured is true then.
func rulesSay(d *ledger.Decision) (reasons []verdict.Reason, unmeasured bool) {
	var names [][]string // of the rules that each reason is of
	for _, r := range d.Rules {
		for _, reason := range r.Reasons {
			level, found := report.LevelBelow(reason)
			at := -1
			if found {
				unmeasured = true
				at = slices.IndexFunc(reasons, func(said verdict.Reason) bool { return said.Causes[0].Equal(level) })
				reason = level
			}
			if at < 0 {
				reasons, names = append(reasons, verdict.Say("rule.found", "{subject}").From(reason)),
					append(names, []string{r.Name})
			} else if !slices.Contains(names[at], r.Name) {
				names[at] = append(names[at], r.Name)
			}
		}
	}
	for i := range reasons {
		reasons[i] = reasons[i].On(strings.Join(names[i], ", "))
	}
	return reasons, unmeasured
}
