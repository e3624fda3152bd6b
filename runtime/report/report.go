// Package report turns the contents of a state directory into a page for a team: what was
// decided, by which numbers, on which machine. It decides nothing and measures nothing.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

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
	last := runs[len(runs)-1]
	view, err := st.Run(last.ID)
	if err != nil {
		return err
	}
	p := &page{w: w, st: st, now: time.Now(), moved: moved}
	p.para("# Results of plan %s", last.Plan)
	p.headline()
	p.header(view)
	p.gates()
	p.again()
	p.comparisons()
	p.features()
	p.stack()
	p.targets()
	p.hypotheses()
	p.launches()
	p.line("Workload labels: pp2048 tg32 @ d4096, c16 means prompts of 2048 tokens after 4096 of context, answers")
	p.line("of 32, 16 concurrent requests. Each number is the mean over the launches that the decision read, of a launch's value: the")
	p.line("median, or the percentile or total in the column's name; ± is the standard deviation over launches. The mean is of logs unless")
	p.line("a value is zero, and ± then the standard deviation of the logs times the mean. Below it is the change from the variant it was")
	p.line("compared with: [low, high] are the bounds of the decision that a rule made by it, 95%% CI is an interval by which nothing was")
	p.line("decided, and ~ marks a change that the launches do not show.")
	return p.err
}

type page struct {
	w     io.Writer
	st    *store.Store
	now   time.Time
	moved Moved
	// told tracks which causes were printed, each once.
	told verdict.Page
	err  error
}

// line writes a line. Its contents may be foreign.
func (p *page) line(format string, args ...any) {
	for i, arg := range args {
		if text, is := arg.(string); is {
			args[i] = Inert(text)
		}
	}
	p.raw(format, args...)
}

// raw writes a line that is already Markdown.
func (p *page) raw(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// para writes a line and an empty one.
func (p *page) para(format string, args ...any) {
	p.line(format+"\n", args...)
}

// table writes a table, escaping what Markdown would read as a column.
func (p *page) table(t Table) {
	p.raw("%s", strings.TrimSuffix(t.Markdown(), "\n"))
}

func cells(row []string) (out []string) {
	for _, c := range row {
		out = append(out, cellEscapes.Replace(Inert(strings.TrimSpace(c))))
	}
	return out
}

var cellEscapes = strings.NewReplacer("|", `\|`, "\n", "<br>")

func (p *page) header(v *store.RunView) {
	state := map[string]string{UnderWay: "under way", Killed: "did not finish (killed?)"}[WorkOn(p.st).State]
	switch {
	case v.Done:
		state = fmt.Sprintf("%s, exit status %d", v.Reason.String(), v.Exit)
	case state == "":
		state = "under way, or killed"
	}
	p.para("Run `%s` of %s: %s.", v.ID, v.Started.UTC().Format("2006-01-02 15:04 MST"), state)
	if s := v.Start; s != nil {
		var env []string
		for k, value := range s.Environment {
			env = append(env, k+" "+value)
		}
		sort.Strings(env)
		p.para("%s, plan digest `%.16s`. Machine: %s.", s.Tool, s.PlanDigest, strings.Join(env, ", "))
	}
}

func (p *page) features() {
	for _, d := range Standing(p.st) {
		if d.Kind == ledger.KindFeature || d.Kind == ledger.KindCriteria {
			p.feature(d.Decision)
		}
	}
}

func (p *page) feature(d *ledger.Decision) {
	p.para("## %s: %s", verdict.Capital(strings.Replace(d.Node, ".", " ", 1)), OverruledOf(d, nil, p.now).Word())
	for _, line := range verdict.Lines(d.Marks()) {
		p.para("%s.", line)
	}
	if r := d.Retraction; r != nil {
		d = p.before(d)
		p.para("No longer: %s The following was %s.", verdict.Stopped(r.Of(d.Node)), Withdrawn(r))
	}
	if h := d.Hypothesis; h != nil {
		p.line("Hypothesis: %s %s, because %s.", h.Metric, h.Expect, strings.TrimSuffix(h.Because, "."))
		if c := (Claim{Measured: h.Measured, Tested: tested(h)}); c.seen() != "–" {
			p.line("Measured: %s.%s", c.seen(), outcome(h))
		}
		p.line("")
	}
	if len(d.Levels) > 0 {
		p.para("Levels: %s.", levelWords(d))
	}
	t := Table{Head: []string{"Criterion", "Rule", "Verdict", "Evidence"}}
	for _, r := range d.Rules {
		label := r.Name
		if !r.Decides {
			label += " (recorded only)"
		}
		t.Rows = append(t.Rows, []string{label, "`" + r.Expr + "`", string(r.Verdict), strings.Join(Told(&p.told, d, r.Reasons), "\n")})
	}
	p.table(t)
	for i, line := range verdict.Lines(d.Findings) {
		if i == 0 {
			p.para("Besides the criteria:")
		}
		p.line("- %s", line)
	}
	if len(d.Findings) > 0 {
		p.line("")
	}
	p.movements(d)
	p.arms(d)
}

func (p *page) movements(d *ledger.Decision) {
	if p.moved == nil {
		return
	}
	if all := p.moved(d); len(all) > 0 {
		p.para(MovedTitle)
		p.table(Movements(all))
	}
}

// levelWords are a feature's levels and their outcomes. Those of the stack that it builds
// on, qualified beside it, are prefixed with its name.
func levelWords(d *ledger.Decision) string {
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
	return words
}

// outcome is the hypothesis' outcome, empty if nobody tested it.
func outcome(h *ledger.Hypothesis) string {
	if h.Outcome == "" {
		return ""
	}
	return " Hypothesis " + Claim{Outcome: h.Outcome, PostHoc: h.PostHoc}.Words() + "."
}

// gates lists phases in the plan's order, and the baseline if it did not pass.
func (p *page) gates() {
	p.para("## Gates")
	t := Table{Head: []string{"Phase", "Verdict", "Why"}}
	for _, r := range Rows(p.st) {
		switch phase, isPhase := phaseNode(r.Node); {
		case r.Gone:
		case r.Decided != nil && (isPhase || r.Node == ledger.Baseline && !r.Decided.Verdict.Unlocks()):
			t.Rows = append(t.Rows, p.gate(r.Decided.Decision))
		case !r.Locked.IsZero() && isPhase:
			t.Rows = append(t.Rows, []string{phase, "locked", r.Locked.String()})
		}
	}
	p.table(t)
}

// phaseNode is the phase that a node decides, if it does.
func phaseNode(node string) (phase string, ok bool) {
	phase, ok = strings.CutPrefix(node, "phase.")
	return phase, ok && !strings.Contains(phase, ".step.")
}

func (p *page) gate(d *ledger.Decision) []string {
	why := strings.Join(Told(&p.told, d, d.Why()), "\n")
	o := OverruledOf(d, p.st.Waiver(d.Node), p.now)
	word := "**" + o.Word() + "**"
	if o.State != "" {
		if !slices.EqualFunc(o.Reasons, d.Why(), verdict.Reason.Equal) {
			why = verdict.Semicolons(o.Reasons) + "\n" + why
		}
	}
	return []string{cmp.Or(d.Phase, d.Node), word, why}
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

// arms writes the table of a feature's variants side by side.
func (p *page) arms(d *ledger.Decision) {
	for _, t := range ArmTables(p.st, d) {
		p.table(t)
	}
	if shares := Limits(ArmsOf(p.st, d)...); len(shares) > 0 {
		for _, share := range shares {
			p.line("- %s", share.String())
		}
		p.line("")
	}
}

// ArmTables are the variants of a decision side by side: a table per workload, and for
// what a launch has once. Below each number is its change from the parent's in its session.
func ArmTables(st *store.Store, d *ledger.Decision) (tables []Table) {
	arms, by := ArmsOf(st, d), tests(d)
	var all []*ledger.Launch
	for _, a := range arms {
		all = append(all, a.Launches...)
	}
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
func (p *page) launches() {
	p.para("## Launches")
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
	p.table(t)
	p.para("`mxflow show LAUNCH` prints all metrics of a launch and the paths of its log and samples.")
}

// again writes what readers must know about decisions that were not the first.
func (p *page) again() {
	var rows [][]string
	for _, d := range Standing(p.st) {
		if again := d.Tries(); len(again) > 0 {
			rows = append(rows, []string{d.Node, string(d.Verdict), strings.Join(verdict.Lines(again), "\n")})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.para("## Decided more than once")
	p.table(Table{Head: []string{"Node", "Verdict", "Note"}, Rows: rows})
}
