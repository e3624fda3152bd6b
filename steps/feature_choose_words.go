package steps

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// says is the choice in one line.
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
		return fmt.Sprintf("no alternative of %s passes: %s %s%s, %s; what follows is of %s", d.feature.Choose.Knob, d.value(best), best.decision.Verdict, gainWord(best.gain), rest, best.feature.Name)
	}
	line := fmt.Sprintf("%s wins%s in %s; %s", d.value(best), gainWord(best.gain), d.feature.Choose.Prefer, rest)
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
