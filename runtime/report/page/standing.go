package page

import (
	"fmt"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Standing is the state of one feature's tests while its session continues. Closed is why no
// more launches are made for it, unless a look decided that.
type Standing struct {
	Feature, Progress, Closed string
	Rules                     []Item
	Figures                   []Figure
}

// standing adds the state of tests, from the looks that a run reports.
func (b *builder) standing(looks []runtime.Event) {
	for _, ev := range looks {
		l := ev.Look
		if l == nil {
			continue
		}
		s := Standing{
			Feature: ev.Feature, Closed: ev.Why.String(),
			Progress: fmt.Sprintf("%d of up to %d launches per arm", l.Launches, l.Most),
		}
		if l.Next > 0 {
			s.Progress += fmt.Sprintf(", next look at %d", l.Next)
		}
		var test *verdict.Test
		for _, r := range l.Rules {
			// A look is no decision: what is wrong with the launches may come to light after it.
			rule := Item{Text: r.Brief(), Mark: Mark{string(r.Verdict), string(r.Verdict) + " so far"}}
			for _, c := range r.Comparisons {
				t := c.Test
				if t == nil || t.Form == verdict.Exact {
					continue
				}
				if t.Stop == stats.Open && r.Verdict == verdict.Inconclusive {
					rule.Mark = Mark{open, "undecided"}
				}
				if n := len(t.Looks); n > 0 && t.Stop == stats.Open {
					rule.Note = "more launches decide it with a chance of about " +
						verdict.Digits(t.Looks[n-1].Chance, "share", -1)
				}
				if len(t.Values) > 0 && (test == nil || t.Relative() && !test.Relative()) {
					test = t
				}
			}
			s.Rules = append(s.Rules, rule)
		}
		if made := b.Store.Launches(store.LaunchFilter{Node: ev.Node, Purpose: ledger.ForBenchmark}); len(made) > 0 {
			if test == nil {
				test = b.asked(ev.Feature, made)
			}
			s.Figures = b.rounds(made[len(made)-1].Session, test.Arm, test.Against, test)
		}
		b.Standing = append(b.Standing, s)
	}
}

// asked is what a feature's first criterion on launches asks of them, before a look tested it.
func (b *builder) asked(feature string, made []*ledger.Launch) *verdict.Test {
	t := &verdict.Test{Arm: feature, Against: ledger.Baseline}
	for _, l := range made {
		if l.Variant == "accepted" {
			t.Against = l.Variant
		}
	}
	of := b.plan.Feature(feature)
	if of == nil {
		return t
	}
	for _, r := range of.Criteria {
		for _, c := range r.Compares() {
			if m := c.Metric; t.Metric == "" && m != nil && c.Tested() {
				t.Metric, t.Stat, t.Relation, t.Threshold, t.More = m.Cell+"."+m.Metric, m.Stat, string(m.Relation),
					c.Threshold, c.AtLeast
				t.Saved = t.Relation == "gain" && m.Better == string(measure.Lower)
			}
		}
	}
	return t
}
