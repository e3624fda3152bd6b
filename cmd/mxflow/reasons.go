package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// why are a decision's reasons, comparisons first.
func why(d *ledger.Decision) []string {
	rules, unmeasured := rulesSay(d)
	parts := append(headline(d), rules...)
	if len(d.Rules) == 0 || d.Verdict == verdict.Error || d.Verdict == verdict.Invalid {
		for _, reason := range ownReasons(d) {
			bare := slices.ContainsFunc(d.Levels, func(l ledger.Level) bool { return l.Line() == reason })
			if !slices.Contains(parts, reason) && !(unmeasured && bare) {
				parts = append(parts, reason)
			}
		}
	}
	if len(parts) == 0 {
		for _, l := range d.Levels {
			parts = append(parts, l.Name+" "+string(l.Verdict))
		}
	}
	if d.Exit != nil && *d.Exit >= 0 { // a signal's name is in the reasons
		exit := fmt.Sprintf("exit status %d", *d.Exit)
		if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, exit) }) {
			parts = append(parts, exit)
		}
	}
	if len(d.LogTail) > 0 {
		parts = append(parts, "last log line: "+d.LogTail[len(d.LogTail)-1])
	}
	return parts
}

// ownReasons are the reasons of a decision that its rules do not say themselves.
func ownReasons(d *ledger.Decision) (own []string) {
	parts := d.Parts(nil)
	for i, reason := range d.Reasons {
		if parts == nil || parts[i].Of != verdict.RoleCriterion && parts[i].Of != verdict.RoleRule {
			own = append(own, reason)
		}
	}
	return own
}

// brokenBy is what of a decision is in error, in one line: what passed below it, or
// failed, is nothing to mend.
func brokenBy(d *ledger.Decision) string {
	var parts []string
	add := func(v verdict.Verdict, name string, reasons []string) {
		if v == verdict.Error {
			parts = append(parts, name+because(reasons, 1))
		}
	}
	for _, l := range d.Levels {
		add(l.Verdict, "level "+l.Name, l.Reasons)
	}
	for _, r := range d.Rules {
		add(r.Verdict, fmt.Sprintf("%s %q", r.Role, r.Name), r.Reasons)
	}
	for _, reason := range ownReasons(d) {
		if strings.HasSuffix(reason, ": error") {
			parts = append(parts, strings.TrimSuffix(reason, ": error"))
		}
	}
	if len(parts) == 0 {
		return strings.Join(why(d), "; ")
	}
	return strings.Join(parts, "; ")
}

// headline is what a feature's decision says before its levels and criteria: what
// was chosen, and where it was confirmed.
func headline(d *ledger.Decision) []string {
	if k := runtime.Kind(d.Kind); k != runtime.KindFeature && k != runtime.KindCriteria {
		return nil
	}
	for i, part := range d.Parts(nil) {
		if part.Of == ledger.OfLevel || part.Of == verdict.RoleCriterion {
			return slices.Clone(d.Reasons[:i])
		}
	}
	return nil
}

// rulesSay are the reasons of the rules. What could not be measured is said once,
// for all rules that read it, and unmeasured is true then.
func rulesSay(d *ledger.Decision) (parts []string, unmeasured bool) {
	at := map[string]int{}
	for _, r := range d.Rules {
		for _, reason := range r.Reasons {
			_, cause, found := strings.Cut(reason, ": level ")
			if !found {
				parts = append(parts, r.Name+": "+reason)
				continue
			}
			unmeasured = true
			if i, said := at[cause]; said {
				names, rest, _ := strings.Cut(parts[i], ": level ")
				if !strings.HasSuffix(names, r.Name) {
					parts[i] = names + ", " + r.Name + ": level " + rest
				}
				continue
			}
			at[cause] = len(parts)
			parts = append(parts, r.Name+": level "+cause)
		}
	}
	return parts, unmeasured
}

// lastWords prints the end of the log of everything that broke in this run,
// once, below the node that it broke in.
func (a *app) lastWords(s runtime.Summary) {
	printed := map[string]bool{}
	for _, r := range s.Rows {
		if r.Decision == nil || r.Reused || len(r.Decision.LogTail) == 0 {
			continue
		}
		tail := "  | " + strings.Join(r.Decision.LogTail, "\n  | ")
		if !printed[tail] {
			printed[tail] = true
			fmt.Fprintf(a.stdout, "\nThe log of %s ended with:\n%s\n", r.Node.ID, tail)
		}
	}
}
