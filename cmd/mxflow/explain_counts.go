package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// countsOf are the inputs of a comparison that each launch counts; launches and
// requests are counted over all of them.
func countsOf(c verdict.Comparison, r verdict.Rule) (list []verdict.Input) {
	for _, in := range r.Inputs {
		if strings.Contains(c.Text, in.Path) && len(in.PerLaunch) > 0 && in.Unit != "launches" && in.Unit != "requests" {
			list = append(list, in)
		}
	}
	return list
}

// countsSaid argues a comparison of what each launch counts.
func countsSaid(out argument, c verdict.Comparison, r verdict.Rule) argument {
	counts := countsOf(c, r)
	is, want := tell.Sides(c.Left, c.Right)
	op := c.Op
	if c.Turned {
		is, op, want = want, plans.Turned(op), is
	}
	if c.Launch > 0 {
		is += fmt.Sprintf(" in launch %d of %d", c.Launch, c.Launches)
	}
	where := "in every launch"
	out.How = "By counting: no t-test, and every launch has to keep to it."
	if comparesArms(counts) {
		where = "of any two launches"
		out.How = "By counting: no t-test, and every launch has to keep to it against every one of the other arm."
	}
	found := "Found " + is
	crashed, starts := crashes(counts)
	if starts > 0 {
		out.How = "By counting the starts that crashed: no t-test, and what few starts did not show may still be there."
		found = fmt.Sprintf("Found %s in %s: %s is %s", count(crashed, "crash"), count(starts, "start"), counts[0].Path, is)
	}
	switch {
	case c.Verdict == verdict.Pass, c.Verdict == verdict.Fail:
		found += fmt.Sprintf(", wanted %s%s %s %s: %s", out.Not, op, want, where, holdsWord(c.Verdict == verdict.Pass))
	default:
		found += fmt.Sprintf(", wanted %s%s %s %s", out.Not, op, want, where)
	}
	out.Said = []string{found + "."}
	if starts > 0 {
		out.Said = append(out.Said, fmt.Sprintf("That shows that less than %.2g %% of all starts crash (95 %% confidence), and no more.", 100*stats.AtMost(crashed, starts, 0.95)))
	}
	return append1(out, c.Test.Note)
}

// comparesArms reports whether counts are of more than one arm.
func comparesArms(counts []verdict.Input) bool {
	ofBase := func(in verdict.Input) bool {
		return strings.Contains(in.Path, ".base") || strings.Contains(in.Path, ".root")
	}
	for _, in := range counts {
		if len(in.BasePerLaunch) > 0 || ofBase(in) != ofBase(counts[0]) {
			return true
		}
	}
	return false
}

// crashes are the starts that crashed, and all, where a comparison reads nothing
// but that of one arm; else none.
func crashes(counts []verdict.Input) (crashed, starts int) {
	if len(counts) != 1 || !strings.HasSuffix(counts[0].Path, "engine.crashes") {
		return 0, 0
	}
	for _, v := range counts[0].PerLaunch {
		crashed += int(v) // each was a start of its own, before the one that counts
	}
	return crashed, crashed + len(counts[0].PerLaunch)
}
