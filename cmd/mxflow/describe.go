package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// describe is an event as a line; empty for those that only a live display
// shows.
func describe(ev runtime.Event) string {
	where := place(ev)
	switch ev.Type {
	case "launch_started":
		if ev.Level == "qualification" {
			return fmt.Sprintf("%s: qualification launch of %s", where, ev.Variant)
		}
		return fmt.Sprintf("%s: %s %s%s", where, ev.Level, launchWord(ev), behind(": ", firstLine(ev.Message)))
	case "launch_done":
		if ev.Message != "" {
			return fmt.Sprintf("%s: launch %d of %d broke: %s", where, ev.Launch, ev.Launches, ev.Message)
		}
	case "level_done":
		return fmt.Sprintf("%s: %s %s%s", where, ev.Level, ev.Verdict, because(ev.Reasons, 1))
	case "node_done":
		if ev.Action == runtime.Reuse {
			return fmt.Sprintf("%s: %s%s (kept from before)", ev.Node, ev.Verdict, behind(", ", ev.Message))
		}
		return fmt.Sprintf("%s: %s%s%s", ev.Node, ev.Verdict, behind(", ", ev.Message), below(saying(ev)))
	case "node_locked":
		return fmt.Sprintf("%s: locked, because %s", ev.Node, ev.Message)
	case "note":
		return "note: " + ev.Message
	}
	return ""
}

// launchWord names a launch: "launch 5 of 16 (gemm)", and "launch 5 of 16 again
// (gemm)" where it stands in the place of one that does not count.
func launchWord(ev runtime.Event) string {
	again := ""
	if ev.Again > 0 {
		again = " again"
	}
	return fmt.Sprintf("launch %d of %d%s (%s)", ev.Launch, ev.Launches, again, ev.Variant)
}

// saying are the reasons of a decision for its line: in brief, since a level that
// did not pass has a line of its own, and without what the table at the end says too.
func saying(ev runtime.Event) []string {
	v, said := verdict.Verdict(ev.Verdict), false
	var kept []string
	left := 0
	for i, r := range confirmed(ev) {
		var of ledger.Part
		if i < len(ev.Parts) {
			of = ev.Parts[i]
		}
		if of.Brief != "" {
			r = of.Brief
		}
		// Of what holds only the first is kept, and that where all of it holds.
		if holds := of.Of != ledger.OfConfirmation && of.Verdict == verdict.Pass; holds {
			if said || !v.Unlocks() {
				left++
				continue
			}
			said = true
		}
		kept = append(kept, r)
	}
	switch {
	case left > 0 && len(kept) == 0:
		return ev.Reasons
	case left > 0:
		kept[len(kept)-1] += fmt.Sprintf(" (and %d more that pass)", left)
	}
	return kept
}

// confirmed are what other engines say of a feature, where they are among its
// reasons: the others are those of the first engine, whose line stands above.
func confirmed(ev runtime.Event) []string {
	n := 0
	for n < len(ev.Parts) && n < len(ev.Reasons) && ev.Parts[n].Of == ledger.OfConfirmation {
		n++
	}
	if n == 0 {
		return ev.Reasons
	}
	return ev.Reasons[:n]
}

// place is where in the plan an event belongs.
func place(ev runtime.Event) string {
	switch {
	case ev.Feature != "":
		return ev.Phase + " / " + ev.Feature
	case ev.Phase != "":
		return ev.Phase
	default:
		return ev.Node
	}
}

func because(reasons []string, most int) string {
	if len(reasons) == 0 {
		return ""
	}
	s := ": " + strings.Join(reasons[:min(most, len(reasons))], "; ")
	if left := len(reasons) - most; left > 0 {
		s += fmt.Sprintf(" (and %d more)", left)
	}
	return s
}

// below lists reasons under a line, one each.
func below(reasons []string) string {
	if len(reasons) == 1 {
		return ": " + reasons[0]
	}
	var b strings.Builder
	for _, r := range reasons {
		b.WriteString("\n           " + r)
	}
	return b.String()
}

// status is an event as the one line that a live display rewrites.
func status(ev runtime.Event) string {
	parts := []string{place(ev)}
	if ev.Level != "" {
		parts = append(parts, ev.Level)
	}
	if ev.Launches > 0 {
		parts = append(parts, launchWord(ev))
	}
	if ev.Requests > 0 {
		parts = append(parts, fmt.Sprintf("request %d of %d", ev.Request, ev.Requests))
	}
	return strings.Join(parts, " · ")
}
