package plans

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
)

// clashes reports two conditions that cannot hold together, at the second one.
func (c *planCheck) clashes(found *clash) {
	here, there := found.here, found.there
	if there == nil {
		return // what a quantity cannot be by itself is said of it alone
	}
	asked := fmt.Sprintf("%s asks for %s, and %s for %s", c.named(there), there.text, c.named(here), here.text)
	together := here.rule == there.rule
	if found.point {
		one := fmt.Sprintf("%s and %s leave one number", there.text, here.text)
		if !together {
			one = asked + ". That leaves one number"
		}
		c.condition(here, "Can only be inconclusive", one+", and launches scatter, so that none of them shows "+here.written.Path+" to be exactly that: this never passes. Leave room between the bounds.")
		return
	}
	asked += ": they never pass together."
	advice := "Correct one of the two, or remove it; where either is enough, join them with or in one rule."
	switch {
	case together:
		asked = fmt.Sprintf("%s and %s cannot both hold, so that this never passes.", there.text, here.text)
		advice = "Correct one of the two, or write or between them where either is enough."
	case there.of != "":
		advice = fmt.Sprintf("Correct one of the two, or do not ask for feature %q to have passed.", there.of)
	}
	c.condition(here, "Rules contradict each other", asked+" "+opposed(there, here)+" "+advice)
}

// noSide reports alternatives of a rule none of which can hold beside what else has
// to.
func (c *planCheck) noSide(r *Rule, found []*clash) {
	const most = 4
	var why []string
	for i, side := range found {
		switch {
		case i == most:
			why = append(why, "so it goes on")
		case i > most:
		case side.there == nil:
			why = append(why, side.here.text+" never holds")
		case side.there.rule == r:
			why = append(why, fmt.Sprintf("%s contradicts %s", side.here.text, side.there.text))
		default:
			why = append(why, fmt.Sprintf("%s contradicts %s of %s", side.here.text, side.there.text, c.named(side.there)))
		}
	}
	c.warn(r.ExprRange, "Rules contradict each other", "No side of the or can hold beside what has to hold as well, so that this never passes: %s. Correct one side, or what it contradicts.", verdict.And(why))
}

// opposed says which values of a quantity two conditions want.
func opposed(there, here *fact) string {
	switch {
	case here.words != nil:
		return fmt.Sprintf("%s cannot be %s and %s at once.", here.in.Path, there.spoken(), here.spoken())
	case here.written.quantity() == there.written.quantity():
		return fmt.Sprintf("%s cannot be %s and %s at once.", here.written.Path, there.wants, here.wants)
	}
	return fmt.Sprintf("%s cannot be %s and %s at once.", here.in.Path, there.holds, here.holds)
}

func (f *fact) spoken() string {
	list := strings.Join(f.words, ", ")
	switch {
	case f.without:
		return "other than " + list
	case len(f.words) > 1:
		return "one of " + list
	}
	return list
}

// named says which rule or criterion a condition is of, and where it stands.
func (c *planCheck) named(f *fact) string {
	name := fmt.Sprintf("%s %q", f.kind, f.rule.Name)
	if f.of != "" {
		name += fmt.Sprintf(" of feature %q", f.of)
	}
	at := c.placed(f, &ruleError{}).Subject
	return fmt.Sprintf("%s (%s:%d)", name, at.Filename, at.Start.Line)
}

// condition reports something of one condition.
func (c *planCheck) condition(f *fact, summary, detail string) {
	d := c.placed(f, &ruleError{summary: summary, detail: detail})
	d.Severity = hcl.DiagWarning
	c.diags = append(c.diags, d)
}

func (c *planCheck) placed(f *fact, e *ruleError) *hcl.Diagnostic {
	if f.leaf == nil {
		e.at = -1 // a yes or no by itself is shown as the whole rule
		return e.diagnostic(f.rule.ExprRange, f.rule.Expr, c.files)
	}
	return c.about(f.rule, f.leaf, e)
}
