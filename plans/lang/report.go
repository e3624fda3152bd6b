package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
)

type Report struct {
	Diags hcl.Diagnostics
}

// Fail reports an error: what is wrong in a few words, then how to fix it.
func (l *Report) Fail(at hcl.Range, code, summary, format string, args ...any) {
	l.note(hcl.DiagError, at, code, summary, format, args...)
}

func (l *Report) Warn(at hcl.Range, code, summary, format string, args ...any) {
	l.note(hcl.DiagWarning, at, code, summary, format, args...)
}

func (l *Report) note(severity hcl.DiagnosticSeverity, at hcl.Range, code, summary, format string, args ...any) {
	detail := format
	if len(args) > 0 {
		detail = fmt.Sprintf(format, args...)
	}
	l.Diags = append(l.Diags,
		&hcl.Diagnostic{Severity: severity, Extra: Coded(code), Summary: summary, Detail: detail, Subject: &at})
}

func StartOf(filename string) hcl.Range {
	return hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos}
}

// SeenAt describes the place of something, for a mistake at another place.
func SeenAt(first, now hcl.Range) string {
	if first.Filename != now.Filename {
		return fmt.Sprintf("on line %d of %s", first.Start.Line, first.Filename)
	}
	return fmt.Sprintf("on line %d", first.Start.Line)
}

// RangeOf is an HCL range as a plans.Range, so no HCL type reaches the users of a
// Plan.
func RangeOf(r hcl.Range) plans.Range {
	return plans.Range{
		File:  r.Filename,
		Start: plans.Pos(r.Start),
		End:   plans.Pos(r.End),
	}
}

func HCL(r plans.Range) hcl.Range {
	return hcl.Range{Filename: r.File, Start: hcl.Pos(r.Start), End: hcl.Pos(r.End)}
}
