package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
)

func eta(ev runtime.Event) string {
	if ev.Type != "launch_started" {
		return ""
	}
	return " · " + Left(ev.ETALeast, ev.ETA)
}

// Left is the remaining time of a run, as far as known.
func Left(least, most float64) string {
	switch {
	case most > 0:
		return "ETA " + verdict.Between(least, most)
	case least >= 0.5: // which prints as a second
		return "ETA at least " + verdict.Lasting(least)
	}
	return "ETA unknown"
}

// indent precedes the details of an event, which are below its text.
const indent = "           "

// MostLocked is up to how many nodes that one cause locked are listed one by one.
const MostLocked = 3

// locks are nodes that one cause locked and that were not reported yet. The zero value is
// ready to use.
type locks []runtime.Event

// before returns what to report before an event: nothing while it only adds to them.
func (l *locks) before(ev runtime.Event) (report []runtime.Event) {
	locked := ev.Type == "node_locked"
	if len(*l) > 0 && (!locked || !ev.Why.Equal((*l)[0].Why)) {
		if report = *l; len(report) > MostLocked {
			many := report[len(report)-1]
			many.Node = verdict.Count(len(report), "node")
			report = []runtime.Event{many}
		}
		*l = nil
	}
	if locked {
		*l = append(*l, ev)
		return report
	}
	return append(report, ev)
}

// describe is an event as a line; empty for those that only a live display shows.
func describe(ev runtime.Event) string {
	where := place(ev)
	switch ev.Type {
	case "node_started":
		if ev.Why.Kind == code.Relaxed.Kind {
			return fmt.Sprintf("%s: measured again: %s", where, ev.Why.String())
		}
	case "launch_started":
		if ev.Level == "qualification" {
			if ev.Again > 0 {
				return fmt.Sprintf("%s: qualification launch of %s again%s", where, ev.Variant, verdict.Behind(": ", verdict.Brief(ev.Why)))
			}
			return fmt.Sprintf("%s: qualification launch of %s", where, ev.Variant)
		}
		return fmt.Sprintf("%s: %s %s%s", where, ev.Level, launchWord(ev), verdict.Behind(": ", verdict.Brief(ev.Why)))
	case "stage_started":
		return fmt.Sprintf("%s: %s (%s)", where, Loading(ev.Loading, ev.Seconds), ev.Variant)
	case "launch_done":
		if !ev.Why.IsZero() {
			return fmt.Sprintf("%s: launch %d of %d broke: %s", where, ev.Launch, ev.Launches, ev.Why.String())
		}
	case "level_done":
		return fmt.Sprintf("%s: %s %s%s", where, ev.Level, ev.Verdict, verdict.After(verdict.Few(ev.Reasons, 1)))
	case "node_done":
		if ev.Action == runtime.Reuse {
			return fmt.Sprintf("%s: %s%s (kept from before)", ev.Node, ev.Verdict, verdict.Behind(", ", ev.Why.String()))
		}
		return fmt.Sprintf("%s: %s%s%s", ev.Node, ev.Verdict, verdict.Behind(", ", ev.Why.String()), below(saying(ev)))
	case "node_locked":
		if ev.Why.Kind == code.NotTargeted.Kind {
			return "" // the table has it
		}
		return fmt.Sprintf("%s: locked, because %s", ev.Node, ev.Why.String())
	case "note":
		return "note: " + ev.Why.String()
	}
	return ""
}

// Loading is the progress of a start: "loading weights, 41 s".
func Loading(l *runtime.Loading, seconds float64) string {
	words, known := stages[l.Stage]
	if !known {
		words = l.Stage
	}
	return words + ", " + verdict.Rough(seconds)
}

// stages are the stages of an engine's start in words.
var stages = map[string]string{
	"":              "starting",
	"weights":       "loading weights",
	"compile":       "compiling",
	"warm_up":       "profiling and warming up",
	"kv_cache":      "allocating the KV cache",
	"graphs":        "capturing CUDA graphs",
	"serving":       "starting the API server",
	"first_request": "first request",
}

// launchWord names a launch: "launch 5 of 8–16 (gemm)" if 8 is the minimum, and "launch 5
// of 16 again (gemm)" if it replaces one that does not count.
func launchWord(ev runtime.Event) string {
	again := ""
	if ev.Again > 0 {
		again = " again"
	}
	of := fmt.Sprint(ev.Launches)
	if ev.LaunchesLeast > 0 && ev.LaunchesLeast < ev.Launches {
		of = fmt.Sprintf("%d–%d", ev.LaunchesLeast, ev.Launches)
	}
	return fmt.Sprintf("launch %d of %s%s (%s)", ev.Launch, of, again, ev.Variant)
}

// saying are a decision's reasons for its line: briefly, as a level that did not pass has
// its own line, and without what the table at the end repeats.
func saying(ev runtime.Event) []string {
	said, left := false, 0
	var kept []verdict.Reason
	for _, r := range confirmed(ev.Reasons) {
		// Of reasons that hold only the first is kept, and only if all hold.
		if r.Verdict == verdict.Pass && !ofConfirmation(r) {
			if said || !verdict.Verdict(ev.Verdict).Unlocks() {
				left++
				continue
			}
			said = true
		}
		kept = append(kept, brief(r))
	}
	if len(kept) == 0 {
		return verdict.Lines(ev.Reasons)
	}
	lines := verdict.Lines(kept)
	if left > 0 {
		lines[len(lines)-1] += fmt.Sprintf(" (and %d more that pass)", left)
	}
	return lines
}

// confirmed are the results of other engines, if they are among a feature's reasons: the
// rest are the first engine's, whose line is above.
func confirmed(reasons []verdict.Reason) []verdict.Reason {
	first := slices.IndexFunc(reasons, func(r verdict.Reason) bool { return !ofConfirmation(r) })
	if first <= 0 {
		return reasons
	}
	return reasons[:first]
}

func ofConfirmation(r verdict.Reason) bool {
	switch r.Kind {
	case code.Confirmed.Kind, code.NotConfirmed.Kind, code.NotTried.Kind, code.ConfirmationNotRun.Kind:
		return true
	}
	return false
}

// brief is a reason without the causes of a level that did not pass, which the level's
// own line has. What passed on another engine is not a reason against confirmation.
func brief(r verdict.Reason) verdict.Reason {
	var causes []verdict.Reason
	for _, c := range r.Causes {
		if c.Kind == code.Level.Kind && c.Verdict != verdict.Pass {
			c = verdict.New(code.LevelIs).On(c.Subject).Is(c.Verdict)
		}
		causes = append(causes, brief(c))
	}
	return r.From(causes...)
}

// place is an event's position in the plan.
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

// below lists reasons under a line, one each.
func below(reasons []string) string {
	if len(reasons) == 1 {
		return ": " + reasons[0]
	}
	var b strings.Builder
	for _, r := range reasons {
		b.WriteString("\n" + indent + r)
	}
	return b.String()
}

// Status is an event as the one line that a live display rewrites, most variable part
// first.
func Status(ev runtime.Event) string {
	var parts []string
	if ev.Launches > 0 {
		parts = append(parts, launchWord(ev))
	}
	if ev.Requests > 0 {
		parts = append(parts, fmt.Sprintf("request %d of %d", ev.Request, ev.Requests))
	}
	if ev.Level != "" {
		parts = append(parts, ev.Level)
	}
	return strings.Join(append(parts, place(ev)), " · ")
}
