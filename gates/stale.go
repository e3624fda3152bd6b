package gates

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
)

// stale names an arm of which a launch was no fresh start, and is empty for all
// others.
func stale(a Arm) string {
	for _, l := range a.Launches {
		if l.Stale {
			return a.Name
		}
	}
	return ""
}

// unsettle takes the decision away from a rule that read numbers of an engine
// which was not started for them. Launches are the replicates: two looks at one
// start differ by less than two starts do, so that neither yes nor no follows.
// What was computed stays, for whoever reads it.
func (c *ruling) unsettle() verdict.Rule {
	var names []string
	for _, r := range c.readings {
		if r.stale != "" {
			names = merged(names, []string{r.stale})
		}
	}
	if len(names) == 0 {
		return c.out
	}
	for i, leaf := range c.program.Leaves {
		if len(c.leaves[leaf].stale) > 0 {
			c.out.Comparisons[i].Verdict = verdict.Inconclusive
		}
	}
	c.out.Open = nil
	why := fmt.Sprintf("launches of %s were no fresh starts: its server was running before them, so the numbers say nothing of how starts differ; give its endpoint a restart command", verdict.And(names))
	if c.out.Verdict != verdict.Inconclusive {
		why = fmt.Sprintf("would be %s, but %s", c.out.Verdict, why)
	}
	c.out.Reasons = append([]string{why}, c.out.Reasons...)
	c.out.Verdict = verdict.Inconclusive
	return c.out
}

// staleRow is why a row of a comparison decides nothing.
const staleRow = "its server was running before its launches, so that they are no fresh starts; give its endpoint a restart command"

func staleReference(contenders []Contender, reference string) bool {
	for _, c := range contenders {
		if c.Name == reference && stale(c.Arm) != "" {
			return true
		}
	}
	return false
}
