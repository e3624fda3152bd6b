// Package audit handles the record itself: its decisions, whether it is whole and who signed it, and
// its export. It knows nothing about engines, how anything is decided, or plans: checking the record
// must not depend on what wrote it. Deciding again is audit replay, which is elsewhere.
package audit

import (
	"fmt"
	"io"
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

// Decisions are all on record, and every override by a person.
type Decisions struct {
	All     []audited       `json:"decisions"`
	Waivers []ledger.Waived `json:"waivers"`
}

// DecisionsOf are those of a record.
func DecisionsOf(st *store.Store) *Decisions {
	out := &Decisions{All: []audited{}, Waivers: st.Waivers()}
	for i, r := range st.Records() {
		if r.Decision != nil {
			d := audited{Decided: ledger.Decided{Decision: r.Decision, Record: i, Run: r.Run, Time: r.Time}}
			d.Engine = onEngine(st, d.Decided)
			out.All = append(out.All, d)
		}
	}
	return out
}

// Print prints both in the order of the ledger.
func (a *Decisions) Print(on io.Writer) {
	waivers := a.Waivers
	for _, d := range a.All {
		for len(waivers) > 0 && waivers[0].Record < d.Record {
			printWaiver(on, waivers[0])
			waivers = waivers[1:]
		}
		if runtime.DecidesAlone(runtime.Kind(d.Kind)) {
			printDecision(on, d)
		}
	}
	for _, w := range waivers {
		printWaiver(on, w)
	}
	if len(a.All) == 0 {
		fmt.Fprintln(on, "Nothing was decided here.")
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
func printWaiver(on io.Writer, w ledger.Waived) {
	word, says := "waived", fmt.Sprintf("by %s until %s: %s", w.By, ledger.Minute(w.Expires), w.Reason)
	if w.Revoked {
		word, says = "waiver revoked", fmt.Sprintf("by %s: %s", w.By, w.Reason)
	}
	fmt.Fprintf(on, "%s  %s  attempt %d, which was %s, of run %s, %s\n  %s\n\n", w.Node, word, w.Attempt,
		w.Verdict, w.Run, verdict.Second(w.Time), says)
}

// printDecision prints a decision in full: what earlier ones said may be thousands of
// lines above.
func printDecision(on io.Writer, d audited) {
	engine, page := "", &verdict.Page{}
	if d.Engine != "" {
		engine = " on " + d.Engine
	}
	fmt.Fprintf(on, "%s  %s%s  attempt %d (%s), run %s, %s\n", d.Node, report.Word(d.Decision, false), engine,
		d.Attempt, d.Because.String(), d.Run, verdict.Second(d.Time))
	if len(d.Rules) > 0 {
		for _, line := range verdict.Lines(d.Marks()) {
			fmt.Fprintf(on, "  %s\n", line)
		}
	}
	for _, c := range d.Confirmations {
		fmt.Fprintf(on, "  %s\n", page.Each(c.Reason)[0])
	}
	for _, r := range d.Rules {
		decides := ""
		if !r.Decides {
			decides = " (recorded, does not decide)"
		}
		fmt.Fprintf(on, "  %s %q: %s%s\n    %s   %s\n", r.Role, r.Name, r.Verdict, decides, r.Expr, r.Where())
		for _, in := range r.Inputs {
			line := in.Line(r.Estimate(in))
			if !in.Missing.IsZero() {
				line = page.Each(verdict.Say("explain.input_missing", "{subject} = missing").On(in.Path).
					From(in.Missing))[0]
			}
			fmt.Fprintf(on, "    %s\n", line)
		}
	}
	reasons := d.Findings
	if len(d.Rules) == 0 {
		reasons = append(d.Why(), reasons...)
	}
	for _, reason := range page.Each(reasons...) {
		fmt.Fprintf(on, "  %s\n", reason)
	}
	fmt.Fprintln(on)
}
