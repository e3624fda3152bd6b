package steps

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// says is the choice in one line. Its gains are of all launches, and a criterion on
// the same metric reads those up to the look that decided it: where both stand side by
// side, the line says so.
func (d *decideChoice) says(all []*alternative, best *alternative, v verdict.Verdict) string {
	var others []string
	rivals := 0
	for _, c := range all {
		if c == best {
			continue
		}
		if c.decision.Verdict == verdict.Pass {
			rivals++
		}
		others = append(others, fmt.Sprintf("%s %s%s", d.value(c), c.decision.Verdict, gainWord(c.gain)))
	}
	rest := strings.Join(others, ", ")
	if v != verdict.Pass {
		if best.gain != nil {
			rest += fmt.Sprintf(" (%s over all launches)", d.feature.Choose.Prefer)
		}
		return fmt.Sprintf("no alternative of %s passes: %s %s%s, %s; what follows is of %s", d.feature.Choose.Knob, d.value(best), best.decision.Verdict, gainWord(best.gain), rest, best.feature.Name)
	}
	over := ""
	if best.gain != nil {
		over = " over all launches"
	}
	line := fmt.Sprintf("%s wins%s in %s%s; %s", d.value(best), gainWord(best.gain), d.feature.Choose.Prefer, over, rest)
	if rivals > 0 && best.gain == nil {
		line += fmt.Sprintf("; %s was not measured, so that the first in the plan's order is taken", d.feature.Choose.Prefer)
	}
	return line
}

func (d *decideChoice) value(c *alternative) string { return c.feature.Set[d.feature.Choose.Knob] }

func gainWord(gain *float64) string {
	if gain == nil {
		return ""
	}
	return " " + verdict.Percent(*gain, 1)
}
