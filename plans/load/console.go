package load

import (
	"maps"
	"runtime/debug"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/plans/rules"
)

// consoleFile is the file name in diagnostics for the text given to Evaluate or
// CompileRule; Files has the text.
const consoleFile = "console"

// Evaluate evaluates an expression in the scope of the plan, under the plan's limits, and
// returns its value as a plan would write it. Sensitive values stay hidden. It changes
// the result's Files and is not safe for concurrent use.
func (r *Result) Evaluate(src string) (text string, diags lang.Diagnostics) {
	l := r.loaded
	diags = r.aside(src, func() {
		loops, bad := lang.CheckSource(consoleFile, []byte(src))
		if bad != nil {
			l.Diags = append(l.Diags, bad)
			return
		}
		l.Sources[consoleFile].Loops = loops
		expr, found := hclsyntax.ParseExpression([]byte(src), consoleFile, hcl.InitialPos)
		l.Diags = append(l.Diags, found...)
		if found.HasErrors() {
			return
		}
		if v, ok := l.Marked(expr); ok {
			text = lang.Written(v, "")
		}
	})
	if diags.HasErrors() {
		return "", diags
	}
	return text, diags
}

// CompileRule compiles a rule that may read every feature of the plan. Bare addresses are
// those of the named feature; without a name, of the plan's only one. For a mere address,
// a comparison is added so that it compiles too, and address is true.
func (r *Result) CompileRule(src, feature string) (rule *plans.Rule, address bool, diags lang.Diagnostics) {
	rule = &plans.Rule{Name: consoleFile, Expr: src, ExprRange: wholeText(src)}
	diags = r.aside(src, func() {
		ns := rules.New(r.Plan)
		program, errs := ns.Compile(src, ns.Everywhere(feature))
		if len(errs) == 1 && errs[0].About == rules.AboutValue {
			sc := ns.Everywhere(feature)
			sc.Shown = true
			for _, comparison := range []string{" >= 0", " == 'pass'"} {
				if p, wrong := ns.Compile("("+src+")"+comparison, sc); len(wrong) == 0 {
					program, errs, address = p, nil, true
				}
			}
		}
		for _, e := range errs {
			at := lang.HCL(rule.ExprRange)
			if e.At >= 0 {
				from := rules.ByteOffset(src, e.At)
				to := max(from+1, rules.ByteOffset(src, e.At+e.Length))
				at = lang.HCL(wholeText(src))
				at.Start, at.End = positionIn(src, from), positionIn(src, to)
			}
			l := r.loaded
			l.Diags = append(l.Diags, &hcl.Diagnostic{Severity: hcl.DiagError, Extra: e.Extra(), Summary: e.Summary, Detail: e.Detail, Subject: &at})
		}
		rule.Program = program
	})
	return rule, address, diags
}

// aside runs work in the scope of the load, on a text that is not part of the plan, and
// returns the mistakes found.
func (r *Result) aside(src string, work func()) lang.Diagnostics {
	found := r.Aside([]string{consoleFile}, func() {
		r.loaded.Sources[consoleFile] = &lang.Source{Name: consoleFile, Text: []byte(src)}
		work()
	})
	r.Files[consoleFile] = found.Files[consoleFile]
	return found.Diagnostics
}

// Aside runs work that reads texts in the scope of the plan, under its limits, and
// returns the mistakes found. The texts become Sources of the scope under these names
// while work runs; then the scope is restored. It is not safe for concurrent use.
func (r *Result) Aside(names []string, work func()) *lang.Findings {
	l := r.loaded
	before, sources, order := l.Diags, l.Sources, l.Order
	l.Diags, l.Sources, l.Budget.Work, l.Suggestions = nil, maps.Clone(sources), 0, mostSuggestions
	stop := l.opts.Guard.Watch(l.Scope)
	defer stop()
	l.survive(names[0], work)
	found := &lang.Findings{Files: maps.Clone(r.Files)}
	hide := l.tidy(names, found)
	for _, name := range names {
		if s := l.Sources[name]; s != nil {
			found.Files[name] = &hcl.File{Body: s.Body, Bytes: hide.Bytes(s.Text)}
		}
	}
	maps.DeleteFunc(l.Evaluated, func(at hcl.Range, _ lang.Evaluated) bool { return sources[at.Filename] == nil })
	l.Diags, l.Sources, l.Order = before, sources, order
	return found
}

// survive runs work on a file. A plan is foreign input: a mistake in this package or in
// a parser must end as a message, not as a dead process, beside what was found before.
func (l *loader) survive(file string, work func()) {
	defer func() {
		if p := recover(); p != nil {
			l.Fail(lang.StartOf(file), "internal-error", "Internal error while reading the plan", "This is a bug in mxflow. Report it with the plan: %v\n%s", p, debug.Stack())
		}
	}()
	work()
}

// tidy adds values to the diagnostics, orders them and removes secrets; the Redactor that
// it returns removes them from other texts.
func (l *loader) tidy(order []string, found *lang.Findings) *redact.Redactor {
	hide := redact.New(append(l.Secrets.List(), l.Secrets.Unseen...))
	l.ExplainAll(l.Diags)
	for _, d := range l.Diags {
		d.Summary, d.Detail = hide.Text(d.Summary), hide.Text(d.Detail)
	}
	found.Diagnostics = lang.TidyDiagnostics(l.Diags, order)
	return hide
}

// IsExpression reports whether a text can only be an expression of the plan, not a rule:
// everything that it names is known before anything is measured.
func IsExpression(src string) bool {
	if len(src) > lang.MaxLine {
		return true
	}
	if _, bad := lang.CheckSource(consoleFile, []byte(src)); bad != nil {
		return true // and is refused as such
	}
	expr, diags := hclsyntax.ParseExpression([]byte(src), consoleFile, hcl.InitialPos)
	if diags.HasErrors() {
		return false
	}
	known := []string{"var", "local", "workload", "suite", "phase", "protocol", "baseline", "accepted", "each"}
	for _, t := range expr.Variables() {
		if !slices.Contains(known, t.RootName()) {
			return false
		}
	}
	return true
}

func wholeText(src string) plans.Range {
	return plans.Range{File: consoleFile, Start: plans.Pos(hcl.InitialPos), End: plans.Pos(positionIn(src, len(src)))}
}

func positionIn(src string, offset int) hcl.Pos {
	return rules.Position([]byte(src), plans.Pos(hcl.InitialPos), offset)
}
