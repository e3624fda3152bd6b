package lang

import (
	"bytes"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans/redact"
)

// Diagnostics is everything found wrong with a plan, in order of appearance.
type Diagnostics = hcl.Diagnostics

// Findings are what was found wrong with a text, with everything needed to show it to a
// person.
type Findings struct {
	// Diagnostics are sorted by position.
	Diagnostics Diagnostics
	// Files are the texts that the diagnostics point into, by the name that they use,
	// except for files of variables: those may hold secrets.
	Files map[string]*hcl.File
}

// OK reports whether the text is free of errors and may be used.
func (r *Findings) OK() bool { return !r.Diagnostics.HasErrors() }

// DiagnosticJSON is one diagnostic for programs. Lines and columns count from 1; the end
// is exclusive. A diagnostic without a place has no file and no lines.
type DiagnosticJSON struct {
	Severity string `json:"severity"` // "error" or "warning"
	// Code stays when wording changes; testdata/codes.txt of plans/load lists them.
	Code      string `json:"code"`
	Summary   string `json:"summary"`
	Detail    string `json:"detail,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
	// Snippet is the line on which it begins.
	Snippet string `json:"snippet,omitempty"`
	// Values are what the expression at that place uses.
	Values []DiagnosticValue `json:"values,omitempty"`
}

// DiagnosticsJSON is the diagnostics for programs; never nil, so that it
// encodes as a list.
func (r *Findings) DiagnosticsJSON() []DiagnosticJSON {
	lines := r.lines()
	list := make([]DiagnosticJSON, 0, len(r.Diagnostics))
	for _, d := range r.Diagnostics {
		j := DiagnosticJSON{
			Severity: severity(d), Code: CodeOf(d), Summary: d.Summary, Detail: d.Detail, Values: valuesOf(d),
		}
		if s := d.Subject; s != nil {
			j.File = s.Filename
			j.Line, j.Column = s.Start.Line, s.Start.Column
			j.EndLine, j.EndColumn = s.End.Line, s.End.Column
			j.Snippet = lineAt(lines.of(s.Filename), s.Start.Line)
		}
		list = append(list, j)
	}
	return list
}

func severity(d *hcl.Diagnostic) string {
	if d.Severity == hcl.DiagWarning {
		return "warning"
	}
	return "error"
}

// maxDiagnostics bounds what a plan that is not a plan can make us print.
const maxDiagnostics = 500

// TidyDiagnostics sorts by file, in the given order, and position, and drops
// repetitions.
func TidyDiagnostics(diags hcl.Diagnostics, order []string) hcl.Diagnostics {
	rank := map[string]int{}
	for i, name := range order {
		rank[name] = i
	}
	file := func(d *hcl.Diagnostic) int {
		if d.Subject == nil {
			return -1
		}
		if n, known := rank[d.Subject.Filename]; known {
			return n
		}
		return len(order)
	}
	offset := func(d *hcl.Diagnostic) int {
		if d.Subject == nil {
			return -1
		}
		return d.Subject.Start.Byte
	}
	sort.SliceStable(diags, func(i, j int) bool {
		if a, b := file(diags[i]), file(diags[j]); a != b {
			return a < b
		}
		return offset(diags[i]) < offset(diags[j])
	})
	type key struct {
		file, at        int
		summary, detail string
	}
	seen := map[key]bool{}
	var kept hcl.Diagnostics
	for _, d := range diags {
		k := key{file(d), offset(d), d.Summary, d.Detail}
		if seen[k] {
			continue
		}
		seen[k] = true
		kept = append(kept, d)
	}
	if n := len(kept); n > maxDiagnostics {
		rest := &hcl.Diagnostic{
			Severity: hcl.DiagWarning,
			Extra:    Coded("too-many-errors"), Summary: "Too many warnings",
			Detail:  fmt.Sprintf("%d more were found. Fix these first.", n-maxDiagnostics),
			Subject: kept[maxDiagnostics].Subject,
		}
		if kept[maxDiagnostics:].HasErrors() {
			rest.Severity, rest.Summary = hcl.DiagError, "Too many errors"
		}
		kept = append(kept[:maxDiagnostics:maxDiagnostics], rest)
	}
	return kept
}

// MaxShown is how many diagnostics are printed: anyone who has more fixes those first,
// and most of the rest often follows from them.
const MaxShown = 20

// first are the diagnostics that are printed, errors before warnings if there are too
// many, and a line about those left out.
func (r *Findings) first(most int) (shown hcl.Diagnostics, more string) {
	all := r.Diagnostics
	if len(all) <= most {
		return all, ""
	}
	errs := len(all.Errs())
	room, rest := min(errs, most), most-min(errs, most)
	left := map[hcl.DiagnosticSeverity]int{hcl.DiagError: room, hcl.DiagWarning: rest}
	missing := map[hcl.DiagnosticSeverity]int{}
	for _, d := range all {
		if left[d.Severity] == 0 {
			missing[d.Severity]++
			continue
		}
		left[d.Severity]--
		shown = append(shown, d)
	}
	var words []string
	for _, of := range []struct {
		severity hcl.DiagnosticSeverity
		word     string
	}{{hcl.DiagError, "error"}, {hcl.DiagWarning, "warning"}} {
		switch n := missing[of.severity]; n {
		case 0:
		case 1:
			words = append(words, "1 more "+of.word)
		default:
			words = append(words, fmt.Sprintf("%d more %ss", n, of.word))
		}
	}
	return shown, "… and " + strings.Join(words, " and ") + ". Fix these first; mxflow validate --json lists them all."
}

// WriteDiagnostics prints the diagnostics for people: what is wrong, the line with carets
// under the place, and how to fix it, wrapped at width columns (0 does not wrap).
func (r *Findings) WriteDiagnostics(w io.Writer, width int, color bool) error {
	lines := r.lines()
	shown, more := r.first(MaxShown)
	for i, d := range shown {
		var b strings.Builder
		if i > 0 {
			b.WriteByte('\n')
		}
		writeDiagnostic(&b, d, lines, width, color)
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	if more != "" {
		_, err := fmt.Fprintf(w, "\n%s\n", more)
		return err
	}
	return nil
}

func writeDiagnostic(b *strings.Builder, d *hcl.Diagnostic, lines sourceLines, width int, color bool) {
	paint := func(code, s string) string {
		if !color || s == "" {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	tone := "31"
	word := "Error"
	if d.Severity == hcl.DiagWarning {
		tone, word = "33", "Warning"
	}
	fmt.Fprintf(b, "%s %s\n", paint(tone+";1", word+":"), paint("1", printable(d.Summary)))
	if s := d.Subject; s != nil {
		fmt.Fprintf(b, "  on %s:%d:%d\n", printable(s.Filename), s.Start.Line, s.Start.Column)
		if text := lineAt(lines.of(s.Filename), s.Start.Line); text != "" {
			number := fmt.Sprintf("%5d", s.Start.Line)
			before, under := caretsFor(text, s)
			if hidden := redact.Known().Text(text); hidden != text {
				text, before, under = hidden, "", "" // redaction moves text, so there is no place to point at
			}
			text, before, under = clip(text, before, under, width-len(number)-3)
			fmt.Fprintf(b, "%s\n", paint("2", number+" │ ")+text)
			margin := paint("2", strings.Repeat(" ", len(number))+" │ ")
			fmt.Fprintf(b, "%s\n", margin+before+paint(tone+";1", under))
			for _, v := range valuesOf(d) {
				fmt.Fprintf(b, "%s\n", margin+printable(shorten(v.Name+" is "+v.Value, max(20, width-len(number)-3))))
			}
		}
	}
	for _, line := range wrap(redact.Known().Text(d.Detail), width-2) {
		fmt.Fprintf(b, "  %s\n", printable(line))
	}
}

// caretsFor is the white space before the carets, which repeats the tabs of the
// line so that it aligns, and the carets.
func caretsFor(line string, at *hcl.Range) (before, carets string) {
	runes := []rune(line)
	start := min(max(at.Start.Column-1, 0), len(runes))
	end := len(runes)
	if at.End.Line == at.Start.Line {
		end = min(at.End.Column-1, len(runes))
	}
	for _, c := range runes[:start] {
		if c != '\t' {
			c = ' '
		}
		before += string(c)
	}
	return before, strings.Repeat("^", max(1, end-start))
}

// clip keeps a long line to width columns around the place.
func clip(line, before, carets string, width int) (string, string, string) {
	runes := []rune(line)
	if width < 20 || len(runes) <= width {
		return line, before, carets
	}
	start := len([]rune(before))
	from := max(0, min(start-width/3, len(runes)-width))
	to := min(len(runes), from+width)
	line, before = string(runes[from:to]), string([]rune(before)[from:])
	if from > 0 {
		line = "…" + string(runes[from+1:to])
	}
	return line, before, carets[:min(len(carets), max(1, to-start))]
}

// wrap breaks text between words; existing line breaks stay.
func wrap(text string, width int) (lines []string) {
	if text == "" {
		return nil
	}
	for _, paragraph := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		line, columns := "", 0
		for _, word := range strings.Split(paragraph, " ") {
			n := utf8.RuneCountInString(word)
			if width > 10 && columns > 0 && columns+1+n > width {
				lines = append(lines, line)
				line, columns = "", 0
			}
			if columns > 0 {
				line, columns = line+" ", columns+1
			}
			line, columns = line+word, columns+n
		}
		lines = append(lines, line)
	}
	return lines
}

// sourceLines are the lines of each file of a plan, split on demand.
type sourceLines struct {
	files map[string]*hcl.File
	split map[string][]string
}

func (r *Findings) lines() sourceLines { return sourceLines{r.Files, map[string][]string{}} }

// of are the lines of one file.
func (s sourceLines) of(filename string) []string {
	lines, done := s.split[filename]
	if file := s.files[filename]; file != nil && !done {
		lines = splitLines(file.Bytes)
		s.split[filename] = lines
	}
	return lines
}

// splitLines are the lines of a text without their ends.
func splitLines(src []byte) []string {
	text := bytes.TrimPrefix(src, []byte("\uFEFF"))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 || len(text) > MaxSource {
		return nil // not text, so nothing to show
	}
	return strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
}

func lineAt(lines []string, n int) string {
	if n < 1 || n > len(lines) {
		return ""
	}
	return printable(lines[n-1])
}

// printable keeps text from a plan from driving the terminal.
func printable(line string) string {
	return strings.Map(func(c rune) rune {
		if (c < ' ' && c != '\t') || c == 0x7f || (c >= 0x80 && c < 0xa0) {
			return '�'
		}
		return c
	}, line)
}
