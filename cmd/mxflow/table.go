package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/apply"
)

// table prints what a run decided, and why.
func (a *app) table(res *apply.Result) {
	s, end := res.Summary, res.End
	var rows [][]string
	page := &tell.Page{}
	for _, r := range s.Rows {
		if row := tableRow(r, page); row != nil {
			rows = append(rows, row)
		}
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"phase", "decision", "verdict", "why"}, rows)
	a.comparisons(s)
	a.lastWords(s)
	switch {
	case end.Reason.Code == code.Interrupted:
		fmt.Fprintf(a.stdout, "\nInterrupted after %s. What was decided is kept; apply again goes on.\n", rough(res.Took.Seconds()))
	case end.Exit == verdict.ExitBroken && end.Reason.Code != code.Finished:
		fmt.Fprintf(a.stdout, "\nStopped after %s: %s\n", rough(res.Took.Seconds()), tell.Line(end.Reason))
	default:
		fmt.Fprintf(a.stdout, "\n%s after %s (exit status %d).\n", closing[end.Verdict], rough(res.Took.Seconds()), end.Exit)
	}
	for _, r := range s.Rows {
		if r.Reused && !r.Decision.Verdict.Unlocks() {
			fmt.Fprintln(a.stdout, "Outcomes marked (kept) rest on unchanged inputs; --rerun NAME measures again.")
			break
		}
	}
}

var closing = map[verdict.Verdict]string{
	verdict.Pass:         "Every gate passed",
	verdict.Waived:       "Every gate passed or is waived",
	verdict.Fail:         "Not every gate passed: fail",
	verdict.Invalid:      "Not every gate passed: invalid",
	verdict.Inconclusive: "Not every gate passed: inconclusive",
	verdict.Error:        "The engine or the harness broke",
}

// tableRow shows what people decide by: baseline, steps, features and gates.
// The measurements below a feature show up in its reasons.
func tableRow(r runtime.Row, page *tell.Page) []string {
	n := r.Node
	if n.Kind == runtime.KindBenchmark || n.Kind == runtime.KindQualify && n.ID != runtime.BaselineID {
		return nil
	}
	row := []string{n.Phase, label(n), "", ""}
	switch {
	case r.Decision != nil:
		row[2] = string(r.Decision.Verdict)
		row[3] = strings.Join(report.Told(page, r.Decision, whyHere(r.Decision)), "\n")
		if r.Reused {
			row[3] = "(kept) " + row[3]
		}
		if r.Waived {
			row[2] += ", waived"
		}
		if !r.Overruled.IsZero() {
			row[3] = tell.Line(r.Overruled) + "\n" + row[3]
		}
	case !r.Locked.IsZero():
		row[2], row[3] = "locked", tell.Line(r.Locked)
	default:
		row[2], row[3] = "-", "not run"
	}
	return row
}

// whyHere leaves out of a confirmed feature what the row of the first engine says,
// which stands above it.
func whyHere(d *ledger.Decision) []verdict.Reason {
	if len(d.Confirmations) == 0 {
		return why(d)
	}
	var reasons []verdict.Reason
	for _, c := range d.Confirmations {
		reasons = append(reasons, c.Reason)
	}
	return append(reasons, verdict.New(code.FirstAbove))
}

func label(n *runtime.Node) string {
	switch n.Kind {
	case runtime.KindFeature:
		return "feature " + n.Feature
	case runtime.KindCriteria:
		if n.FeatureBlock.Engine == "" {
			return "feature " + n.Feature + ", first engine"
		}
		return "feature " + n.FeatureBlock.Name
	case runtime.KindGate:
		return "gate"
	case runtime.KindPhase:
		return "phase"
	case runtime.KindStep:
		return "step " + n.StepBlock.Kind + " " + n.StepBlock.Name
	}
	return n.ID
}

var verdictColours = map[string]string{
	"pass": "2", "waived": "6", "fail": "1", "invalid": "5", "error": "1", "inconclusive": "3", "locked": "8",
	"fail, waived": "6", "inconclusive, waived": "6", "invalid, waived": "6",
}

const (
	// maxColumn keeps sentences readable; longer ones wrap.
	maxColumn = 96
	// leastColumn is what a column keeps however narrow the terminal: below it,
	// sentences become towers of words.
	leastColumn = 24
	// columnGap is between columns.
	columnGap = 2
)

// columns are a table with how wide each column is drawn.
type columns struct {
	head []string
	rows [][]string
	// natural is how wide a column is by itself, least what it can be folded to, and
	// widths what it is drawn with.
	natural, least, widths []int
}

func newColumns(head []string, rows [][]string) *columns {
	t := &columns{head: head, rows: rows}
	for col, name := range head {
		least := lipgloss.Width(name)
		natural := least
		for _, row := range rows {
			natural = max(natural, widest(strings.Split(cell(row, col), "\n")))
		}
		for _, row := range rows {
			least = max(least, widest(folded(cell(row, col), min(natural, leastColumn))))
		}
		t.natural = append(t.natural, natural)
		t.least = append(t.least, least)
		t.widths = append(t.widths, t.drawn(col, maxColumn))
	}
	return t
}

// drawn is how wide a column comes out whose lines are broken at most characters:
// words are not.
func (t *columns) drawn(col, most int) int {
	n := lipgloss.Width(t.head[col])
	for _, row := range t.rows {
		n = max(n, widest(folded(cell(row, col), most)))
	}
	return n
}

// fit makes the columns fit beside each other, without one of them, by taking from
// the widest first. It reports whether they do.
func (t *columns) fit(width, without int) bool {
	for col := range t.head {
		t.widths[col] = t.drawn(col, maxColumn)
	}
	for {
		total, most := 0, -1
		for col, w := range t.widths {
			if col == without {
				continue
			}
			total += w + columnGap
			if w > t.least[col] && (most < 0 || w > t.widths[most]) {
				most = col
			}
		}
		if total <= width {
			break
		}
		if most < 0 {
			return false
		}
		t.widths[most]--
	}
	for col, w := range t.widths {
		t.widths[col] = t.drawn(col, w)
	}
	return true
}

// byLength are the columns in the order in which they are set apart where not all
// have room: those with words to break first, and of these the longest.
func (t *columns) byLength() []int {
	var out []int
	for col := range t.head {
		out = append(out, col)
	}
	breaks := func(col int) bool { return t.natural[col] > t.least[col] }
	slices.SortStableFunc(out, func(a, b int) int {
		if breaks(a) != breaks(b) {
			if breaks(a) {
				return -1
			}
			return 1
		}
		return t.natural[b] - t.natural[a]
	})
	return out
}

// cell is what stands in a row; a tab would be as wide as the terminal likes.
func cell(row []string, col int) string {
	if col < len(row) {
		return strings.ReplaceAll(row[col], "\t", "    ")
	}
	return ""
}

// folded are the lines of a cell, broken between words only: a break after a hyphen
// would also part a minus sign from its number.
func folded(text string, most int) []string {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		if lipgloss.Width(l) > most {
			lines = append(lines, strings.Split(wrap(l, most), "\n")...)
		} else {
			lines = append(lines, l)
		}
	}
	return lines
}

func widest(lines []string) int {
	n := 0
	for _, l := range lines {
		n = max(n, lipgloss.Width(l))
	}
	return n
}

// printTable prints columns: coloured, and made to fit, on a terminal only.
func (a *app) printTable(head []string, rows [][]string) {
	drawTable(a.stdout, head, rows, colours(a.stdout), a.fits())
}

// fits is how wide tables may be; 0 for as wide as they are, where no person's
// terminal would break their lines.
func (a *app) fits() int {
	if terminal(a.stdout) {
		return a.width()
	}
	return 0
}

// column is how wide sentences are.
func (a *app) column() int { return min(maxColumn, a.width()) }

// columnBehind is how wide sentences are that stand so far in.
func (a *app) columnBehind(indent int) int {
	if width := a.fits(); width > 0 {
		return min(maxColumn, max(leastColumn, width-indent))
	}
	return maxColumn
}

// drawTable prints columns within a width, or, with a width of 0, as wide as they
// are. Lines break between words only, so that a number is never cut and keeps its
// sign, and nothing is left out.
func drawTable(w io.Writer, head []string, rows [][]string, colour bool, width int) {
	d := drawing{out: w, renderer: lipgloss.NewRenderer(w), colour: colour}
	if !colour {
		d.renderer.SetColorProfile(3) // termenv.Ascii
	}
	t := newColumns(head, rows)
	if width == 0 || t.fit(width, alone) {
		d.grid(t, alone, 0)
		return
	}
	for _, apart := range t.byLength() {
		room := width
		if apart == 0 {
			room -= apartIndent
		}
		if t.fit(room, apart) {
			d.grid(t, apart, width)
			return
		}
	}
	d.records(t, width)
}

// drawing is a table on its way to where it is printed.
type drawing struct {
	out      io.Writer
	renderer *lipgloss.Renderer
	colour   bool
}

const (
	// alone is no column: all stand beside each other.
	alone = -1
	// apartIndent is how far in the rest of a row stands below its first line.
	apartIndent = 4
)

// grid prints a line for each row, where all columns but one have room beside each
// other: the first column stands above the others then, any other one below them.
func (d *drawing) grid(t *columns, apart, width int) {
	d.row(t, t.head, apart, width, d.renderer.NewStyle().Bold(d.colour))
	line := 0
	for col := range t.head {
		if col != apart {
			line += t.widths[col] + columnGap
		}
	}
	fmt.Fprintln(d.out, strings.Repeat("─", line))
	for _, row := range t.rows {
		d.row(t, row, apart, width, d.renderer.NewStyle())
	}
}

func (d *drawing) row(t *columns, row []string, apart, width int, style lipgloss.Style) {
	beside, text := d.beside(t, row, apart, style), cell(row, max(0, apart))
	switch {
	case apart == alone || text == "" && apart > 0:
		d.lines("", beside)
	case apart == 0:
		d.lines("", d.each(style, text, folded(text, width)))
		d.lines(strings.Repeat(" ", apartIndent), beside)
	default:
		d.lines("", beside)
		d.lines(strings.Repeat(" ", apartIndent), d.each(style, text, folded(text, max(leastColumn, width-apartIndent))))
	}
}

// beside are the lines of a row without the column that stands apart.
func (d *drawing) beside(t *columns, row []string, apart int, style lipgloss.Style) (lines []string) {
	var cells [][]string
	height := 1
	for col := range t.head {
		cells = append(cells, folded(cell(row, col), t.widths[col]))
		if col != apart {
			height = max(height, len(cells[col]))
		}
	}
	for i := range height {
		var b strings.Builder
		for col, of := range cells {
			if col == apart {
				continue
			}
			text := ""
			if i < len(of) {
				text = of[i]
			}
			b.WriteString(d.styled(style, cell(row, col), text) + strings.Repeat(" ", max(0, t.widths[col]-lipgloss.Width(text))+columnGap))
		}
		lines = append(lines, b.String())
	}
	return lines
}

func (d *drawing) lines(indent string, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(d.out, strings.TrimRight(indent+l, " "))
	}
}

func (d *drawing) each(style lipgloss.Style, whole string, lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, d.styled(style, whole, l))
	}
	return out
}

// records prints a line for each cell, behind the name of its column: for terminals
// that are narrower than the columns beside each other.
func (d *drawing) records(t *columns, width int) {
	names := 0
	for _, name := range t.head {
		names = max(names, lipgloss.Width(name))
	}
	for i, row := range t.rows {
		if i > 0 {
			fmt.Fprintln(d.out)
		}
		for col, name := range t.head {
			if cell(row, col) == "" {
				continue
			}
			for _, text := range folded(cell(row, col), max(leastColumn, width-names-columnGap)) {
				pad := strings.Repeat(" ", names-lipgloss.Width(name)+columnGap)
				line := d.renderer.NewStyle().Bold(d.colour).Render(name) + pad + d.styled(d.renderer.NewStyle(), cell(row, col), text)
				fmt.Fprintln(d.out, strings.TrimRight(line, " "))
				name = ""
			}
		}
	}
}

// styled colours a verdict; text is a line of the whole cell.
func (d *drawing) styled(style lipgloss.Style, whole, text string) string {
	if c, ok := verdictColours[whole]; ok && d.colour {
		style = style.Foreground(lipgloss.Color(c))
	}
	if text == "" {
		return ""
	}
	return style.Render(text)
}

// wrap breaks a paragraph at width columns, between words only, and never between a
// number and what makes it one: "-3.0%", "≥ 12", "4.2 ± 0.1".
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range together(strings.Fields(text)) {
		n := lipgloss.Width(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// together joins the words that no line may end between.
func together(words []string) (out []string) {
	for i, word := range words {
		if i > 0 && (strings.HasPrefix(word, "%") || word == "±" || relates(words[i-1])) {
			out[len(out)-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// relates reports whether a word says how the number behind it is meant: ">=", "(<", "±".
func relates(word string) bool {
	switch strings.TrimLeft(word, "([") {
	case "=", "==", "!=", "<", "<=", ">", ">=", "≤", "≥", "≠", "±", "×", "≈":
		return true
	}
	return false
}

// comparisons prints the tables of the engines that a run compared.
func (a *app) comparisons(s runtime.Summary) {
	for _, r := range s.Rows {
		if r.Decision != nil {
			a.comparison(r.Decision)
		}
	}
}

// comparison prints the table of one decision; nothing where it has none.
func (a *app) comparison(d *ledger.Decision) {
	if len(d.Rows) == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "\n%s:\n", d.Node)
	for i, t := range report.Comparison(d.Rows) {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		a.printTable(t.Head, t.Rows)
	}
	for _, n := range report.ComparisonNotes(d.Rows) {
		fmt.Fprintln(a.stdout, "- "+n)
	}
	fmt.Fprintln(a.stdout, report.ComparisonLegend)
}
