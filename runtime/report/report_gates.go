package report

import (
	"strings"

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
		case r.Locked != "" && isPhase:
			p.row(phase, "locked", r.Locked)
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
	verdict, why := "**"+string(d.Verdict)+"**", strings.Join(p.said.Reasons(d, d.Reasons), "\n")
	if o := OverruledOf(d, p.st.Waiver(d.Node), p.now); o.State != "" {
		if verdict = "**" + o.Word() + "**"; o.Says != strings.Join(d.Reasons, "; ") {
			why = o.Says + "\n" + why
		}
	}
	p.row(name(d), verdict, why)
}

func name(d *ledger.Decision) string {
	if d.Phase != "" {
		return d.Phase
	}
	return d.Node
}
