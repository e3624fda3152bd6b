package load

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

// Given is one --var or --var-file; one of the fields is set.
type Given struct {
	// Var is "name=value".
	Var string
	// File is the path of a file of variables.
	File string
}

// Words are the value as it stands on a command line.
func (g Given) Words() []string {
	if g.File != "" {
		return []string{"--var-file", g.File}
	}
	return []string{"--var", g.Var}
}

const (
	// varPrefix begins environment variables that give a plan's variables.
	varPrefix = "MXFLOW_VAR_"
	// autoSuffix ends files of variables that are read without being named.
	autoSuffix = ".auto.mxvars"
)

// variableValue is the value of a variable as given from outside.
type variableValue struct {
	from string
	// text is set for --var and the environment, value for a file.
	text   string
	isText bool
	value  cty.Value
	at     hcl.Range
}

// readVariableValues reads the values from outside, the last one of each variable: environment,
// automatic files in lexical order, then the command line in its own order.
func (l *loader) readVariableValues() {
	for name, in := range l.declared {
		if text, ok := l.Inputs.Lookup(varPrefix + name); ok {
			in.given = &variableValue{from: varPrefix + name, text: text, isText: true}
		}
	}
	autos, _ := filepath.Glob(filepath.Join(l.plan.Dir, "*"+autoSuffix))
	sort.Strings(autos)
	for _, path := range autos {
		l.varFile(path, filepath.Base(path), l.Warn)
	}
	inputs := slices.Clone(l.opts.Inputs)
	for _, name := range lang.KeysOf(l.opts.Vars) {
		inputs = append(inputs, Given{Var: name + "=" + l.opts.Vars[name]})
	}
	l.give(inputs, l.opts.As == nil) // else they are meant for the current plan
	if l.opts.As != nil {
		l.useRecordedValues()
	}
	l.give(l.opts.Anew, true)
}

// give takes values of the command line; an unknown variable is a mistake if they are all this plan's.
func (l *loader) give(inputs []Given, own bool) {
	for _, given := range inputs {
		name, text, _ := strings.Cut(given.Var, "=")
		switch in := l.declared[name]; {
		case given.File != "":
			l.varFile(given.File, "--var-file "+given.File, l.Fail)
		case in != nil:
			in.given = &variableValue{from: "--var", text: text, isText: true}
		case own:
			l.Fail(l.Start(), "invalid-variable-value", "Unknown variable in --var",
				"The plan declares no variable %q.%s", name, l.DidYouMean(name, lang.KeysOf(l.declared)))
		}
	}
}

// varFile reads a file of variables: lines of name = value.
func (l *loader) varFile(path, from string, unknown func(at hcl.Range, code, summary, format string, args ...any)) {
	text, diag := lang.ReadSource(path, "variables")
	if diag != nil {
		l.Diags = append(l.Diags, diag)
		return
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return
	}
	if diag := lang.CheckSource("variables", path, text); diag != nil {
		l.Diags = append(l.Diags, diag)
		return
	}
	file, diags := hclsyntax.ParseConfig(text, path, hcl.InitialPos)
	l.Diags = append(l.Diags, diags...)
	if lang.BrokenSyntax(diags) {
		return
	}
	attrs, diags := file.Body.JustAttributes()
	for _, d := range diags {
		d.Detail = "A variable file holds lines of name = value and no blocks. " + d.Detail
	}
	l.Diags = append(l.Diags, diags...)
	for _, name := range lang.KeysOf(attrs) {
		a, in := attrs[name], l.declared[name]
		uses := a.Expr.Variables()
		switch {
		case in == nil && l.opts.As != nil: // it is meant for the current plan
			continue
		case in == nil:
			unknown(a.NameRange, "variables-file", "Unknown variable in "+filepath.Base(path),
				"The plan declares no variable %q.%s", name, l.DidYouMean(name, lang.KeysOf(l.declared)))
			continue
		case len(uses) > 0:
			l.Fail(uses[0].SourceRange(), "variables-file", "Value is not constant",
				"A variable file holds only values; text goes in quotes: %s = \"…\".", name)
			continue
		}
		v, diags := a.Expr.Value(nil)
		l.Diags = append(l.Diags, diags...)
		switch {
		case diags.HasErrors():
		case eval.Finite(v):
			in.given = &variableValue{from: from, value: v, at: a.Expr.Range()}
		default:
			l.Fail(a.Expr.Range(), "variables-file", "Value too large", "Numbers must fit a 64-bit float.")
		}
	}
}

// variableValueOf is the value that was given to a variable. The text of a --var stays text for a
// simple type, and anything else is written as in a plan.
func (l *loader) variableValueOf(in *input, g *variableValue) (cty.Value, bool) {
	switch {
	case !g.isText && in.Sensitive:
		l.Secrets.Collect(g.value.Mark(eval.Sensitive))
	case in.Sensitive:
		l.Secrets.Unseen = append(l.Secrets.Unseen, g.text)
	}
	switch {
	case !g.isText:
		return g.value, true
	case in.ty.IsPrimitiveType() || in.ty == cty.DynamicPseudoType:
		return cty.StringVal(g.text), true
	}
	value, problem := constant(in.From+" "+in.Name, g.text)
	if problem == "" {
		return value, true
	}
	code := "variable-value"
	if in.From == "--var" {
		code = "invalid-variable-value"
	}
	l.Fail(in.at, code, "Cannot read "+in.From,
		`The value of variable %q must be written as in a plan, such as ["one", "two"]. %s`, in.Name, problem)
	return cty.DynamicVal, false
}

// Inputs are the inputs of this load, including private ones.
func (r *Result) Inputs() plans.Inputs {
	l := r.loaded
	in := plans.Inputs{
		Suite: l.plan.Suite, Question: l.opts.Question, Launches: l.opts.Launches,
		Variables: l.Inputs.Variables, Env: l.Inputs.Env, Sealed: map[string]string{},
	}
	for prefix, values := range map[string]map[string]string{
		eval.OfVariable:    in.Variables,
		eval.OfEnvironment: in.Env,
	} {
		for name := range values {
			if l.Inputs.IsPrivate(prefix + name) {
				in.Sealed[prefix+name] = ""
			}
		}
	}
	return in
}

// ReadFiles are what file() and templatefile() read, by the files' names in the form used
// for the plan's own files. Private ones are left out.
func (r *Result) ReadFiles() map[string]string {
	all := map[string]string{}
	for path, text := range r.loaded.Inputs.Read {
		if !r.loaded.Inputs.IsPrivate(eval.OfFile + path) {
			all[filepath.ToSlash(filepath.Join(r.Plan.Dir, path))] = text
		}
	}
	return all
}

// environment looks up a variable: for a load that must come out as before, only private
// ones, which are not on record, are taken from the current environment.
func (l *loader) environment(name string) (string, bool) {
	if as := l.opts.As; as != nil {
		if text, ok := as.Env[name]; ok {
			return text, true
		}
		variable, isVariable := strings.CutPrefix(name, varPrefix)
		if !as.Private(eval.OfEnvironment+name) && !(isVariable && as.Private(eval.OfVariable+variable)) {
			return "", false
		}
	}
	if l.opts.Env != nil {
		return l.opts.Env(name)
	}
	return os.LookupEnv(name)
}

// useRecordedValues replaces the given values of variables with the recorded ones, except for
// private ones, which are not on record.
func (l *loader) useRecordedValues() {
	const from = "the record of the run"
	for _, name := range lang.KeysOf(l.declared) {
		in := l.declared[name]
		if !l.opts.As.Private(eval.OfVariable + name) {
			in.given = nil
		}
		text, recorded := l.opts.As.Variables[name]
		if !recorded {
			continue
		}
		if v, problem := constant(from+" "+name, text); problem != "" {
			l.Fail(in.block.DefRange, "variable-value", "Cannot read "+from, "The value of variable %q in %s: %s",
				name, from, problem)
		} else {
			in.given = &variableValue{from: from, value: v}
		}
	}
}

// constant is a value from its text, as in a plan, and what is wrong with it.
func constant(filename, text string) (cty.Value, string) {
	if strings.TrimSpace(text) == "" {
		return cty.DynamicVal, "It is empty."
	}
	if diag := lang.CheckSource("variables", filename, []byte(text)); diag != nil {
		return cty.DynamicVal, diag.Detail
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), filename, hcl.InitialPos)
	value := cty.DynamicVal
	if !diags.HasErrors() {
		value, diags = expr.Value(nil)
	}
	if diags.HasErrors() {
		return cty.DynamicVal, diags[0].Detail
	}
	return value, ""
}
