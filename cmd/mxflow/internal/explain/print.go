package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// page is where an explanation is printed. Rules of a gate mostly read the same launches:
// they are printed once, and then referred to.
type page struct {
	io.Writer
	// width limits sentences, and fits tables: 0 is unlimited.
	width, fits int
	// starts are the launches of sessions by ID, and printed the rule below which the values
	// of a series stand, by series and launch.
	starts  map[string]sessionRow
	printed map[[2]string]int
	told    verdict.Page
}

// Print writes an explanation as text, sentences in lines of at most width, and tables of
// at most fits, if not 0.
func (e *Explanation) Print(w io.Writer, width, fits int) {
	p := &page{Writer: w, width: width, fits: fits, starts: map[string]sessionRow{}, printed: map[[2]string]int{}}
	for _, s := range e.Sessions {
		for _, l := range s.Launches {
			p.starts[l.Launch] = l
		}
	}
	if !e.Locked.IsZero() {
		p.linef("%s: locked\n", e.Node)
		p.paragraphs("", verdict.Lines(e.Causes)...)
		if len(e.Attempts) > 0 {
			p.linef("\nEarlier decisions about it no longer hold (--attempt N explains them):")
			p.attempts(e.Attempts)
		}
		return
	}
	p.head(e)
	for i, r := range e.Rules {
		p.rule(i+1, r)
	}
	p.beside(e)
}

func (p *page) linef(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// entry prints a text after its name, with later lines below its first.
func (p *page) entry(name, format string, args ...any) {
	const indent = 12
	text := table.Wrap(fmt.Sprintf(format, args...), p.width-indent)
	p.linef("  %-*s%s", indent-len("  "), name, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent)))
}

// paragraphs prints texts, with later lines indented further.
func (p *page) paragraphs(indent string, texts ...string) {
	for _, t := range texts {
		table.Paragraph(p, indent, t, p.width)
	}
}

// head prints what precedes the rules.
func (p *page) head(e *Explanation) {
	d := e.Decision
	accepted := ""
	if d.Accepted {
		accepted = ", accepted into the stack"
	}
	p.linef("%s: %s%s\n", e.Node, d.Verdict, accepted)
	for _, alt := range d.Alternatives {
		if alt.Name == e.Alternative {
			p.linef("  argued    %s alone: %s (mxflow explain %s argues all)", alt.Name, alt.Verdict, e.Node)
		}
	}
	p.linef("  decided   %s, run %s, attempt %d (%s)", d.Time.Local().Format(time.DateTime), d.Run, d.Attempt, d.Because.String())
	for _, line := range verdict.Lines(d.Marks()) {
		p.entry("note", "%s", line)
	}
	if s := d.Statistics; s != nil {
		share := ""
		if s.Alternatives > 1 {
			share = fmt.Sprintf(", shared by %d alternatives", s.Alternatives)
		}
		p.entry("errors", "a false pass in at most %s%s, a false fail in at most %s; %s per arm",
			verdict.Number(s.FalsePass, "share"), share, verdict.Number(s.FalseFail, "share"), launchRange(d.Decision))
	}
	if len(e.Engines) > 0 {
		p.linef("  engine    %s", verdict.And(e.Engines))
	}
	for _, c := range d.Confirmations {
		said := c.Reason.String()
		if c.Verdict != "" {
			said = fmt.Sprintf("on %s: %s (mxflow explain '%s' argues it)", c.Engine, c.Verdict, c.Node)
		}
		p.linef("  confirm   %s", said)
	}
	for _, m := range e.Marks {
		p.paragraphs("  ", verdict.Sentence(m))
	}
	for _, s := range e.Sessions {
		p.order(s)
	}
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass || len(e.Rules) == 0 {
			p.paragraphs("  ", p.told.Unprinted(verdict.Say("level.came", "level {subject}: {verdict}").On(l.Name).Is(l.Verdict).From(verdict.Few(l.Reasons, 3)...))...)
		}
	}
	if len(e.Rules) == 0 || len(e.Causes) > 0 {
		p.reasons(e)
	}
}

// launchRange is how many launches per arm the tests may use: the benchmark's maximum, if
// the decision records it.
func launchRange(d *ledger.Decision) string {
	most := 0
	for _, ev := range d.Evidence {
		most = max(most, ev.Max)
	}
	if most == 0 {
		most = d.Statistics.Max
	}
	if d.Statistics.Min >= most {
		return verdict.Launches(most)
	}
	return fmt.Sprintf("%d to %d launches", d.Statistics.Min, most)
}

func (p *page) order(s sessionOrder) {
	p.linef("  order     %s  (%s), session %s", s.Order, strings.Join(s.Arms, ", "), s.Session)
	var unread []int
	for _, l := range s.Launches {
		switch {
		case l.Aside.IsZero():
		case l.Aside.Kind == code.NotRead.Kind:
			unread = append(unread, l.Number)
		default:
			aside := verdict.Say("explain.launch_aside", "launch {number}, {subject}",
				verdict.Int("number", l.Number)).On(l.Launch).From(l.Aside)
			p.paragraphs("            ", p.told.Unprinted(aside.Map(firstLine))...)
		}
	}
	if slices.Sort(unread); len(unread) > 0 {
		p.linef("            %s by this decision: launch %s", verdict.New(code.NotRead).String(), spans(unread))
	}
}

// firstLine cuts a reason to one line: engine failures contain whole logs.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// spans formats ascending numbers briefly: "3, 4, 7 and 12 to 16".
func spans(numbers []int) string {
	var words []string
	for i, j := 0, 0; i < len(numbers); i = j {
		for j = i + 1; j < len(numbers) && numbers[j] == numbers[j-1]+1; {
			j++
		}
		if j-i > 2 {
			words = append(words, fmt.Sprintf("%d to %d", numbers[i], numbers[j-1]))
			continue
		}
		for _, n := range numbers[i:j] {
			words = append(words, fmt.Sprint(n))
		}
	}
	return verdict.And(words)
}

func (p *page) reasons(e *Explanation) {
	d := e.Decision
	if len(e.Causes) > 0 {
		p.linef("\nCauses, last one first:")
		p.paragraphs("  ", p.told.Chain(e.Causes)...)
	} else if reasons := p.told.Unprinted(unmarked(d.Decision)...); len(reasons) > 0 {
		p.linef("")
		p.paragraphs("  ", reasons...)
	}
	if d.Exit != nil && *d.Exit >= 0 {
		p.linef("  exit status %d", *d.Exit)
	}
	if len(d.LogTail) > 0 {
		p.linef("  the log ended with:\n  | %s", strings.Join(d.LogTail, "\n  | "))
	}
}

func (p *page) rule(number int, r rule) {
	of, recorded := "", ""
	if r.Of != "" {
		of = " of " + r.Of
	}
	if !r.Decides {
		recorded = " (recorded, does not decide)"
	}
	p.linef("\n%d. %s %q%s: %s%s\n   %s   %s", number, r.Role, r.Name, of, r.Verdict, recorded, r.Expr, r.Source)
	var reads []string
	tested := false
	for _, c := range r.Comparisons {
		text := c.Text
		if c.Test != nil && c.Test.Negated {
			text = "not " + text
		}
		if len(r.Comparisons) > 1 || text != r.Expr {
			p.linef("\n   %s", strings.TrimSuffix(text+": "+string(c.Verdict), ": "))
		}
		p.linef("")
		p.comparison(number, c, r.Ended)
		tested, reads = tested || c.Test != nil, append(reads, c.Reads...)
	}
	if len(r.Comparisons) == 0 {
		p.linef("")
	}
	reasons := slices.Clone(r.Reasons)
	for _, in := range r.Inputs {
		if !in.Missing.IsZero() {
			p.paragraphs("   ", p.told.Each(verdict.Say("explain.is_missing", "{subject} is missing").On(in.Path).From(in.Missing))...)
			reasons = slices.DeleteFunc(reasons, in.Absence().Equal)
		}
	}
	if !tested {
		p.paragraphs("   ", p.told.Unprinted(reasons...)...)
	}
	for _, in := range r.Inputs {
		if in.Missing.IsZero() && !slices.Contains(reads, in.Path) {
			p.linef("   %s", strings.ReplaceAll(in.Line(verdict.Rule{}.Estimate(in)), "\n", "\n   "))
		}
	}
	if len(r.Open) > 0 && r.Ended.IsZero() {
		p.paragraphs("   ", "More launches of "+verdict.And(r.Open)+" could still settle it.")
	}
}

// comparison prints how one was decided: the test, its launches, its looks, and what
// follows.
func (p *page) comparison(rule int, c verdict.Comparison, ended verdict.Reason) {
	t := c.Test
	if t == nil {
		p.paragraphs("   ", verdict.Sentence(verdict.Say("found.untestable",
			"found {left~right} against {right~left}, which could not be tested",
			verdict.Arg{Name: "left", Value: c.Left}, verdict.Arg{Name: "right", Value: c.Right})))
		return
	}
	p.paragraphs("   ", "Test: "+verdict.Capital(how(t))+".")
	if t.Form == verdict.Exact {
		p.paragraphs("   ", verdict.Sentence(exact(c)))
		for _, r := range append(slices.Clone(t.Beside), t.Note) {
			if !r.IsZero() {
				p.paragraphs("   ", verdict.Sentence(r))
			}
		}
		return
	}
	p.data(rule, t)
	p.looks(t, ended)
	if len(t.Values)+len(t.Base)+len(t.Looks) > 0 {
		p.linef("")
	}
	p.paragraphs("   ", below(t, ended)...)
}

// data prints the launches of a test in the order of their starts, or refers to where they
// are.
func (p *page) data(rule int, t *verdict.Test) {
	series, at, fresh := strings.Join([]string{t.Metric, t.Stat, t.Unit}, " "), 0, false
	var rows [][]string
	for _, arm := range []struct {
		name   string
		ids    []string
		values []float64
	}{{t.Against, t.BaseLaunches, t.Base}, {t.Arm, t.Launches, t.Values}} {
		for i, v := range arm.values {
			key, l := [2]string{series, arm.ids[i]}, p.starts[arm.ids[i]]
			if at = p.printed[key]; at == 0 {
				fresh = true
			}
			rows = append(rows, []string{fmt.Sprint(l.Number), fmt.Sprint(l.Round), arm.name, arm.ids[i], verdict.Number(v, "")})
		}
	}
	if len(rows) > 0 && !fresh {
		p.paragraphs("   ", fmt.Sprintf("Launches: as in rule %d above.", at))
		return
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return p.starts[a[3]].Order - p.starts[b[3]].Order })
	for _, row := range rows {
		p.printed[[2]string{series, row[3]}] = rule
	}
	value := "value"
	if t.Unit != "" {
		value += " (" + t.Unit + ")"
	}
	if len(rows) > 0 {
		p.table([]string{"number", "round", "arm", "launch", value}, rows)
	}
}

func (p *page) looks(t *verdict.Test, ended verdict.Reason) {
	var rows [][]string
	for i, l := range t.Looks {
		row := []string{fmt.Sprint(l.N), "–", "–", "–", "–", "–", "–", came(t, i, ended)}
		if l.Own != nil {
			row[1] = verdict.Number(*l.Own, t.OwnUnit())
		}
		if l.DF > 0 { // if launches tie, T may have any size
			copy(row[2:], []string{fmt.Sprintf("%.3g", l.SE), fmt.Sprintf("%.2f", l.DF), fmt.Sprintf("%+.3g", l.T), verdict.P(l.PPass), verdict.P(l.PFail)})
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		p.table([]string{"look at", "estimate", "SE", "df", "T", "p pass", "p fail", ""}, rows)
	}
}

// table prints a table below a rule.
func (p *page) table(head []string, rows [][]string) {
	var b strings.Builder
	table.Draw(&b, head, rows, false, max(0, p.fits-3))
	p.linef("")
	for line := range strings.Lines(b.String()) {
		p.linef("%s", strings.TrimRight("   "+line, " \n"))
	}
}

// beside prints what accompanies the rules: alternatives, the hypothesis, earlier
// attempts, and notes.
func (p *page) beside(e *Explanation) {
	d := e.Decision
	for i, alt := range d.Alternatives {
		if i == 0 {
			p.linef("\nAlternatives, of which at most one enters the stack:")
		}
		chosen := ""
		if alt.Chosen {
			chosen = ", chosen"
		}
		p.paragraphs("  ", fmt.Sprintf("%s: %s%s%s", alt.Name, alt.Verdict, chosen, verdict.After(verdict.Few(alt.Why(), 3))))
	}
	p.moved(e.Moved)
	for i, f := range d.Findings {
		if i == 0 {
			p.linef("\nNot read by any rule:")
		}
		p.paragraphs("  ", verdict.Stopped(f))
	}
	if h := d.Hypothesis; h != nil {
		p.linef("\nHypothesis, which decides nothing:")
		said := hypothesis(h)
		p.paragraphs("  ", said[0])
		if h.Because != "" {
			p.paragraphs("  ", "Because: "+h.Because)
		}
		p.paragraphs("  ", said[1:]...)
		// What was measured has a plain 95% interval, which would contradict the test's
		// bounds beside it.
		if len(said) == 1 && !h.Measured.IsZero() {
			p.paragraphs("  ", "Measured: "+h.Measured.String())
		}
	}
	if len(e.Attempts) > 1 {
		p.linef("\nAttempts:")
		p.attempts(e.Attempts)
	}
	for i, note := range p.told.Unprinted(e.Notes...) {
		if i == 0 {
			p.linef("\nNotes:")
		}
		p.paragraphs("  ", verdict.Capital(verdict.FullStop(note)))
	}
}

// moved prints what demonstrably changed.
func (p *page) moved(all []gates.Movement) {
	if len(all) > 0 {
		t := report.Movements(all)
		p.linef("\n%s", report.MovedTitle)
		p.table(t.Head, t.Rows)
	}
}

func (p *page) attempts(attempts []attempt) {
	for _, t := range attempts {
		mark, session := " ", ""
		if t.Explained {
			mark = "*"
		}
		if t.Session != "" {
			session = ", session " + t.Session
		}
		p.linef("%s %d  %s  %s (%s)%s", mark, t.Attempt, t.Time.Local().Format("2006-01-02 15:04"), t.Verdict, t.Because.String(), session)
	}
}
