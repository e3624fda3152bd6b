package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
)

// Report collects the mistakes that a load finds.
type Report struct {
	Diags hcl.Diagnostics
	// Suggestions is how many more misspelled names this load compares with all others.
	Suggestions int
}

// MostSuggestions is how many a load starts with.
const MostSuggestions = 200

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
	l.Diags = append(l.Diags, &hcl.Diagnostic{Severity: severity, Extra: Coded(code), Summary: summary, Detail: detail, Subject: &at})
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

// DiagnosticValue is something that a mistaken expression uses, and its value, shortened,
// as a person would write it.
type DiagnosticValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const (
	// maxShownValues and maxShownText keep a diagnostic from burying its point.
	maxShownValues = 8
	maxShownText   = 60
)

// valuesOf lists what the expression of a diagnostic uses. References to blocks
// are left out: they have no value that would help.
func valuesOf(d *hcl.Diagnostic) (list []DiagnosticValue) {
	if d.Expression == nil || d.EvalContext == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, t := range d.Expression.Variables() {
		name, v, ok := lookUp(t, d.EvalContext)
		if !ok || seen[name] || len(list) == maxShownValues {
			continue
		}
		seen[name] = true
		if text, ok := shown(v); ok {
			list = append(list, DiagnosticValue{name, text})
		}
	}
	return list
}

// lookUp follows a traversal as far as values exist.
func lookUp(t hcl.Traversal, ctx *hcl.EvalContext) (string, cty.Value, bool) {
	least := 1
	switch t.RootName() {
	case "var", "local", "each", "self":
		least = 2
	}
	for n := len(t); n >= least; n-- {
		v, diags := t[:n].TraverseAbs(ctx)
		if diags.HasErrors() {
			continue
		}
		return TraversalText(t[:n]), v, true
	}
	return "", cty.NilVal, false
}

// RangeOf is an HCL range as a plans.Range, so that no HCL type reaches the users of a
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
