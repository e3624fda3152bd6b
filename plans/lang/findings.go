package lang

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/mitchellh/go-wordwrap"

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
	snippet := r.snippets()
	list := make([]DiagnosticJSON, 0, len(r.Diagnostics))
	for _, d := range r.Diagnostics {
		j := DiagnosticJSON{Severity: "error", Code: CodeOf(d), Summary: d.Summary, Detail: d.Detail, Values: valuesOf(d)}
		if d.Severity == hcl.DiagWarning {
			j.Severity = "warning"
		}
		if s := d.Subject; s != nil {
			j.File, j.Snippet = s.Filename, snippet(s)
			j.Line, j.Column = s.Start.Line, s.Start.Column
			j.EndLine, j.EndColumn = s.End.Line, s.End.Column
		}
		list = append(list, j)
	}
	return list
}

// TidyDiagnostics sorts by file, in the given order, and position, and drops
// repetitions.
func TidyDiagnostics(diags hcl.Diagnostics, order []string) (kept hcl.Diagnostics) {
	place := func(d *hcl.Diagnostic) (file, offset int) {
		if d.Subject == nil {
			return -2, 0
		}
		return slices.Index(order, d.Subject.Filename), d.Subject.Start.Byte
	}
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int {
		fileA, offsetA := place(a)
		fileB, offsetB := place(b)
		return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(offsetA, offsetB))
	})
	type key struct {
		file, offset    int
		summary, detail string
	}
	seen := map[key]bool{}
	for _, d := range diags {
		file, offset := place(d)
		k := key{file, offset, d.Summary, d.Detail}
		if !seen[k] {
			kept = append(kept, d)
		}
		seen[k] = true
	}
	return kept
}

// MaxShown is how many diagnostics are printed: anyone who has more fixes those first,
// and most of the rest often follows from them.
const MaxShown = 20

// WriteDiagnostics prints the diagnostics for people: what is wrong, the line with carets
// under the place, and how to fix it, wrapped at width columns (0 does not wrap). HCL's own
// writer shows no columns, and without colour no place within the line.
func (r *Findings) WriteDiagnostics(w io.Writer, width int, color bool) error {
	shown, more := r.Diagnostics, ""
	if n := len(shown) - MaxShown; n > 0 {
		shown = slices.Clone(shown)
		slices.SortStableFunc(shown, func(a, b *hcl.Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
		shown = shown[:MaxShown]
		more = fmt.Sprintf("\n… and %d more. Fix these first; mxflow validate --json lists them all.\n", n)
	}
	var b strings.Builder
	snippet := r.snippets()
	for i, d := range shown {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeDiagnostic(&b, d, snippet, width, color)
	}
	_, err := io.WriteString(w, b.String()+more)
	return err
}

func writeDiagnostic(b *strings.Builder, d *hcl.Diagnostic, snippet func(*hcl.Range) string, width int, color bool) {
	paint := func(code, s string) string {
		if !color || s == "" {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	tone, word := "31", "Error"
	if d.Severity == hcl.DiagWarning {
		tone, word = "33", "Warning"
	}
	fmt.Fprintf(b, "%s %s\n", paint(tone+";1", word+":"), paint("1", printable(d.Summary)))
	if s := d.Subject; s != nil {
		fmt.Fprintf(b, "  on %s:%d:%d\n", printable(s.Filename), s.Start.Line, s.Start.Column)
		if text := snippet(s); text != "" {
			margin := paint("2", "      │ ")
			fmt.Fprintf(b, "%s%s\n", paint("2", fmt.Sprintf("%5d │ ", s.Start.Line)), redact.Known().Text(text))
			if redact.Known().Text(text) == text { // redaction moves text, so there would be no place to point at
				before, under := caretsFor(text, s)
				fmt.Fprintf(b, "%s%s%s\n", margin, before, paint(tone+";1", under))
			}
			for _, v := range valuesOf(d) {
				fmt.Fprintf(b, "%s%s\n", margin, printable(v.Name+" is "+v.Value))
			}
		}
	}
	detail := redact.Known().Text(strings.TrimRight(d.Detail, "\n"))
	if width > 2 {
		detail = wordwrap.WrapString(detail, uint(width-2))
	}
	for line := range strings.SplitSeq(detail, "\n") {
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

// snippets finds the line on which a range begins; each file is split once.
func (r *Findings) snippets() func(*hcl.Range) string {
	split := map[string][]string{}
	return func(at *hcl.Range) string {
		lines, done := split[at.Filename]
		if file := r.Files[at.Filename]; file != nil && !done {
			lines = splitLines(file.Bytes)
			split[at.Filename] = lines
		}
		if at.Start.Line < 1 || at.Start.Line > len(lines) {
			return ""
		}
		return printable(lines[at.Start.Line-1])
	}
}

// splitLines are the lines of a text without their ends; none if it is no text, so that
// there is nothing to show.
func splitLines(src []byte) []string {
	text := bytes.TrimPrefix(src, []byte("\uFEFF"))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 || len(text) > MaxSource {
		return nil
	}
	return strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
}

// printable keeps text from a plan from driving the terminal.
func printable(line string) string {
	return strings.Map(func(c rune) rune {
		if c != '\t' && unicode.IsControl(c) {
			return '�'
		}
		return c
	}, line)
}
