// Package report turns what a state directory holds into a page that a team
// reads: what was decided, by which numbers, on which machine. It decides
// nothing and measures nothing.
package report

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Heading begins every results page.
const Heading = "# Results of plan "

// Markdown writes the results page.
func Markdown(w io.Writer, st *store.Store) error {
	runs := st.Runs()
	if len(runs) == 0 {
		return fmt.Errorf("nothing was applied here, so there is nothing to report")
	}
	last := runs[len(runs)-1]
	view, err := st.Run(last.ID)
	if err != nil {
		return err
	}
	p := &page{w: w, st: st, now: time.Now()}
	p.line(Heading+"%s", last.Plan)
	p.line("")
	p.header(view)
	p.gates()
	p.overruled()
	p.again()
	p.comparisons()
	p.features()
	p.stack()
	p.targets()
	p.hypotheses()
	p.interactions()
	p.launches()
	p.observed()
	p.starts()
	p.line("What was sent is labelled as the field does: pp2048 tg32 @ d4096, c16 are prompts of 2048 tokens behind 4096 of context, answers")
	p.line("of 32, 16 requests at once. Each number is the mean over launches (of logs, unless a value is zero) of what a launch measured:")
	p.line("its median, or the percentile or total that the column names; ± is the standard deviation over launches.")
	return p.err
}

type page struct {
	w   io.Writer
	st  *store.Store
	now time.Time
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// row writes cells, escaping what Markdown would take for a column.
func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.NewReplacer("|", `\|`, "\n", "<br>").Replace(c)
	}
	p.line("| %s |", strings.Join(cells, " | "))
}

func (p *page) head(cells ...string) {
	p.line("| %s |", strings.Join(cells, " | "))
	p.line("|%s", strings.Repeat(" --- |", len(cells)))
}

func (p *page) header(v *store.RunView) {
	state := map[string]string{UnderWay: "under way", Killed: "ended without saying so (killed?)"}[WorkOn(p.st).State]
	switch {
	case v.Done:
		state = fmt.Sprintf("%s, exit status %d", v.Reason, v.Exit)
	case state == "":
		state = "under way, or killed"
	}
	p.line("Run `%s` of %s: %s.", v.ID, v.Started.UTC().Format("2006-01-02 15:04 MST"), state)
	p.line("")
	if s := v.Start; s != nil {
		var env []string
		for k, value := range s.Environment {
			env = append(env, k+" "+value)
		}
		sort.Strings(env)
		p.line("%s, plan digest `%.16s`. Machine: %s.", s.Tool, s.PlanDigest, strings.Join(env, ", "))
		p.line("")
	}
}

// gates lists phases in the order in which they were decided, then what is
// locked.
func (p *page) gates() {
	p.line("## Gates")
	p.line("")
	p.head("Phase", "Verdict", "Why")
	for _, d := range Standing(p.st) {
		if d.Kind == ledger.KindGate || d.Kind == ledger.KindPhase || d.Node == ledger.Baseline && !d.Verdict.Unlocks() {
			verdict, why := "**"+string(d.Verdict)+"**", strings.Join(d.Reasons, "\n")
			if o := OverruledOf(d.Decision, p.st.Waiver(d.Node), p.now); o.State != "" {
				if verdict = "**" + o.Word() + "**"; o.Says != strings.Join(d.Reasons, "; ") {
					why = o.Says + "\n" + why
				}
			}
			p.row(name(d.Decision), verdict, why)
		}
	}
	for _, l := range Locked(p.st) {
		if strings.HasPrefix(l.Node, "phase.") && !strings.Contains(l.Node, ".step.") {
			p.row(strings.TrimPrefix(l.Node, "phase."), "locked", l.Cause)
		}
	}
	p.line("")
}

func name(d *ledger.Decision) string {
	if d.Phase != "" {
		return d.Phase
	}
	return d.Node
}

func (p *page) features() {
	for _, d := range Standing(p.st) {
		if d.Kind == ledger.KindFeature {
			p.feature(d.Decision)
		}
	}
}

func (p *page) feature(d *ledger.Decision) {
	p.line("## Feature %s: %s", d.Feature, d.Verdict)
	p.line("")
	if r := d.Retraction; r != nil {
		d = p.before(d)
		p.line("Not any more: %s. What follows was %s.", strings.TrimSuffix(r.SaysOf(d.Node), "."), r.Was())
		p.line("")
	}
	if h := d.Hypothesis; h != nil {
		p.line("Hypothesis: %s %s, because %s.", h.Metric, h.Expect, strings.TrimSuffix(h.Because, "."))
		if c := (Claim{Measured: h.Measured, Tested: tested(h)}); c.seen() != "–" {
			p.line("Measured: %s.%s", c.seen(), outcome(h))
		}
		p.line("")
	}
	var levels []string
	for _, l := range d.Levels {
		levels = append(levels, l.Name+" "+string(l.Verdict))
	}
	p.line("Levels: %s.", strings.Join(levels, ", "))
	p.line("")
	p.head("Criterion", "Rule", "Verdict", "Evidence")
	for _, r := range d.Rules {
		label := r.Name
		if !r.Decides {
			label += " (recorded only)"
		}
		p.row(label, "`"+r.Expr+"`", string(r.Verdict), strings.Join(r.Reasons, "\n"))
	}
	p.line("")
	p.arms(d)
}

// outcome is what became of the claim, empty where nobody tested it.
func outcome(h *ledger.Hypothesis) string {
	if h.Outcome == "" {
		return ""
	}
	return " Hypothesis " + Claim{Outcome: h.Outcome, PostHoc: h.PostHoc}.Words() + "."
}
