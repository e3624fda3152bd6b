package lang

import (
	"fmt"
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
)

// Report collects the mistakes that a load finds.
type Report struct {
	Diags hcl.Diagnostics
	// Evaluated are the expressions so far, by their place.
	Evaluated map[hcl.Range]Evaluated
	// Here is the scope of the instance that is being read, nil outside all instances.
	Here *hcl.EvalContext
	// Suggestions is how many more spelling suggestions this load will make.
	Suggestions int
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
	d := &hcl.Diagnostic{Severity: severity, Extra: Coded(code), Summary: summary, Detail: detail, Subject: &at, EvalContext: l.Here}
	if e, ok := l.Evaluated[at]; ok {
		e.explain(d)
	}
	l.Diags = append(l.Diags, d)
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

// Evaluated is an expression that used something, and its scope.
type Evaluated struct {
	expr hcl.Expression
	ctx  *hcl.EvalContext
	// several is set if instances of one block evaluated it, each in its own scope.
	several bool
}

// Remember notes an expression, so that a mistake found in its value later can
// say what it was made of.
func (l *Report) Remember(expr hcl.Expression, ctx *hcl.EvalContext) {
	if l.Evaluated == nil {
		l.Evaluated = map[hcl.Range]Evaluated{}
	}
	e, again := l.Evaluated[expr.Range()]
	l.Evaluated[expr.Range()] = Evaluated{expr, ctx, e.several || again && e.ctx != ctx}
}

// explain adds to a diagnostic the expression at its place, in the scope of the instance
// that it was found in. If that is unknown, anything that differs between instances is
// left out.
func (e Evaluated) explain(d *hcl.Diagnostic) {
	d.Expression = e.expr
	switch {
	case d.EvalContext != nil:
	case e.several && e.ctx.Parent() != nil:
		d.EvalContext = e.ctx.Parent()
	default:
		d.EvalContext = e.ctx
	}
}

// ExplainAll explains diagnostics about a part of an expression, such as an
// element of a list or a name in a rule.
func (l *Report) ExplainAll(diags hcl.Diagnostics) {
	ranges := make([]hcl.Range, 0, len(l.Evaluated))
	for r := range l.Evaluated {
		ranges = append(ranges, r)
	}
	sort.Slice(ranges, func(i, j int) bool { return before(ranges[i], ranges[j]) })
	for _, d := range diags {
		if d.Expression != nil || d.Subject == nil {
			continue
		}
		// Expressions of attributes do not overlap: the last that begins
		// before the place is the only one that can hold it.
		i := sort.Search(len(ranges), func(i int) bool { return before(*d.Subject, ranges[i]) }) - 1
		if i >= 0 && ranges[i].Filename == d.Subject.Filename && ranges[i].End.Byte >= d.Subject.End.Byte {
			l.Evaluated[ranges[i]].explain(d)
		}
	}
}

// before orders ranges by file and start.
func before(a, b hcl.Range) bool {
	if a.Filename != b.Filename {
		return a.Filename < b.Filename
	}
	return a.Start.Byte < b.Start.Byte
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
