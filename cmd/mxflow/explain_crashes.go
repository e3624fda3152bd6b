package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
)

// crashes is the input by which a comparison reads whether launches of one arm
// crashed; nil for what reads something else.
func crashes(c verdict.Comparison, r verdict.Rule) *verdict.Input {
	for i, in := range r.Inputs {
		if strings.HasSuffix(in.Path, "engine.crashes") && strings.Contains(c.Text, in.Path) && len(in.PerLaunch) > 0 {
			return &r.Inputs[i]
		}
	}
	return nil
}

// crashesSaid argues a rule on crashes: what was counted is exact, and says little
// of how often an engine crashes.
func crashesSaid(out argument, c verdict.Comparison, in *verdict.Input) argument {
	crashed, n := 0, len(in.PerLaunch)
	for _, v := range in.PerLaunch {
		crashed += int(v) // each was a start of its own, before the one that counts
	}
	n += crashed
	out.How = "By counting the starts that crashed: no t-test, and what few starts did not show may still be there."
	out.Said = []string{
		fmt.Sprintf("Found %s in %s, wanted %s %s %s: %s.", countOf(crashed, "crash", "crashes"), countOf(n, "start", "starts"), in.Path, c.Op, c.Right, holdsWord(c.Holds)),
		fmt.Sprintf("That shows that less than %.2g %% of all starts crash (95 %% confidence), and no more.", 100*stats.AtMost(crashed, n, 0.95)),
	}
	return append1(out, c.Test.Note)
}
