package progress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Left is the time left of a run, from the fewest launches that may follow to the most: "2–13 min left";
// empty if it is unknown.
func Left(least, most float64) string {
	switch {
	case most <= 0:
		return ""
	case most <= 10:
		return "less than 10 s left"
	case least < 1:
		return "at most " + verdict.Lasting(most) + " left"
	}
	return verdict.Between(least, most) + " left"
}

func speed(decode float64) string {
	if decode <= 0 {
		return ""
	}
	return verdict.Short(decode, "tok/s")
}

// entry is a line of progress: what it is about, its verdict if it has one, and the rest.
type entry struct{ name, word, text string }

// gap separates the parts of an entry.
const gap = "  "

// lead is what precedes the text.
func (e entry) lead() string {
	if e.name == "" {
		return ""
	}
	return e.name + verdict.Behind(gap, e.word) + gap
}

// empty reports whether there is nothing to show.
func (e entry) empty() bool { return e.word == "" && e.text == "" }

func stamp(ev runtime.Event) string { return fmt.Sprintf("[%6.1fs] ", ev.Elapsed) }

// locks are nodes that one cause locked and that were not reported yet. The zero value is
// ready to use.
type locks []runtime.Event

// before returns what to report before an event: nothing while it only adds to them.
func (l *locks) before(ev runtime.Event) (told []runtime.Event) {
	locked := ev.Type == "node_locked"
	if len(*l) > 0 && (!locked || !ev.Why.Equal((*l)[0].Why)) {
		many := (*l)[len(*l)-1]
		if len(*l) > 1 {
			names := make([]string, len(*l))
			for i, ev := range *l {
				names[i] = strings.Replace(name(ev), "phase.", "phase ", 1)
				names[i] = strings.TrimPrefix(names[i], "feature.")
			}
			many.Node, many.Feature = report.Few(names), ""
		}
		told, *l = []runtime.Event{many}, nil
	}
	if locked {
		if !internal(ev.Node) {
			*l = append(*l, ev)
		}
		return told
	}
	return append(told, ev)
}

// internal reports whether a node is below a feature, whose line tells what became of it.
func internal(node string) bool {
	return strings.HasPrefix(node, "feature.") &&
		(strings.Contains(node[len("feature."):], ".") || strings.ContainsAny(node, "@["))
}

// lines are the lines of a run. The zero value is ready to use.
type lines struct {
	broke string // why the last launch broke that did
}

// next is an event's line. A node that a launch broke does not repeat why.
func (l *lines) next(ev runtime.Event) entry {
	e := describe(ev)
	switch {
	case ev.Type == "launch_done" && !ev.Why.IsZero():
		l.broke = verdict.Brief(ev.Why)
	case ev.Type == "node_done" && e.text != "" && e.text == l.broke:
		e.text = "its launch broke"
	}
	return e
}

// describe is an event as a line; empty for those that only a live display shows.
func describe(ev runtime.Event) (e entry) {
	e.name = name(ev)
	switch ev.Type {
	case "node_started":
		if ev.Why.Kind == code.Relaxed.Kind && !internal(ev.Node) {
			e.text = "measured again: " + ev.Why.String()
		}
	case "launch_started":
		if ev.Again > 0 {
			e.text = launchWord(ev) + " repeated" + verdict.Behind(": ", verdict.Brief(ev.Why))
		}
	case "launch_done":
		if !ev.Why.IsZero() {
			e.text = launchWord(ev) + " broke: " + verdict.Brief(ev.Why)
		}
	case "node_done":
		// A phase without a gate follows from what has a line.
		if d := ev.Decision; d != nil && ev.Action != runtime.Reuse && !internal(ev.Node) &&
			(d.Kind != ledger.KindPhase || !ev.Why.IsZero()) {
			e.name, e.word = Name(d.Kind, d.Node, d.Phase, d.Feature), report.Word(d, ev.Waiver != nil)
			e.text = report.Brief(d)
			if !ev.Why.IsZero() {
				e.text = ev.Why.String() + verdict.Behind("; ", e.text)
			}
		}
	case "node_locked":
		if ev.Why.Kind != code.NotTargeted.Kind { // the table has it
			e.word, e.text = "locked", ev.Why.String()
		}
	case "note":
		e.name, e.text = "", "note: "+ev.Why.String()
	}
	return e
}

// Name is a node as people call it: "gemm", "gate cutlass", "step exec build".
func Name(kind, node, phase, feature string) string {
	switch kind {
	case ledger.KindFeature, ledger.KindCriteria:
		return feature
	case ledger.KindGate:
		return "gate " + phase
	case ledger.KindPhase:
		return "phase " + phase
	case ledger.KindStep:
		_, step, _ := strings.Cut(node, ".step.")
		return "step " + strings.Replace(step, ".", " ", 1)
	}
	return node
}

// Starting is how long an engine has been starting: "starting, 41 s".
func Starting(seconds float64) string { return "starting, " + verdict.Rough(seconds) }

// launchWord names a launch: "launch 5 of 8–16 (gemm)" if 8 is the minimum.
func launchWord(ev runtime.Event) string {
	if ev.Level != "benchmark" && ev.Level != "" {
		return ev.Level + " launch"
	}
	of := fmt.Sprintf("launch %d of %s", ev.Launch, verdict.Upto(ev.LaunchesLeast, ev.Launches))
	if ev.Variant == ev.Feature {
		return of
	}
	return of + " (" + ev.Variant + ")"
}

// name is what an event is about.
func name(ev runtime.Event) string {
	if ev.Feature == "" && strings.Contains(ev.Node, ".step.") {
		return Name(ledger.KindStep, ev.Node, "", "")
	}
	return cmp.Or(ev.Feature, ev.Node)
}

// Status is an event as one line of a live display: "gemm · launch 5 of 8–16 (gemm)".
func Status(ev runtime.Event) string {
	parts := []string{name(ev)}
	if ev.Launches > 0 {
		parts = append(parts, launchWord(ev))
	} else if ev.Level != "" {
		parts = append(parts, ev.Level)
	}
	if ev.Requests > 0 {
		parts = append(parts, fmt.Sprintf("request %d of %d", ev.Request, ev.Requests))
	}
	return strings.Join(parts, " · ")
}
