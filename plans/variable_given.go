package plans

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Given is one --var or --var-file; one of the fields is set.
type Given struct {
	// Var is "name=value".
	Var string
	// File is the path of a file of variables.
	File string
}

const (
	// varPrefix begins environment variables that give a plan's variables.
	varPrefix = "MXFLOW_VAR_"
	// autoSuffix ends files of variables that are read without being named.
	autoSuffix = ".auto.mxvars"
)

// givenValue is the value of a variable as it was given from outside.
type givenValue struct {
	from string
	// text is set for --var and the environment, value for a file.
	text   string
	isText bool
	value  cty.Value
	at     hcl.Range
}

// givenValues are the values from outside, the last one of each variable:
// environment, automatic files in lexical order, then the command line in its
// own order.
func (l *loader) givenValues(declared map[string]*input) map[string]*givenValue {
	given := map[string]*givenValue{}
	for name := range declared {
		if text, ok := l.env(varPrefix + name); ok {
			given[name] = &givenValue{from: varPrefix + name, text: text, isText: true}
		}
	}
	autos, _ := filepath.Glob(filepath.Join(l.plan.Dir, "*"+autoSuffix))
	sort.Strings(autos)
	for _, path := range autos {
		l.varFile(path, filepath.Base(path), declared, given, l.warn)
	}
	for _, in := range l.opts.Inputs {
		if in.File != "" {
			l.varFile(in.File, "--var-file "+in.File, declared, given, l.fail)
			continue
		}
		name, text, _ := strings.Cut(in.Var, "=")
		l.varText(name, text, declared, given)
	}
	for _, name := range keysOf(l.opts.Vars) {
		l.varText(name, l.opts.Vars[name], declared, given)
	}
	if l.opts.As != nil {
		l.asBefore(declared, given)
	}
	return given
}

// lookUp finds a variable in the environment of now.
func (l *loader) lookUp(name string) (string, bool) {
	if l.opts.Env != nil {
		return l.opts.Env(name)
	}
	return os.LookupEnv(name)
}

func (l *loader) varText(name, text string, declared map[string]*input, given map[string]*givenValue) {
	if declared[name] == nil {
		if l.opts.As != nil {
			return // it is given to a plan of now
		}
		l.fail(l.start(), "Unknown variable in --var", "The plan declares no variable %q.%s", name, l.didYouMean(name, keysOf(declared)))
		return
	}
	given[name] = &givenValue{from: "--var", text: text, isText: true}
}

// varFile reads a file of variables: lines of name = value.
func (l *loader) varFile(path, from string, declared map[string]*input, given map[string]*givenValue, unknown func(at hcl.Range, summary, format string, args ...any)) {
	l.at("the variables in "+path, hcl.Range{Filename: path})
	text, diag := readSource(path, "variables")
	if diag != nil {
		l.diags = append(l.diags, diag)
		return
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return
	}
	loops, diag := checkSource(path, text)
	if diag == nil && len(loops) > 0 {
		at := startOf(path)
		diag = &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Loop in a file of variables", Detail: "A file of variables holds values only. Write them out, or use a local in the plan.", Subject: &at}
	}
	if diag != nil {
		diag.Summary = strings.Replace(diag.Summary, "Plan", "Variables file", 1)
		l.diags = append(l.diags, diag)
		return
	}
	file, diags := hclsyntax.ParseConfig(text, path, hcl.InitialPos)
	l.diags = append(l.diags, diags...)
	if brokenSyntax(diags) {
		return
	}
	attrs, diags := file.Body.JustAttributes()
	for _, d := range diags {
		d.Detail = "A file of variables holds lines of name = value and no blocks. " + d.Detail
	}
	l.diags = append(l.diags, diags...)
	for _, name := range keysOf(attrs) {
		a := attrs[name]
		if declared[name] == nil && l.opts.As != nil {
			continue // it is given to a plan of now
		}
		if declared[name] == nil {
			unknown(a.NameRange, "Unknown variable in "+filepath.Base(path), "The plan declares no variable %q.%s", name, l.didYouMean(name, keysOf(declared)))
			continue
		}
		if uses := a.Expr.Variables(); len(uses) > 0 {
			l.fail(uses[0].SourceRange(), "Value is not constant", "A file of variables holds values only; text stands in quotes: %s = \"…\".", name)
			continue
		}
		v, diags := a.Expr.Value(nil)
		l.diags = append(l.diags, diags...)
		if size, finite := sizeOf(v); !diags.HasErrors() && finite && size <= maxValue {
			given[name] = &givenValue{from: from, value: v, at: a.Expr.Range()}
		} else if !diags.HasErrors() {
			l.fail(a.Expr.Range(), "Value too large", "A variable has up to 1 MiB, and numbers fit a 64-bit float.")
		}
	}
}

// givenTo is the value that was given to a variable.
func (l *loader) givenTo(in *input, g *givenValue) (cty.Value, bool) {
	if !g.isText {
		if in.Sensitive {
			l.secrets.collect(g.value.Mark(sensitive))
		}
		return g.value, true
	}
	if in.Sensitive {
		l.secrets.unseen = append(l.secrets.unseen, g.text)
	}
	return l.parseVar(in, g)
}

// parseVar reads the text of a --var: text stays text, and anything else is
// written as in a plan.
func (l *loader) parseVar(in *input, g *givenValue) (cty.Value, bool) {
	bad := func(summary, format string, args ...any) (cty.Value, bool) {
		l.fail(in.at, summary, format, args...)
		return cty.DynamicVal, false
	}
	if len(g.text) > maxValue {
		return bad("Cannot read "+in.From, "The value of %q has more than 1 MiB.", in.Name)
	}
	if in.ty.IsPrimitiveType() || in.ty == cty.DynamicPseudoType {
		if in.ty == cty.Number && hugeNumber([]byte(g.text)) {
			return bad("Wrong type for variable", "The value of variable %q (%s) is not a number that fits.", in.Name, in.From)
		}
		return cty.StringVal(g.text), true
	}
	value, problem := constant(in.From+" "+in.Name, g.text)
	if problem != "" {
		return bad("Cannot read "+in.From, `The value of variable %q has to be written as in a plan, such as ["one", "two"]. %s`, in.Name, problem)
	}
	return value, true
}
