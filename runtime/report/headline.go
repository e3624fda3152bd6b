package report

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// mostHeadlines limits the metrics in a page's headline: more are in the tables.
const mostHeadlines = 6

// headline summarizes the result: the gates, and how far the stack is from the baseline.
func (p *page) headline() {
	passed, all := 0, 0
	for _, r := range Rows(p.st) {
		if _, isPhase := phaseNode(r.Node); !isPhase || r.Gone {
			continue
		}
		all++
		if r.Decided != nil && (r.Decided.Verdict.Unlocks() || OverruledOf(r.Decided.Decision, p.st.Waiver(r.Node), p.now).State == "waived") {
			passed++
		}
	}
	stack := AcceptedStack(p.st)
	sum := "Nothing is accepted yet"
	if len(stack.Features) > 0 {
		sum = "Accepted: " + stack.Sum()
	}
	p.para("**%d of %d gates unlocked. %s.**", passed, all, strings.TrimSuffix(sum, "."))
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
		text += " (worse)"
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
