package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
)

// Writer writes sections of the results as Markdown.
type Writer struct {
	strings.Builder
	*Summary
	// Links are cells of tables that stay as they are: whole links of mxflow's own, as tables have
	// no foreign ones.
	Links *regexp.Regexp
	// told tracks which causes were printed, each once.
	told verdict.Page
}

// Raw is text that is Markdown already.
type Raw string

// Line writes a line. Texts in it may be foreign and are made inert, but for those that are Raw.
func (p *Writer) Line(format string, args ...any) {
	for i, arg := range args {
		if text, is := arg.(string); is {
			args[i] = Inert(text)
		}
	}
	fmt.Fprintf(p, format+"\n", args...)
}

// Table writes a table and an empty line, or nothing without rows.
func (p *Writer) Table(t Table) {
	if len(t.Rows) == 0 {
		return
	}
	text := t.Markdown()
	for _, row := range t.Rows {
		for _, cell := range row {
			if p.Links != nil && p.Links.MatchString(cell) {
				text = strings.ReplaceAll(text, "| "+Inert(cell)+" |", "| "+cell+" |")
			}
		}
	}
	p.WriteString(text)
}

// List writes items and an empty line, or nothing without items.
func (p *Writer) List(items []string) {
	for _, item := range items {
		p.Line("- %s", item)
	}
	if len(items) > 0 {
		p.Line("")
	}
}

// Blocks writes tables with what belongs to them, each below its title if it has one.
func (p *Writer) Blocks(level string, blocks []Block) {
	for _, b := range blocks {
		if b.Title != "" {
			p.Line("%s %s\n", Raw(level), b.Title)
		}
		if p.Table(b.Table); len(b.Notes) == 1 {
			p.Line("%s\n", b.Notes[0])
		} else {
			p.List(b.Notes)
		}
	}
}

// Block is a table as every medium shows it: below a title, with notes behind it.
type Block struct {
	Title string
	Table
	Notes []string
}

// Table is a table of text.
type Table struct {
	Head []string
	Rows [][]string
}

// Markdown is the table in Markdown, followed by an empty line. What Markdown would read as a
// column, or as a line of its own, is escaped.
func (t Table) Markdown() string {
	var b strings.Builder
	line := func(row []string) {
		for _, cell := range row {
			b.WriteString("| " + cellEscapes.Replace(Inert(strings.TrimSpace(cell))) + " ")
		}
		b.WriteString("|\n")
	}
	line(t.Head)
	b.WriteString("|" + strings.Repeat(" --- |", len(t.Head)) + "\n")
	for _, row := range t.Rows {
		line(row)
	}
	return b.String() + "\n"
}

var cellEscapes = strings.NewReplacer("|", `\|`, "\n", "<br>")

// Inert escapes foreign text (of an engine, a log, a summary) for Markdown: no tag, link, image
// or emphasis of one star starts in it, and nothing controls a terminal. Text whose lines are code
// spans stays unchanged, as nothing starts there. A quoted pattern becomes one.
func Inert(text string) string {
	text = foreign.Printable(text)
	spans := strings.Split(text, "\n")
	if !slices.ContainsFunc(spans, func(line string) bool {
		inner := strings.Trim(line, "`")
		return line != "`"+inner+"`" || strings.Contains(inner, "`")
	}) {
		return text
	}
	text = strings.ReplaceAll(tagBegins.ReplaceAllString(text, "&lt;$1"), "](", `]\(`)
	return stars(quotedText.ReplaceAllStringFunc(text, func(q string) string {
		if inner := q[1 : len(q)-1]; strings.Contains(inner, "*") && !strings.ContainsAny(inner, "`&\\") {
			return "`" + inner + "`"
		}
		return q
	}))
}

// stars escapes those of globs, which would begin emphasis, outside of code.
func stars(text string) string {
	var b strings.Builder
	code := false
	for i, c := range []byte(text) {
		if code = code != (c == '`'); c == '*' && !code && !strings.ContainsAny(text[max(0, i-1):i], `*\`) &&
			!strings.HasPrefix(text[i+1:], "*") {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

var quotedText = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)

// tagBegins matches the start of HTML in Markdown; "< 5 ms" is not one.
var tagBegins = regexp.MustCompile(`<([A-Za-z/!?])`)
