package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// doubt is what speaks against deciding a candidate by what was kept of it.
type doubt struct {
	// verdict is what it comes to at best, a pass where nothing speaks against it.
	verdict verdict.Verdict
	why     verdict.Reason
	// other is set where an apply would measure something else, so that what was
	// measured decides nothing, neither way.
	other bool
}

// doubt compares what a candidate was measured by with what the changed plan asks
// for: something else makes it invalid, something besides that was never measured
// makes it inconclusive, and so does not knowing. Rules, thresholds, targets, and
// how gates decide are free to change: they are what replaying with another plan is
// about.
func (c *changed) doubt(candidate *plans.Feature, kept *gates.Feature, run string) doubt {
	if why := c.otherwise(candidate, kept); !why.IsZero() {
		return doubt{verdict.Invalid, why, true}
	}
	recorded := c.planOf(run)
	if recorded.res == nil {
		return unknownStarts(recorded, recorded.why)
	}
	was := candidateNamed(recorded.res.Plan, candidate.Name)
	if was == nil {
		return unknownStarts(recorded, verdict.New(code.PlanWithout).On(candidate.Name))
	}
	if !recorded.exact {
		c.notes = noted(c.notes, verdict.New(code.ComparedInexact, recorded.lacking()...))
	}
	then, now := startedBy(recorded.res.Plan, was, kept.Knobs), startedBy(c.plan, candidate, kept.Knobs)
	differs, added := differing(then, now)
	if !slices.Equal(common(then.order, now.texts), common(now.order, then.texts)) {
		differs = append(differs, item{code: code.StartsOrder})
	}
	if len(differs) > 0 {
		return doubt{verdict.Invalid, verdict.New(code.StartsOther).From(reasonsOf(differs)...), true}
	}
	if added = append(added, c.newKnobs(candidate, kept)...); len(added) > 0 {
		return doubt{verdict.Inconclusive, verdict.New(code.StartsMore).From(reasonsOf(added)...), true}
	}
	if len(recorded.otherwise) > 0 && (now.holds(c.plan.Secrets()) || recorded.hangsOn(was.Name, kept.Knobs, then)) {
		return doubt{verdict.Inconclusive, verdict.New(code.SecretsUnknown, verdict.List("inputs", recorded.otherwise)), true}
	}
	if why := c.perhapsOn(candidate, kept); !why.IsZero() {
		return doubt{verdict.Inconclusive, why, true}
	}
	return doubt{verdict: verdict.Pass}
}

// unknownStarts is the doubt where there is no plan to compare with.
func unknownStarts(p *recordedPlan, why verdict.Reason) doubt {
	return doubt{verdict.Inconclusive, verdict.New(code.StartsUnknown, p.lacking()...).From(why), false}
}

// candidateNamed is a feature, an alternative or a confirmation by its name; nil
// where the plan has none.
func candidateNamed(p *plans.Plan, name string) *plans.Feature {
	for _, f := range Candidates(p) {
		if f.Name == name {
			return f
		}
	}
	return nil
}
