package report

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// gates lists phases in the plan's order, and the baseline where it did not pass.
func (p *page) gates() {
	p.line("## Gates")
	p.line("")
	p.head("Phase", "Verdict", "Why")
	for _, r := range Rows(p.st) {
		switch phase, isPhase := phaseNode(r.Node); {
		case r.Gone:
		case r.Decided != nil && (isPhase || r.Node == ledger.Baseline && !r.Decided.Verdict.Unlocks()):
			p.gate(r.Decided.Decision)
		case !r.Locked.IsZero() && isPhase:
			p.row(phase, "locked", tell.Line(r.Locked))
		}
	}
	p.line("")
}

// phaseNode is the phase that a node decides, where it is one.
func phaseNode(node string) (phase string, ok bool) {
	phase, ok = strings.CutPrefix(node, "phase.")
	return phase, ok && !strings.Contains(phase, ".step.")
}

func (p *page) gate(d *ledger.Decision) {
	word, why := "**"+string(d.Verdict)+"**", strings.Join(Told(&p.told, d, d.Reasons), "\n")
	if o := OverruledOf(d, p.st.Waiver(d.Node), p.now); o.State != "" {
		if word = "**" + o.Word() + "**"; !slices.EqualFunc(o.Reasons, d.Reasons, verdict.Reason.Equal) {
			why = tell.Joined(o.Reasons) + "\n" + why
		}
	}
	p.row(name(d), word, why)
}

func name(d *ledger.Decision) string {
	if d.Phase != "" {
		return d.Phase
	}
	return d.Node
}

// Told are reasons of a decision in lines: what its own tests found is told of each,
// and what kept them from being made once on a page.
func Told(page *tell.Page, d *ledger.Decision, reasons []verdict.Reason) []string {
	if lines := page.Each(reasons...); !TestsDecided(d) {
		return lines
	}
	return tell.Lines(reasons)
}

// TestsDecided reports whether a decision follows from tests of its own: every rule
// that did not pass has a comparison whose test did not. Everything else has a
// cause below it.
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
