// Package report turns the contents of a state directory into a page for a team: what was
// decided, by which numbers, on which machine. It decides nothing and measures nothing.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Markdown writes the results page; moved may be nil if nothing is known.
func Markdown(w io.Writer, st *store.Store, moved Moved) error {
	runs := st.Runs()
	if len(runs) == 0 {
		return fmt.Errorf("nothing was applied here, so there is nothing to report")
	}
	v, err := st.Run(runs[len(runs)-1].ID)
	if err != nil {
		return err
	}
	p := NewWriter(st, moved)
	p.Line("# Results of plan %s\n", v.Plan)
	p.Headline()
	state := map[string]string{UnderWay: "under way", Killed: "did not finish (killed?)"}[WorkOn(st).State]
	switch {
	case v.Done:
		state = fmt.Sprintf("%s, exit status %d", v.Reason.String(), v.Exit)
	case state == "":
		state = "under way, or killed"
	}
	p.Line("Run `%s` of %s: %s.\n", v.ID, v.Started.UTC().Format("2006-01-02 15:04 MST"), state)
	if s := v.Start; s != nil {
		p.Line("%s, plan digest `%.16s`. Machine: %s.\n", s.Tool, s.PlanDigest, verdict.Pairs(s.Environment, " ", ", "))
	}
	p.Gates()
	p.Again()
	p.Comparisons()
	p.Features()
	p.Stack()
	p.Targets()
	p.Hypotheses()
	p.launches()
	p.Line("Workload labels: pp2048 tg32 @ d4096, c16 means prompts of 2048 tokens after 4096 of context, answers")
	p.Line("of 32, 16 concurrent requests. Each number is the mean over the launches that the decision read, of a launch's value: the")
	p.Line("median, or the percentile or total in the column's name; ± is the standard deviation over launches. The mean is of logs unless")
	p.Line("a value is zero, and ± then the standard deviation of the logs times the mean. Below it is the change from the variant it was")
	p.Line("compared with: [low, high] are the bounds of the decision that a rule made by it, 95%% CI is an interval by which nothing was")
	p.Line("decided, and ~ marks a change that the launches do not show.")
	_, err = io.WriteString(w, p.String())
	return err
}

// Features are those with a decision, with what it follows from.
func (p *Writer) Features() {
	for _, d := range Standing(p.st) {
		if d.Kind == ledger.KindFeature || d.Kind == ledger.KindCriteria {
			p.feature(d.Decision)
		}
	}
}

func (p *Writer) feature(d *ledger.Decision) {
	p.Line("## %s: %s\n", verdict.Capital(strings.Replace(d.Node, ".", " ", 1)), OverruledOf(d, nil, p.now).Word())
	for _, line := range verdict.Lines(d.Marks()) {
		p.Line("%s.\n", line)
	}
	if r := d.Retraction; r != nil {
		p.Line("No longer: %s The following was %s.\n", verdict.Stopped(r.Of(d.Node)), Withdrawn(r))
		for _, was := range p.st.History(d.Node) {
			if was.Attempt == r.Attempt {
				d = was.Decision
			}
		}
	}
	if h := d.Hypothesis; h != nil {
		p.Line("Hypothesis: %s %s, because %s.", h.Metric, h.Expect, strings.TrimSuffix(h.Because, "."))
		if c := claimOf(d); c.seen() != "–" {
			outcome := ""
			if h.Outcome != "" {
				outcome = " Hypothesis " + c.Words() + "."
			}
			p.Line("Measured: %s.%s", c.seen(), outcome)
		}
		p.Line("")
	}
	if len(d.Levels) > 0 {
		// Those of the stack that it builds on, qualified beside it, have its name before theirs.
		var own, under []string
		on := ""
		for _, l := range d.Levels {
			if variant, level, of := strings.Cut(l.Name, "/"); of {
				on, under = variant, append(under, level+" "+string(l.Verdict))
				continue
			}
			own = append(own, l.Name+" "+string(l.Verdict))
		}
		words := strings.Join(own, ", ")
		if on != "" {
			words += fmt.Sprintf("; base (%s): %s", on, strings.Join(under, ", "))
		}
		p.Line("Levels: %s.\n", words)
	}
	t := Table{Head: []string{"Criterion", "Rule", "Verdict", "Evidence"}}
	for _, r := range d.Rules {
		t.Rows = append(t.Rows, []string{RuleLabel(r), "`" + r.Expr + "`", string(r.Verdict), strings.Join(Told(&p.told, d, r.Reasons), "\n")})
	}
	p.Table(t)
	if len(d.Findings) > 0 {
		p.Line("Besides the criteria:\n")
	}
	p.List(verdict.Lines(d.Findings))
	p.Side(d)
}

// RuleLabel is the name of a rule in tables.
func RuleLabel(r ledger.Rule) string {
	if !r.Decides {
		return r.Name + " (recorded only)"
	}
	return r.Name
}

// Side are a decided feature's changed metrics, and its variants side by side.
func (p *Writer) Side(d *ledger.Decision) {
	if p.moved != nil {
		if all := p.moved(d); len(all) > 0 {
			p.Line(MovedTitle + "\n")
			p.Table(Movements(all))
		}
	}
	for _, t := range ArmTables(p.st, d) {
		p.Table(t)
	}
	p.List(verdict.Lines(Limits(ArmsOf(p.st, d)...)))
}

// Gates are the phases in the plan's order, and the baseline if it did not pass.
func (p *Writer) Gates() {
	p.Line("## Gates\n")
	t := Table{Head: []string{"Phase", "Verdict", "Why"}}
	for _, r := range Rows(p.st) {
		switch phase, isPhase := PhaseNode(r.Node); {
		case r.Gone:
		case r.Decided != nil && (isPhase || r.Node == ledger.Baseline && !r.Decided.Verdict.Unlocks()):
			d := r.Decided.Decision
			why, o := strings.Join(Told(&p.told, d, d.Why()), "\n"), OverruledOf(d, p.st.Waiver(d.Node), p.now)
			if o.State != "" && !slices.EqualFunc(o.Reasons, d.Why(), verdict.Reason.Equal) {
				why = verdict.Semicolons(o.Reasons) + "\n" + why
			}
			t.Rows = append(t.Rows, []string{cmp.Or(d.Phase, d.Node), "**" + o.Word() + "**", why})
		case !r.Locked.IsZero() && isPhase:
			t.Rows = append(t.Rows, []string{phase, "locked", r.Locked.String()})
		}
	}
	p.Table(t)
}

// PhaseNode is the phase that a node decides, if it does.
func PhaseNode(node string) (phase string, ok bool) {
	phase, ok = strings.CutPrefix(node, "phase.")
	return phase, ok && !strings.Contains(phase, ".step.")
}

// Told are a decision's reasons as lines: its own tests' findings every time, what
// prevented them once per page.
func Told(page *verdict.Page, d *ledger.Decision, reasons []verdict.Reason) []string {
	if lines := page.Each(reasons...); !TestsDecided(d) {
		return lines
	}
	return verdict.Lines(reasons)
}

// TestsDecided reports whether a decision follows from its own tests: every rule that did
// not pass has a comparison whose test did not. Everything else has a cause below it.
func TestsDecided(d *ledger.Decision) bool {
	if len(d.Rules) == 0 {
		return false
	}
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass {
			return false
		}
	}
	for _, r := range d.Rules {
		tested := r.Verdict == verdict.Pass
		for _, c := range r.Comparisons {
			t := c.Test
			tested = tested || c.Verdict != verdict.Pass && t != nil && t.Form != verdict.Exact
		}
		if !tested {
			return false
		}
	}
	return true
}

// ArmTables are the variants of a decision side by side: a table per workload, and for
// what a launch has once. Below each number is its change from the parent's in its session.
func ArmTables(st *store.Store, d *ledger.Decision) (tables []Table) {
	arms, by := ArmsOf(st, d), tests(d)
	all := launchesOf(arms)
	parent := EvidenceOf(d).Parent.Name
	for _, g := range Groups(all) {
		t := Table{Head: []string{"Variant", "Launches"}}
		if g.ByCell() {
			t.Head = append([]string{"Workload", "Sent"}, t.Head...)
		}
		for _, c := range g.Columns {
			t.Head = append(t.Head, c.Head)
		}
		for _, cell := range g.Cells {
			for _, a := range arms {
				row := []string{a.Variant, fmt.Sprint(len(a.Launches))}
				if g.ByCell() {
					row = append([]string{cell, Sent(all, cell)}, row...)
				}
				base := slices.IndexFunc(arms, func(b *Arm) bool { return b.Variant == parent && b.Session == a.Session })
				for _, c := range g.Columns {
					text := across(a.Launches, c, cell)
					if base >= 0 && arms[base] != a {
						at := c
						at.Cell = cmp.Or(c.Cell, cell)
						if change := Compare(a, arms[base], at, by).ChangeText(); change != "–" {
							text += "\n" + change
						}
					}
					row = append(row, text)
				}
				t.Rows = append(t.Rows, row)
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// across is one column over the launches of a variant. A percentile for which a launch has
// too few values is marked.
func across(launches []*ledger.Launch, c Column, cell string) string {
	if s, whole := sampleOf(launches, c.Address(cell), c.Stat); whole {
		return s.Bare()
	}
	for _, l := range launches {
		if s, there := c.Of(l, cell); !there {
			return "–"
		} else if _, has := s.Stats[c.Stat]; !has {
			return gates.Lacks(s, c.Stat).String()
		}
	}
	return "–"
}

// launches writes the list of individual launches, so nobody has to trust a mean.
func (p *Writer) launches() {
	p.Line("## Launches\n")
	t := Table{Head: []string{"Launch", "Purpose", "Variant", "Seconds", "Outcome"}}
	for _, l := range p.st.Launches(store.LaunchFilter{}) {
		outcome := "ok"
		switch {
		case !l.OK:
			outcome = l.Error.String()
		case len(l.Invalid) > 0:
			outcome = "invalid: " + strings.Join(verdict.Lines(l.Invalid), "\n")
		}
		t.Rows = append(t.Rows, []string{l.ID, l.Purpose, l.Variant, fmt.Sprintf("%.1f", l.Seconds), outcome})
	}
	p.Table(t)
	p.Line("`mxflow show LAUNCH` prints all metrics of a launch and the paths of its log and samples.\n")
}

// Again is what readers must know about decisions that were not the first.
func (p *Writer) Again() {
	t := Table{Head: []string{"Node", "Verdict", "Note"}}
	for _, d := range Standing(p.st) {
		if again := d.Tries(); len(again) > 0 {
			t.Rows = append(t.Rows, []string{d.Node, string(d.Verdict), strings.Join(verdict.Lines(again), "\n")})
		}
	}
	if len(t.Rows) > 0 {
		p.Line("## Decided more than once\n")
		p.Table(t)
	}
}
