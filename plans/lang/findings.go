package lang

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
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
}

// DiagnosticsJSON is the diagnostics for programs; never nil, so it
// encodes as a list.
func (r *Findings) DiagnosticsJSON() []DiagnosticJSON {
	list := make([]DiagnosticJSON, 0, len(r.Diagnostics))
	for _, d := range r.Diagnostics {
		j := DiagnosticJSON{Severity: "error", Code: CodeOf(d), Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hcl.DiagWarning {
			j.Severity = "warning"
		}
		if s := d.Subject; s != nil {
			j.File, j.Snippet = s.Filename, r.snippet(s)
			j.Line, j.Column = s.Start.Line, s.Start.Column
			j.EndLine, j.EndColumn = s.End.Line, s.End.Column
		}
		list = append(list, j)
	}
	return list
}

// TidyDiagnostics sorts by file, in the given order, and position, drops repetitions, and
// writes what to add in the syntax of the file.
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
		filename := ""
		if d.Subject != nil {
			filename = d.Subject.Filename
		}
		d.Detail = inSyntax(filename, d.Detail)
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

// WriteDiagnostics prints the diagnostics for people, as HCL does: what is wrong, the line
// with its place, and how to fix it, wrapped at width columns (0 does not wrap). Below are
// the code and the place, as only colour shows where on the line it is.
func (r *Findings) WriteDiagnostics(w io.Writer, width int, color bool) error {
	shown, more := r.Diagnostics, ""
	if n := len(shown) - MaxShown; n > 0 {
		shown = slices.Clone(shown)
		slices.SortStableFunc(shown, func(a, b *hcl.Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
		shown = shown[:MaxShown]
		more = fmt.Sprintf("… and %d more. Fix these first; with --json all are printed.\n\n", n)
	}
	files := map[string]*hcl.File{}
	var b strings.Builder
	out := hcl.NewDiagnosticTextWriter(&b, files, uint(max(0, width)), color)
	for _, d := range shown {
		d := *d
		d.Summary, d.Context = foreign.Printable(d.Summary), nil
		place := CodeOf(&d)
		if at := d.Subject; at != nil {
			place += fmt.Sprintf(" at %s:%d:%d", at.Filename, at.Start.Line, at.Start.Column)
			d.Subject, files[at.Filename] = onItsLine(*at, r.Files[at.Filename])
		}
		d.Detail = foreign.Printable(strings.TrimRight(d.Detail, "\n") + "\n[" + place + "]")
		if err := out.WriteDiagnostic(&d); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, redact.ProcessSecrets().Text(b.String())+more)
	return err
}

// onItsLine is the part of a range that is on the line on which it begins, with a
// character to point at: a range may be a whole block, or the end of a line. The text ends
// with the line; there is none if it could drive a terminal, or is none.
func onItsLine(at hcl.Range, file *hcl.File) (*hcl.Range, *hcl.File) {
	if file == nil || at.Start.Byte > len(file.Bytes) {
		return &at, nil
	}
	line, _, _ := bytes.Cut(file.Bytes[at.Start.Byte:], []byte("\n"))
	end := at.Start.Byte + len(line)
	at.End.Byte, at.End.Line = min(max(at.End.Byte, at.Start.Byte), end), at.Start.Line
	text := file.Bytes[:end]
	from := bytes.LastIndexByte(text, '\n') + 1
	if at.Start.Byte == end && from < end {
		at.Start.Byte--
	}
	if shown := string(bytes.TrimSuffix(text[from:], []byte("\r"))); foreign.Printable(shown) != shown {
		return &at, nil
	}
	return &at, &hcl.File{Bytes: text, Nav: file.Nav}
}

// snippet is the line on which a range begins.
func (r *Findings) snippet(at *hcl.Range) string {
	file := r.Files[at.Filename]
	if file == nil || at.Start.Byte > len(file.Bytes) || !utf8.Valid(file.Bytes) {
		return ""
	}
	from := bytes.LastIndexByte(file.Bytes[:at.Start.Byte], '\n') + 1
	line, _, _ := bytes.Cut(file.Bytes[from:], []byte("\n"))
	return foreign.Printable(strings.TrimPrefix(strings.TrimSuffix(string(line), "\r"), "\uFEFF"))
}
