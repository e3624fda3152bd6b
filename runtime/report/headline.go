package report

import (
	"fmt"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/store"
)

// Gated counts the gates of the plan.
type Gated struct {
	All int
	// Unlocked passed or are waived, and OnSeenData are those of them that were decided on
	// seen data.
	Unlocked, OnSeenData int
}

// GatedNow counts the gates as they stand.
func GatedNow(st *store.Store, now time.Time) (g Gated) {
	for _, r := range Rows(st) {
		if _, isPhase := PhaseNode(r.Node); !isPhase || r.Gone {
			continue
		}
		g.All++
		if r.Decided == nil {
			continue
		}
		if o := OverruledOf(r.Decided.Decision, st.Waiver(r.Node), now); o.Verdict.Unlocks() || o.State == "waived" {
			g.Unlocked++
			if o.OnSeenData {
				g.OnSeenData++
			}
		}
	}
	return g
}

// Mark is empty, or ", 1 on seen data".
func (g Gated) Mark() string {
	if g.OnSeenData == 0 {
		return ""
	}
	return fmt.Sprintf(", %d on seen data", g.OnSeenData)
}

// Line is "2 of 3 gates unlocked, 1 on seen data".
func (g Gated) Line() string {
	return fmt.Sprintf("%d of %s unlocked%s", g.Unlocked, verdict.Count(g.All, "gate"), g.Mark())
}

// Headline summarizes the result: the gates, and how far the stack is from the baseline.
func (p *Writer) Headline() {
	stack := AcceptedStack(p.st)
	sum := GatedNow(p.st, p.now).Line() + "."
	switch {
	case len(stack.Features) > 0:
		sum += " Accepted: " + stack.Sum() + "."
	case Stacks(p.st):
		sum += " Nothing is accepted yet."
	}
	p.Line("**%s**\n", sum)
	switch ends := EndsOf(p.st); {
	case ends.Pair != nil:
		p.Table(ends.Table())
	case ends.Command != "":
		p.Line("%s\n\n```sh\n%s\n```\n", Raw(Apart), Raw(ends.Command))
	}
}
