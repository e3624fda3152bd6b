package plans

import (
	"fmt"
	"sort"

	"github.com/hashicorp/hcl/v2"
)

// Diagnostics is everything found wrong with a plan, in order of appearance.
type Diagnostics = hcl.Diagnostics

// Findings are what was found wrong with a text, with everything needed to tell a
// person about it.
type Findings struct {
	// Diagnostics are sorted by position.
	Diagnostics Diagnostics
	// Files are the text that the diagnostics point into, by the name that they
	// use, except for files of variables: those may hold secrets.
	Files map[string]*hcl.File
}

// OK reports whether the text is free of errors and may be used.
func (r *Findings) OK() bool { return !r.Diagnostics.HasErrors() }

// DiagnosticJSON is one diagnostic for programs. Lines and columns count from
// 1; the end is exclusive. A diagnostic of no place has no file and no lines.
type DiagnosticJSON struct {
	Severity string `json:"severity"` // "error" or "warning"
	// Code stays when words change; docs/diagnostics.md explains each.
	Code      string `json:"code"`
	Summary   string `json:"summary"`
	Detail    string `json:"detail,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
	// Snippet is the line that it begins on.
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
			Severity: severity(d), Code: CodeOf(d), Summary: d.Summary, Detail: d.Detail, Values: ValuesOf(d),
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

// tidyDiagnostics sorts by file, in the given order, and position, and drops
// repetitions.
func tidyDiagnostics(diags hcl.Diagnostics, order []string) hcl.Diagnostics {
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
			Summary:  "Too many warnings",
			Detail:   fmt.Sprintf("%d more were found. Mend these first.", n-maxDiagnostics),
			Subject:  kept[maxDiagnostics].Subject,
		}
		if kept[maxDiagnostics:].HasErrors() {
			rest.Severity, rest.Summary = hcl.DiagError, "Too many errors"
		}
		kept = append(kept[:maxDiagnostics:maxDiagnostics], rest)
	}
	return kept
}
