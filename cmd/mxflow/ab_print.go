package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
)

// print shows a comparison as one would paste it into a pull request: the answer
// first, what it rests on below.
func (s *abShow) print(r *abResult, took time.Duration) {
	word := strings.ToUpper(string(r.Verdict))
	if word == "" {
		word = "OPEN"
	}
	said := wrap(r.Said, s.columnBehind(len(word+"  ")))
	if colours(s.stdout) {
		word = lipgloss.NewRenderer(s.stdout).NewStyle().Bold(true).Foreground(lipgloss.Color(verdictColours[string(r.Verdict)])).Render(word)
	}
	fmt.Fprintf(s.stdout, "\n%s  %s\n", word, said)
	s.numbers(r)
	s.lines("why", tell.Lines(r.Reasons))
	if len(r.LogTail) > 0 {
		fmt.Fprintf(s.stdout, "\nits log ended with\n  | %s\n", strings.Join(r.LogTail, "\n  | "))
	}
	s.launchLines(r)
	s.section("compared", s.compared(r))
	s.also(r)
	s.differing(r)
	s.section("checked", s.checked(r))
	s.lines("to know", r.toKnow())
	s.lines("next", r.Advice)
	s.section("kept", s.recordWords())
	fmt.Fprintf(s.stdout, "\n%s, exit status %d\n", rough(took.Seconds()), r.Exit)
}

// lines prints sentences under a title, one each.
func (s *app) lines(title string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(s.stdout, "\n%s\n", title)
	for _, l := range list {
		text := imported.Printable(l)
		if !strings.Contains(text, ": mxflow ") { // a command stays whole
			text = strings.ReplaceAll(wrap(text, s.columnBehind(len("  "))), "\n", "\n  ")
		}
		fmt.Fprintf(s.stdout, "  %s\n", text)
	}
}

// numbers is the metric that decides, on both sides, with its bounds.
func (s *abShow) numbers(r *abResult) {
	if r.A.Value == nil || r.B.Value == nil || r.Change == nil {
		return
	}
	text := fmt.Sprintf("%s: A %s, B %s %s, a change of %s", s.q.label(), digits(*r.A.Value, *r.A.Value), digits(*r.B.Value, *r.B.Value), r.Unit, tell.Percent(*r.Change, 1))
	if r.Verdict == verdict.Invalid || r.Verdict == verdict.Error {
		text += ", which does not count"
	} else if r.Low != nil {
		text += fmt.Sprintf(" [%s, %s]", tell.Percent(*r.Low, 1), tell.Percent(*r.High, 1))
	}
	fmt.Fprintln(s.stdout, text)
	if r.Low != nil && r.Verdict.Decided() {
		pass, fail := *r.Low, *r.High
		if s.q.claim.lower() {
			pass, fail = fail, pass
		}
		fmt.Fprintf(s.stdout, "On these launches a claim of %s would just pass, and one of %s just fail.\n", tell.Percent(pass, 1), tell.Percent(fail, 1))
	}
}

// launchLines are the launches of both in their order.
func (s *abShow) launchLines(r *abResult) {
	if len(r.A.Launches)+len(r.B.Launches) == 0 {
		return
	}
	fmt.Fprintf(s.stdout, "\nlaunches (%s, %s; each is the median of %s)\n", s.q.label(), r.Unit, count(s.q.requests, "request"))
	width := 0
	for _, l := range slices.Concat(r.A.Launches, r.B.Launches) {
		width = max(width, len(digits(l.Value, l.Value)))
	}
	type made struct {
		order int
		name  string
	}
	var order []made
	for _, side := range []struct {
		name     string
		launches []abLaunch
	}{{"A", r.A.Launches}, {"B", r.B.Launches}} {
		line := "  " + side.name
		for _, l := range side.launches {
			line += fmt.Sprintf("  %*s", width, digits(l.Value, l.Value))
			order = append(order, made{l.Number, side.name})
		}
		if sd, ok := logSpread(side.launches); ok {
			line += fmt.Sprintf("   they vary by %s", percent(sd))
		}
		if len(side.launches) == 0 {
			line += "  none counts"
		}
		fmt.Fprintln(s.stdout, line)
	}
	slices.SortFunc(order, func(x, y made) int { return x.order - y.order })
	text := "  in the order"
	for i, o := range order {
		if i%4 == 0 {
			text += " "
		}
		text += o.name
	}
	if n := r.A.Replaced + r.B.Replaced - r.A.Broke - r.B.Broke; n > 0 {
		text += fmt.Sprintf("; %s made again because the machine was disturbed", tell.Launches(n))
	}
	fmt.Fprintln(s.stdout, text)
}

// also are other metrics of the same launches.
func (s *abShow) also(r *abResult) {
	var rows [][]string
	against := "B against A"
	for _, m := range r.Metrics {
		text := tell.Percent(m.Change, 1)
		if m.Low != nil {
			against = "B against A [95 %]"
			text += fmt.Sprintf(" [%s, %s]", tell.Percent(*m.Low, 1), tell.Percent(*m.High, 1))
		}
		rows = append(rows, []string{"  " + m.Metric, digits(m.A, m.A) + " " + m.Unit, digits(m.B, m.B) + " " + m.Unit, strings.TrimSpace(text + " " + m.Better)})
	}
	if len(rows) > 0 {
		fmt.Fprintln(s.stdout)
		s.printTable([]string{"also measured, not decided", "A", "B", against}, rows)
	}
}

// differing is the table of what differs, and whether it is meant to.
func (s *abShow) differing(r *abResult) {
	var rows [][]string
	for _, d := range r.Differs {
		intended := d.Intended
		if intended == "" {
			intended = "not as far as mxflow knows"
		}
		rows = append(rows, []string{"  " + d.What, imported.Printable(fit(d.A, 40)), imported.Printable(fit(d.B, 40)), intended})
	}
	fmt.Fprintln(s.stdout)
	s.printTable([]string{"what differs", "A", "B", "intended"}, rows)
	if r.Same > 0 {
		fmt.Fprintf(s.stdout, "  %s alike: what the servers say of themselves, and their environments\n", things(r.Same))
	}
}

func things(n int) string {
	if n == 1 {
		return "1 other thing is"
	}
	return fmt.Sprintf("%d other things are", n)
}
