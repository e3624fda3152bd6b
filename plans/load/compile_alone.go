package load

import (
	"maps"
	"runtime/debug"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/rules"
)

// ruleFile is the file name in diagnostics for the text given to CompileRule.
const ruleFile = "rule"

// CompileRule compiles a rule that may read every feature of the plan. Bare addresses
// belong to the named feature; without a name, to the plan's only one. It is not safe for
// concurrent use.
func (r *Result) CompileRule(src, feature string) (*plans.Rule, lang.Diagnostics) {
	end := plans.Pos(rules.Position([]byte(src), plans.Pos(hcl.InitialPos), len(src)))
	rule := &plans.Rule{
		Name: ruleFile, Expr: src,
		ExprRange: plans.Range{File: ruleFile, Start: plans.Pos(hcl.InitialPos), End: end},
	}
	l := r.loaded
	diags, sources := l.Diags, l.Sources
	l.Diags, l.Sources = nil, maps.Clone(sources)
	l.survive(ruleFile, func() {
		l.Sources[ruleFile] = &lang.Source{Name: ruleFile, Text: []byte(src)}
		ns := rules.New(r.Plan)
		var errs []*rules.Error
		rule.Cond, errs = ns.Compile(src, ns.Everywhere(feature))
		for _, e := range errs {
			l.Diags = append(l.Diags, e.Diagnostic(rule.ExprRange, src, nil))
		}
	})
	var found lang.Findings
	l.tidy([]string{ruleFile}, &found)
	l.Diags, l.Sources = diags, sources
	return rule, found.Diagnostics
}

// survive runs work on a file and turns a panic into a finding. A plan is foreign input:
// a bug in this package or in a parser must not end the process, nor hide earlier
// findings.
func (l *loader) survive(file string, work func()) {
	defer func() {
		if p := recover(); p != nil {
			l.Fail(lang.StartOf(file), "internal-error", "Internal error while reading the plan",
				"This is a bug in mxflow. Report it with the plan: %v\n%s", p, debug.Stack())
		}
	}()
	work()
}

// tidy orders the diagnostics and removes secrets; the Redactor that
// it returns removes them from other texts.
func (l *loader) tidy(order []string, found *lang.Findings) *redact.Redactor {
	hide := redact.New(append(l.Secrets.List(), l.Secrets.Unseen...))
	for _, d := range l.Diags {
		d.Summary, d.Detail = hide.Text(d.Summary), hide.Text(d.Detail)
	}
	found.Diagnostics = lang.TidyDiagnostics(l.Diags, order)
	return hide
}
