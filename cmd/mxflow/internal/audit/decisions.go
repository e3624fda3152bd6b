package audit

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// audited is a decision and, if it is a confirmation, its engine.
type audited struct {
	ledger.Decided
	Engine string `json:"engine,omitempty"`
}

// printDecisions prints the decisions and people's overrides, in the order of the ledger.
func printDecisions(h Host, st *store.Store) {
	all, waivers := []audited{}, st.Waivers()
	for i, r := range st.Records() {
		if r.Decision != nil {
			d := audited{Decided: ledger.Decided{Decision: r.Decision, Record: i, Run: r.Run, Time: r.Time}}
			d.Engine = onEngine(st, d.Decided)
			all = append(all, d)
		}
	}
	if *h.JSON {
		h.PrintJSON(map[string]any{"decisions": all, "waivers": waivers})
		return
	}
	for _, d := range all {
		for len(waivers) > 0 && waivers[0].Record < d.Record {
			printWaiver(h, waivers[0])
			waivers = waivers[1:]
		}
		if runtime.DecidesAlone(runtime.Kind(d.Kind)) {
			printDecision(h, d)
		}
	}
	for _, w := range waivers {
		printWaiver(h, w)
	}
	if len(all) == 0 {
		fmt.Fprintln(h.Out(), "Nothing was decided here.")
	}
}

// onEngine is the engine of a confirmation's decision, "kind.name"; empty for others. One
// that was never measured was qualified there, or attempted to be.
func onEngine(st *store.Store, d ledger.Decided) string {
	if d.Kind != string(runtime.KindCriteria) {
		return ""
	}
	engines := report.EnginesOf(st, d.Decision)
	for _, q := range st.History(runtime.QualifyID(runtime.CandidateOf(d.Node))) {
		if len(engines) == 0 && q.Record < d.Record {
			engines = report.EnginesOf(st, q.Decision)
		}
	}
	return strings.Join(engines, ", ")
}

// printWaiver prints a waiver as given, whatever became of it.
func printWaiver(h Host, w ledger.Waived) {
	word, says := "waived", fmt.Sprintf("by %s until %s: %s", w.By, ledger.Minute(w.Expires), w.Reason)
	if w.Revoked {
		word, says = "waiver revoked", fmt.Sprintf("by %s: %s", w.By, w.Reason)
	}
	fmt.Fprintf(h.Out(), "%s  %s  attempt %d, which was %s, of run %s, %s\n  %s\n\n", w.Node, word, w.Attempt,
		w.Verdict, w.Run, verdict.Second(w.Time), says)
}

// printDecision prints a decision in full: what earlier ones said may be thousands of
// lines above.
func printDecision(h Host, d audited) {
	on, page := "", &verdict.Page{}
	if d.Engine != "" {
		on = " on " + d.Engine
	}
	fmt.Fprintf(h.Out(), "%s  %s%s  attempt %d (%s), run %s, %s\n", d.Node, d.Verdict, on, d.Attempt,
		d.Because.String(), d.Run, verdict.Second(d.Time))
	if len(d.Rules) > 0 {
		for _, line := range verdict.Lines(d.Marks()) {
			fmt.Fprintf(h.Out(), "  %s\n", line)
		}
	}
	for _, c := range d.Confirmations {
		fmt.Fprintf(h.Out(), "  %s\n", page.Each(c.Reason)[0])
	}
	for _, r := range d.Rules {
		decides := ""
		if !r.Decides {
			decides = " (recorded, does not decide)"
		}
		fmt.Fprintf(h.Out(), "  %s %q: %s%s\n    %s   %s\n", r.Role, r.Name, r.Verdict, decides, r.Expr, r.Where())
		for _, in := range r.Inputs {
			line := in.Line(r.Estimate(in))
			if !in.Missing.IsZero() {
				line = page.Each(verdict.Say("explain.input_missing", "{subject} = missing").On(in.Path).
					From(in.Missing))[0]
			}
			fmt.Fprintf(h.Out(), "    %s\n", line)
		}
	}
	reasons := d.Findings
	if len(d.Rules) == 0 {
		reasons = append(d.Why(), reasons...)
	}
	for _, reason := range page.Each(reasons...) {
		fmt.Fprintf(h.Out(), "  %s\n", reason)
	}
	fmt.Fprintln(h.Out())
}
