package plans

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mxflow/mxflow/plans/redact"
)

// ConsoleFile is the name under which diagnostics know what Evaluate and
// CompileRule were given; Files has its text.
const ConsoleFile = "console"

// Evaluate evaluates an expression in the scope of the plan, under the plan's
// limits, and returns its value as a plan would write it. What is sensitive
// stays hidden. It changes the result's Files and is not for use at the same
// time by several.
func (r *Result) Evaluate(src string) (text string, diags Diagnostics) {
	l := r.loaded
	diags = r.aside(src, func() {
		loops, bad := checkSource(ConsoleFile, []byte(src))
		if bad != nil {
			l.diags = append(l.diags, bad)
			return
		}
		l.sources[ConsoleFile].loops = loops
		expr, found := hclsyntax.ParseExpression([]byte(src), ConsoleFile, hcl.InitialPos)
		l.diags = append(l.diags, found...)
		if found.HasErrors() {
			return
		}
		if v, ok := l.marked(expr); ok {
			text = written(v, "")
		}
	})
	if diags.HasErrors() {
		return "", diags
	}
	return text, diags
}

// CompileRule compiles a rule that may read every feature of the plan. Bare
// addresses are those of the named feature; without a name, of the plan's only
// one. What is merely the address of a value is compared with something, so that
// it compiles too, and address is true.
func (r *Result) CompileRule(src, feature string) (rule *Rule, address bool, diags Diagnostics) {
	rule = &Rule{Name: ConsoleFile, Expr: src, ExprRange: wholeText(src)}
	diags = r.aside(src, func() {
		ns := newNamespace(r.Plan)
		program, errs := ns.compile(src, ns.everywhere(feature))
		if len(errs) == 1 && errs[0].summary == "Not a yes or no" {
			sc := ns.everywhere(feature)
			sc.shown = true
			for _, comparison := range []string{" >= 0", " == 'pass'"} {
				if p, wrong := ns.compile("("+src+")"+comparison, sc); len(wrong) == 0 {
					program, errs, address = p, nil, true
				}
			}
		}
		for _, e := range errs {
			at := rule.ExprRange.hcl()
			if e.at >= 0 {
				from := byteOffset(src, e.at)
				to := max(from+1, byteOffset(src, e.at+e.length))
				at = wholeText(src).hcl()
				at.Start, at.End = positionIn(src, from), positionIn(src, to)
			}
			l := r.loaded
			l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: e.summary, Detail: e.detail, Subject: &at})
		}
		rule.Program = program
	})
	return rule, address, diags
}

// aside runs work with the scope of the load, and returns what it found wrong.
// A mistake of ours must end as a message here too.
func (r *Result) aside(src string, work func()) (diags Diagnostics) {
	l := r.loaded
	before := l.diags
	l.diags, l.work, l.suggestions = nil, 0, 200
	l.sources[ConsoleFile] = &source{name: ConsoleFile, text: []byte(src)}
	defer func() {
		if p := recover(); p != nil {
			l.diags = hcl.Diagnostics{{
				Severity: hcl.DiagError, Summary: "Internal error while reading the plan",
				Detail: fmt.Sprintf("This is a mistake in mxflow, please report it: %v", p), Subject: startOf(ConsoleFile).Ptr(),
			}}
		}
		hide := redact.New(l.secrets.list())
		r.Files[ConsoleFile] = &hcl.File{Bytes: hide.Bytes([]byte(src))}
		l.explainAll(l.diags)
		for _, d := range l.diags {
			d.Summary, d.Detail = hide.Text(d.Summary), hide.Text(d.Detail)
		}
		diags, l.diags = tidyDiagnostics(l.diags, nil), before
		delete(l.sources, ConsoleFile)
		maps.DeleteFunc(l.evaluated, func(at hcl.Range, _ evaluated) bool { return at.Filename == ConsoleFile })
	}()
	work()
	return nil
}

// everywhere is a scope that comes after all phases.
func (ns *namespace) everywhere(feature string) *scope {
	end := &Phase{}
	for _, ph := range ns.plan.Phases {
		end.AfterDecided = append(end.AfterDecided, ph.Name)
		end.Features = append(end.Features, ph.Features...)
	}
	sc := ns.gateScope(end)
	if f := ns.features[feature]; f != nil {
		sc.own = f
	}
	return sc
}

// IsExpression reports whether a text can only be an expression of the plan, and
// no rule: all that it names is known before anything is measured.
func IsExpression(src string) bool {
	if len(src) > maxLine {
		return true
	}
	if _, bad := checkSource(ConsoleFile, []byte(src)); bad != nil {
		return true // and is refused as such
	}
	expr, diags := hclsyntax.ParseExpression([]byte(src), ConsoleFile, hcl.InitialPos)
	if diags.HasErrors() {
		return false
	}
	known := []string{"var", "local", "workload", "suite", "phase", "protocol", "baseline", "accepted", "each", "count"}
	for _, t := range expr.Variables() {
		if !slices.Contains(known, t.RootName()) {
			return false
		}
	}
	return true
}

func wholeText(src string) Range {
	return Range{File: ConsoleFile, Start: Pos(hcl.InitialPos), End: Pos(positionIn(src, len(src)))}
}

func positionIn(src string, offset int) hcl.Pos {
	return position([]byte(src), Pos(hcl.InitialPos), offset)
}
