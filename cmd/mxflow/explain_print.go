package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func (a *app) printExplanation(e *explanation) {
	if !e.Locked.IsZero() {
		fmt.Fprintf(a.stdout, "%s: locked\n\n", e.Node)
		a.paragraphs("", tell.Lines(e.Causes))
		if len(e.Attempts) > 0 {
			fmt.Fprintln(a.stdout, "\nWhat was decided about it before stands no longer (--attempt N explains it):")
			a.printAttempts(e.Attempts)
		}
		return
	}
	d := e.Decision
	accepted := ""
	if d.Accepted {
		accepted = ", accepted into the stack"
	}
	fmt.Fprintf(a.stdout, "%s: %s%s\n\n", e.Node, d.Verdict, accepted)
	for _, alt := range d.Alternatives {
		if alt.Name == e.Alternative {
			fmt.Fprintf(a.stdout, "  argued    %s alone: %s (mxflow explain %s argues all)\n", alt.Name, alt.Verdict, e.Node)
		}
	}
	fmt.Fprintf(a.stdout, "  decided   %s, run %s, attempt %d (%s)\n", d.Time.Local().Format("2006-01-02 15:04:05"), d.Run, d.Attempt, tell.Line(d.Because))
	if s := d.Statistics; s != nil {
		share := ""
		if s.Alternatives > 1 {
			share = fmt.Sprintf(", shared by %d alternatives", s.Alternatives)
		}
		fmt.Fprintf(a.stdout, "  errors    a false pass in at most %.3g %%%s, a false fail in at most %.3g %%; %s an arm\n",
			100*s.FalsePass, share, 100*s.FalseFail, launchRange(d.Decision))
	}
	if len(e.Starts) > 0 {
		fmt.Fprintf(a.stdout, "  measured  %s\n", startsWord(e.Starts))
	}
	if len(e.Engines) > 0 {
		fmt.Fprintf(a.stdout, "  engine    %s\n", verdict.And(e.Engines))
	}
	for _, c := range d.Confirmations {
		fmt.Fprintf(a.stdout, "  confirm   %s\n", confirmationSaid(c))
	}
	for _, m := range e.Marks {
		a.paragraph("  ", tell.Sentence(m))
	}
	told := &told{}
	for _, s := range e.Sessions {
		a.printOrder(s, told)
	}
	for _, l := range d.Levels {
		if l.Verdict != "pass" || len(e.Rules) == 0 {
			a.paragraphs("  ", told.Once(verdict.New(code.LevelCame).On(l.Name).Is(l.Verdict).From(tell.Few(l.Reasons, 3)...)))
		}
	}
	if len(e.Rules) == 0 || len(e.Causes) > 0 {
		a.printReasons(e, told)
	}
	for i, r := range e.Rules {
		a.printRule(i+1, r, told)
	}
	a.printBeside(e, told)
}

// launchRange is how many launches an arm the tests may take: what the benchmark
// makes at most, where the decision records it.
func launchRange(d *ledger.Decision) string {
	least, most := d.Statistics.Min, 0
	for _, ev := range d.Evidence {
		most = max(most, ev.Max)
	}
	if most == 0 {
		most = d.Statistics.Max
	}
	if least = min(least, most); least == most {
		return count(most, "launch")
	}
	return fmt.Sprintf("%d to %d launches", least, most)
}

// startsWord says in how many sessions the candidate was measured: starting afresh
// multiplies the chance of an error.
func startsWord(sessions []string) string {
	if len(sessions) == 1 {
		return "once at this revision, in session " + sessions[0]
	}
	return fmt.Sprintf("%d times from the start at this revision, in sessions %s: the chance of an error is up to %d times that of one", len(sessions), verdict.And(sessions), len(sessions))
}

// confirmationSaid is what another engine says of a feature, and where that is argued.
func confirmationSaid(c ledger.Confirmation) string {
	if c.Verdict == "" {
		return tell.Line(c.Reason)
	}
	return fmt.Sprintf("on %s: %s (mxflow explain '%s' argues it)", c.Engine, c.Verdict, shortNode(c.Node))
}

func (a *app) printReasons(e *explanation, told *told) {
	d := e.Decision
	if len(e.Causes) > 0 {
		fmt.Fprintln(a.stdout, "\nIt came to this, last cause first:")
		a.paragraphs("  ", told.Chain(e.Causes))
	} else if reasons := told.Once(unmarked(d.Decision)...); len(reasons) > 0 {
		fmt.Fprintln(a.stdout)
		a.paragraphs("  ", reasons)
	}
	if d.Exit != nil && *d.Exit >= 0 {
		fmt.Fprintf(a.stdout, "  exit status %d\n", *d.Exit)
	}
	if len(d.LogTail) > 0 {
		fmt.Fprintf(a.stdout, "  the log ended with:\n  | %s\n", strings.Join(d.LogTail, "\n  | "))
	}
}

func (a *app) printOrder(s sessionOrder, told *told) {
	fmt.Fprintf(a.stdout, "  order     %s  (%s), session %s\n", s.Order, strings.Join(s.Arms, ", "), s.Session)
	var unread []int
	for _, l := range s.Launches {
		switch {
		case l.Aside.IsZero():
		case l.Aside.Code == code.NotRead:
			unread = append(unread, l.Number)
		default:
			aside := verdict.New(code.LaunchAside, verdict.Int("number", l.Number)).On(l.Launch).From(l.Aside)
			a.paragraphs("            ", told.Once(aside.Map(firstLine)))
		}
	}
	if slices.Sort(unread); len(unread) > 0 {
		fmt.Fprintf(a.stdout, "            %s by this decision: %s %s\n", tell.Line(verdict.New(code.NotRead)), plural(len(unread), "launch", "launches"), spans(unread))
	}
}

func (a *app) printRule(number int, r ruleArgument, told *told) {
	of, recorded := "", ""
	if r.Of != "" {
		of = " of " + r.Of
	}
	if !r.Decides {
		recorded = " (recorded, does not decide)"
	}
	fmt.Fprintf(a.stdout, "\n%d. %s %q%s: %s%s\n   %s   %s\n", number, r.Role, r.Name, of, r.Verdict, recorded, r.Expr, r.Source)
	for _, c := range r.Compared {
		a.printArgument(argued{number, r.Name, c.Not + c.Text}, r, c, told)
	}
	if len(r.Compared) == 0 {
		fmt.Fprintln(a.stdout)
	}
	a.paragraphs("   ", told.Once(r.Missing...))
	a.paragraphs("   ", told.Once(r.Reasons...))
	for _, in := range r.Read {
		fmt.Fprintf(a.stdout, "   %s\n", strings.ReplaceAll(in, "\n", "\n   "))
	}
	if len(r.Open) > 0 && r.Ended == "" {
		a.paragraph("   ", "More launches of "+verdict.And(r.Open)+" could still settle it.")
	}
}
