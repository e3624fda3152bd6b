package steps

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/store"
)

// checkTests is what is left where no rule can be compiled any more: every test
// that the decision recorded is held against its launches and against itself. It
// does not show that the rule was the plan's.
func (r *Replay) checkTests(out *Replayed, d store.Decided) {
	out.note(verdict.New(code.TestsOnly).From(out.Why))
	rules := d.Rules
	for _, alt := range d.Alternatives {
		rules = append(rules[:len(rules):len(rules)], alt.Rules...)
	}
	tests := 0
	for _, rule := range rules {
		for _, c := range rule.Comparisons {
			if c.Test != nil && c.Test.Form != verdict.Exact {
				tests++
				r.checkTest(out, rule.Name, c)
			}
		}
	}
	if tests == 0 {
		out.differ("decision", "tests", "rules without a test", "nothing to compute again")
	}
}

// checkTest holds one recorded test against the launches' values, and each of its
// looks against the levels.
func (r *Replay) checkTest(out *Replayed, rule string, c verdict.Comparison) {
	t := c.Test
	r.checkValues(out, rule, t, t.Launches, t.Values)
	r.checkValues(out, rule, t, t.BaseLaunches, t.Base)
	stop := verdict.Stop("")
	for i, l := range t.Looks {
		at := fmt.Sprintf("%s, look at %d", c.Text, l.N)
		if l.DF == 0 {
			continue // nothing was tested at this look
		}
		out.Numbers += 3
		for _, n := range []struct {
			what            string
			recorded, again float64
		}{
			{"T", l.T, (l.Estimate - t.Theta) / l.SE},
			{"p of a pass", l.PPass, stats.Tail(l.T, l.DF)},
			{"p of a fail", l.PFail, stats.Tail(-l.T, l.DF)},
		} {
			if n.recorded != n.again {
				out.differ(rule, at+": "+n.what, jsonText(n.recorded), jsonText(n.again))
			}
		}
		switch {
		case stop != "":
			out.differ(rule, at, "a look after the one that decided", "none")
		case l.PPass <= t.Pass:
			stop = verdict.StopPass
		case l.PFail <= t.Fail:
			stop = verdict.StopFail
		}
		if last := i == len(t.Looks)-1; last && stop != "" && t.Stop != stop {
			out.differ(rule, at, string(t.Stop), string(stop))
		}
	}
	decided := map[verdict.Stop]verdict.Verdict{verdict.StopPass: verdict.Pass, verdict.StopFail: verdict.Fail}
	if (t.Stop == verdict.StopPass || t.Stop == verdict.StopFail) && t.Form != verdict.Range {
		if stop != t.Stop {
			out.differ(rule, c.Text, string(t.Stop), "no look decides")
		}
		if want := decided[t.Stop]; c.Verdict != want && c.Verdict.Decided() && c.Verdict != verdict.Inconclusive {
			out.differ(rule, c.Text, string(c.Verdict), string(want))
		}
	}
}

// checkValues holds the values of a test against the raw data of its launches.
func (r *Replay) checkValues(out *Replayed, rule string, t *verdict.Test, ids []string, values []float64) {
	if len(ids) != len(values) {
		out.differ(rule, t.Metric, fmt.Sprintf("%d values", len(values)), fmt.Sprintf("%d launches", len(ids)))
		return
	}
	for i, id := range ids {
		out.Numbers++
		again, there := 0.0, false
		if l := r.again(id); l.launch != nil {
			again, there = l.launch.Metrics[t.Metric].Stats[t.Stat]
		}
		switch {
		case !there:
			out.differ(rule, fmt.Sprintf("%s.%s of launch %s", t.Metric, t.Stat, id), jsonText(values[i]), "absent")
		case again != values[i]:
			out.differ(rule, fmt.Sprintf("%s.%s of launch %s", t.Metric, t.Stat, id), jsonText(values[i]), jsonText(again))
		}
	}
}
