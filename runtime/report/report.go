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

	"github.com/mxflow/mxflow/gates/tell"
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
	// told is why what was decided came out so, each cause once.
	told tell.Page
	err  error
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
		state = fmt.Sprintf("%s, exit status %d", tell.Line(v.Reason), v.Exit)
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
		p.line("Not any more: %s What follows was %s.", tell.Stopped(r.Of(d.Node)), Withdrawn(r))
		p.line("")
	}
	if h := d.Hypothesis; h != nil {
		p.line("Hypothesis: %s %s, because %s.", h.Metric, h.Expect, strings.TrimSuffix(h.Because, "."))
		if c := (Claim{Measured: h.Measured, Tested: tested(h)}); c.seen() != "–" {
			p.line("Measured: %s.%s", c.seen(), outcome(h))
		}
		p.line("")
	}
	p.line("Levels: %s.", levelWords(d))
	p.line("")
	p.head("Criterion", "Rule", "Verdict", "Evidence")
	for _, r := range d.Rules {
		label := r.Name
		if !r.Decides {
			label += " (recorded only)"
		}
		p.row(label, "`"+r.Expr+"`", string(r.Verdict), strings.Join(Told(&p.told, d, r.Reasons), "\n"))
	}
	p.line("")
	p.arms(d)
}

// levelWords are the levels of a feature and what they came to. Those of the stack
// that it builds on, which is qualified beside it, have its name before theirs.
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
		words += fmt.Sprintf("; of what it was measured on (%s): %s", on, strings.Join(under, ", "))
	}
	return words
}

// outcome is what became of the claim, empty where nobody tested it.
func outcome(h *ledger.Hypothesis) string {
	if h.Outcome == "" {
		return ""
	}
	return " Hypothesis " + Claim{Outcome: h.Outcome, PostHoc: h.PostHoc}.Words() + "."
}
