package page

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
)

// Standing is the state of one feature's tests while its session continues.
type Standing struct {
	Feature, Phase string
	Facts          []Fact
	// Closed is why no more launches are made for it, unless a look decided that.
	Closed  string
	Rules   []StandingRule
	Figures []Figure
}

// StandingRule is one rule that launches could settle, or have settled.
type StandingRule struct {
	Name, Rule string
	Mark       Mark
	// Required, Now and Chance are its test's: the threshold, the estimate with its
	// bounds, and how likely a later look decides; empty without one.
	Required, Now, Chance string
	Evidence              []string
}

// standing adds the state of tests, from the looks that a run reports.
func (b *builder) standing(looks []runtime.Event) {
	for _, ev := range looks {
		l := ev.Look
		if l == nil {
			continue
		}
		s := Standing{Feature: ev.Feature, Phase: ev.Phase, Closed: ev.Why.String()}
		s.Facts = []Fact{{"launches per arm", fmt.Sprintf("%d of up to %d", l.Launches, l.Most)}}
		var plan []int
		for _, r := range l.Rules {
			s.Rules = append(s.Rules, b.standingRule(r, &s))
			for _, c := range r.Comparisons {
				if c.Test != nil && len(c.Test.Plan) > len(plan) {
					plan = c.Test.Plan
				}
			}
		}
		if made := slices.IndexFunc(plan, func(n int) bool { return n > l.Launches }); len(plan) > 0 {
			if made < 0 {
				made = len(plan)
			}
			s.Facts = append(s.Facts, Fact{"looks", fmt.Sprintf("%d of up to %d", made, len(plan))})
		}
		next := "none: settled"
		switch {
		case l.Next > 0:
			next = "at " + verdict.Launches(l.Next) + " per arm"
		case l.Launches >= l.Most:
			next = "none: all launches are made"
		case s.Closed != "":
			next = "none"
		}
		s.Facts = append(s.Facts, Fact{"next look", next})
		b.Standing = append(b.Standing, s)
	}
}

func (b *builder) standingRule(r verdict.Rule, s *Standing) StandingRule {
	// A look is no decision: what is wrong with the launches may come to light after it.
	out := StandingRule{Name: r.Name, Rule: r.Expr, Mark: Mark{string(r.Verdict), string(r.Verdict) + " so far"}, Evidence: verdict.Lines(r.Reasons)}
	for _, c := range r.Comparisons {
		t := c.Test
		if t == nil {
			continue
		}
		if t.Stop == verdict.StopOpen && r.Verdict == verdict.Inconclusive {
			out.Mark = Mark{open, "undecided"}
		}
		if fig, ok := b.test(r.Name+": launches by round, and the bounds so far", t); ok {
			s.Figures = append(s.Figures, fig)
		}
		if out.Required != "" || t.Form == verdict.Exact {
			continue
		}
		out.Required = atMost + " " + verdict.Number(t.Threshold, t.OwnUnit())
		if t.More {
			out.Required = atLeast + " " + verdict.Number(t.Threshold, t.OwnUnit())
		}
		if t.Estimate != nil {
			out.Now = verdict.Interval(*t.Estimate, t.Low, t.High, t.OwnUnit())
		}
		if n := len(t.Looks); n > 0 && t.Stop == verdict.StopOpen {
			out.Chance = verdict.Number(t.Looks[n-1].Chance, "share")
		}
		for _, beside := range t.Beside {
			if t.Stop == verdict.StopOpen {
				out.Evidence = append(out.Evidence, verdict.Sentence(beside))
			}
		}
	}
	return out
}

const atLeast, atMost = "≥", "≤"
