package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// mostHeadlines limits the metrics in a page's headline: more are in the tables.
const mostHeadlines = 6

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
		if _, isPhase := phaseNode(r.Node); !isPhase || r.Gone {
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
	return fmt.Sprintf("%d of %s unlocked%s", g.Unlocked, tell.Count(g.All, "gate"), g.Mark())
}

// headline summarizes the result: the gates, and how far the stack is from the baseline.
func (p *page) headline() {
	stack := AcceptedStack(p.st)
	sum := GatedNow(p.st, p.now).Line() + "."
	switch {
	case len(stack.Features) > 0:
		sum += " Accepted: " + stack.Sum() + "."
	case Stacks(p.st):
		sum += " Nothing is accepted yet."
	}
	p.para("**%s**", sum)
	if len(stack.Features) == 0 {
		return
	}
	t := Table{Head: []string{"Metric", "Baseline", "Accepted stack", "Change"}}
	for _, b := range Peaks(p.st) {
		if b.Now == nil || b.Now.Variant == ledger.Baseline || len(b.NowBase.PerLaunch) == 0 || len(t.Rows) == mostHeadlines {
			continue
		}
		t.Rows = append(t.Rows, []string{b.Name(), Measured(b.NowBase), Measured(b.NowValue), ChangeWords(b.NowValue, b.NowBase)})
	}
	if len(t.Rows) > 0 {
		p.table(t)
	}
}

// Name is the metric's name in tables: its address, and its statistic if that is not the
// usual one.
func (v Value) Name() string {
	if v.Stat == "median" || v.Stat == "mean" {
		return v.Address
	}
	return v.Address + "." + v.Stat
}

// Measured is a value as tables show it: the mean with the standard deviation over
// launches, and its unit.
func Measured(v Value) string {
	switch len(v.PerLaunch) {
	case 0:
		return "–"
	case 1:
		return tell.Number(v.Mean, v.Unit)
	}
	if v.Unit == "share" {
		return tell.PlusMinus(100*v.Mean, 100*v.Std) + "%"
	}
	text := tell.PlusMinus(v.Mean, v.Std)
	if v.Unit != "" && v.Unit != "count" {
		text += " " + v.Unit
	}
	return text
}

// ChangeWords is how a value changed against another, and whether for the worse.
func ChangeWords(v, base Value) string {
	change, ok := v.Change(base)
	if !ok || len(base.PerLaunch) == 0 || len(v.PerLaunch) == 0 {
		return "–"
	}
	text := tell.Percent(change, 1)
	if base.BetterThan(v) && v.Better != "" {
		text += ", worse"
	}
	return text
}

// Markdown is the table in Markdown, followed by an empty line.
func (t Table) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(cells(t.Head), " | "), strings.Repeat(" --- |", len(t.Head)))
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells(row), " | "))
	}
	return b.String() + "\n"
}
