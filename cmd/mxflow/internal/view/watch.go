package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/nights"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/questions/watch"
)

// Watch shows a night: what is compared, a line for each session, and what followed.
type Watch struct {
	Job *watch.Job
	// Candidate, Good and Anchor are tonight's, Good without an ID on a first night.
	Candidate, Good, Anchor ledger.Version
	// Screen is called each time: loading a plan adds the redaction of its secrets.
	Screen func() table.Screen
	// Quiet is set if only the end is shown, for programs.
	Quiet bool
}

// Ask prints what is compared, before anything is started.
func (w *Watch) Ask(since time.Time) {
	if w.Quiet {
		return
	}
	on := w.Screen()
	width := max(len("last good"), len(w.Job.Name()))
	line := func(name, text string) { fmt.Fprintf(on, "%-*s  %s\n", width, name, foreign.Line(text)) }
	line(w.Job.Name(), report.Named(w.Candidate))
	if w.Good.ID != "" {
		line("last good", report.Named(w.Good)+verdict.Behind(", since ", day(since)))
	}
	line("anchor", cmp.Or(report.Named(w.Anchor), "none: the first version will be"))
	fmt.Fprintln(on)
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// Observer shows the launches of a session by the versions' names.
func (w *Watch) Observer(on apply.Observer, a nights.Ask) apply.Observer {
	if w.Quiet {
		return on
	}
	base := "last good " + w.Good.Short()
	if a.Against == ledger.AgainstAnchor {
		base = "anchor " + w.Anchor.Short()
	}
	return &nightly{Observer: on, names: map[string]string{
		ledger.Baseline: base, watch.Variant(w.Candidate): w.Candidate.Short(),
	}}
}

// nightly leaves what a session decides to Session.
type nightly struct {
	apply.Observer
	names map[string]string
}

func (o *nightly) Event(ev runtime.Event) {
	ev.Variant = cmp.Or(o.names[ev.Variant], ev.Variant)
	ev.Phase, ev.Feature, ev.Node = "", "", "watch"
	if strings.HasPrefix(ev.Type, "node_") {
		ev.Type = ""
	}
	o.Observer.Event(ev)
}

// nightWords say what a session showed of the candidate beside another version.
var nightWords = map[verdict.Verdict]string{
	verdict.Pass: "not worse  than", verdict.Fail: "worse      than", verdict.Inconclusive: "undecided  against",
}

// Session prints what a session came to; if it confirmed an alarm, with the kernels that take longer, as far
// as the protocol profiles.
func (w *Watch) Session(st *store.Store, x nights.Session, d *ledger.Decision) {
	if w.Quiet {
		return
	}
	against, again := "last good "+w.Good.Short(), ""
	if x.Against == ledger.AgainstAnchor {
		against = "the anchor " + w.Anchor.Short()
	}
	if x.Again {
		again = ", in fresh launches"
	}
	on := w.Screen()
	w.line(on, fmt.Sprintf("%s %s%s: %s", cmp.Or(nightWords[x.Verdict], "broken     against"), against, again,
		report.Brief(d)))
	fmt.Fprintln(on)
	if !x.Again || x.Verdict != verdict.Fail {
		return
	}
	if own, before, err := levels.FindProfile(st, watch.Variant(w.Candidate)); err == nil && before != nil {
		ProfileDiff(on, trace.DiffOf(before.Is, own.Is), against, w.Candidate.Short(), 5)
	}
}

func (w *Watch) line(on table.Screen, text string) {
	if text = foreign.Line(text); on.Width > 0 {
		text = table.Wrap(text, min(on.Width, table.MaxColumn))
	}
	fmt.Fprintln(on, text)
}

// End prints what followed from the night, and what a reader should know; seen is the night that decided
// about the candidate before, if nothing is new.
func (w *Watch) End(n *report.Night, seen *ledger.Watched, noise string) {
	on := w.Screen()
	say := func(format string, args ...any) { w.line(on, fmt.Sprintf(format, args...)) }
	candidate, good := n.Candidate.Short(), n.Good.Short()
	switch n.Outcome {
	case ledger.NightStart:
		say("START: %s is last good, and the anchor: there is nothing to compare it with yet.", candidate)
	case ledger.NightQuiet:
		is := "last good"
		if seen != nil && n.Candidate.ID != n.Good.ID {
			is = fmt.Sprintf("%s on %s; last good is %s", seen.Outcome, day(seen.Time), good)
		}
		say("Nothing new: %s is %s, %s.", n.Watched, report.Named(n.Candidate), is)
	case ledger.NightMoved:
		say("MOVED: last good is %s now.", candidate)
	case ledger.NightAccepted:
		say("ACCEPTED: last good is %s now, and the anchor until the plan names another one (%s: %s).", candidate, n.By,
			n.Reason)
	case ledger.NightAlarm:
		say("ALARM: %s is worse, twice. Last good stays %s.", candidate, good)
	case ledger.NightWorse:
		say("STILL WORSE: nothing has repaired what the alarm of %s was about. Last good stays %s.", day(n.Since),
			good)
	case ledger.NightUnconfirmed:
		say("NOT CONFIRMED: %s was worse once, and fresh launches did not show it again. Last good stays %s.",
			candidate, good)
	case ledger.NightUndecided:
		say("UNDECIDED: last good stays %s.", good)
		for _, r := range n.Takes {
			say("next  %s", verdict.Sentence(r))
		}
		if n.Undecided >= manyUndecided {
			say("next  Undecided %d nights in a row: raise the most launches (decision.launches.max, at most 12), or "+
				"make launches more alike: %s", n.Undecided, noise)
		}
	case ledger.NightBroken:
		say("BROKEN: %s was not measured%s. Last good stays %s.", candidate, verdict.Behind(": ", n.Why.String()),
			good)
	}
	for _, c := range n.Slower {
		say("note  slower than the anchor, within the rules: %s", c)
	}
	if n.OverAnchor != nil && n.Anchor.ID != n.Good.ID {
		about := ""
		if n.Chained {
			about = "≈ "
		}
		say("against the anchor %s: %s%s", n.Anchor.Short(), about, n.OverAnchor)
	}
}

// manyUndecided nights in a row are no chance any more.
const manyUndecided = 3
