package load

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

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

const (
	// varPrefix begins environment variables that give a plan's variables.
	varPrefix = "MXFLOW_VAR_"
	// autoSuffix ends files of variables that are read without being named.
	autoSuffix = ".auto.mxvars"
)

// givenValue is the value of a variable as given from outside.
type givenValue struct {
	from string
	// text is set for --var and the environment, value for a file.
	text   string
	isText bool
	value  cty.Value
	at     hcl.Range
}

// readGiven reads the values from outside, the last one of each variable: environment,
// automatic files in lexical order, then the command line in its own order.
func (vs *variables) readGiven() {
	for name := range vs.declared {
		if text, ok := vs.Inputs.Lookup(varPrefix + name); ok {
			vs.given[name] = &givenValue{from: varPrefix + name, text: text, isText: true}
		}
	}
	autos, _ := filepath.Glob(filepath.Join(vs.plan.Dir, "*"+autoSuffix))
	sort.Strings(autos)
	for _, path := range autos {
		vs.varFile(path, filepath.Base(path), vs.Warn)
	}
	for _, in := range vs.opts.Inputs {
		if in.File != "" {
			vs.varFile(in.File, "--var-file "+in.File, vs.Fail)
			continue
		}
		name, text, _ := strings.Cut(in.Var, "=")
		vs.varText(name, text)
	}
	for _, name := range lang.KeysOf(vs.opts.Vars) {
		vs.varText(name, vs.opts.Vars[name])
	}
	if vs.opts.As != nil {
		vs.asBefore()
	}
}

// lookUp finds a variable in the current environment.
func (vs *variables) lookUp(name string) (string, bool) {
	if vs.opts.Env != nil {
		return vs.opts.Env(name)
	}
	return os.LookupEnv(name)
}

func (vs *variables) varText(name, text string) {
	if vs.declared[name] == nil {
		if vs.opts.As != nil {
			return // it is meant for the current plan
		}
		vs.Fail(vs.Start(), "invalid-variable-value", "Unknown variable in --var", "The plan declares no variable %q.%s", name, vs.DidYouMean(name, lang.KeysOf(vs.declared)))
		return
	}
	vs.given[name] = &givenValue{from: "--var", text: text, isText: true}
}

// varFile reads a file of variables: lines of name = value.
func (vs *variables) varFile(path, from string, unknown func(at hcl.Range, code, summary, format string, args ...any)) {
	text, diag := lang.ReadSource(path, "variables")
	if diag != nil {
		vs.Diags = append(vs.Diags, diag)
		return
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return
	}
	if diag := lang.CheckVariables(path, text); diag != nil {
		vs.Diags = append(vs.Diags, diag)
		return
	}
	file, diags := hclsyntax.ParseConfig(text, path, hcl.InitialPos)
	vs.Diags = append(vs.Diags, diags...)
	if lang.BrokenSyntax(diags) {
		return
	}
	attrs, diags := file.Body.JustAttributes()
	for _, d := range diags {
		d.Detail = "A variable file holds lines of name = value and no blocks. " + d.Detail
	}
	vs.Diags = append(vs.Diags, diags...)
	for _, name := range lang.KeysOf(attrs) {
		a := attrs[name]
		if vs.declared[name] == nil && vs.opts.As != nil {
			continue // it is meant for the current plan
		}
		if vs.declared[name] == nil {
			unknown(a.NameRange, "variables-file", "Unknown variable in "+filepath.Base(path), "The plan declares no variable %q.%s", name, vs.DidYouMean(name, lang.KeysOf(vs.declared)))
			continue
		}
		if uses := a.Expr.Variables(); len(uses) > 0 {
			vs.Fail(uses[0].SourceRange(), "variables-file", "Value is not constant", "A variable file holds only values; text goes in quotes: %s = \"…\".", name)
			continue
		}
		v, diags := a.Expr.Value(nil)
		vs.Diags = append(vs.Diags, diags...)
		switch {
		case diags.HasErrors():
		case eval.Finite(v):
			vs.given[name] = &givenValue{from: from, value: v, at: a.Expr.Range()}
		default:
			vs.Fail(a.Expr.Range(), "variables-file", "Value too large", "Numbers must fit a 64-bit float.")
		}
	}
}

// givenTo is the value that was given to a variable.
func (vs *variables) givenTo(in *input, g *givenValue) (cty.Value, bool) {
	if !g.isText {
		if in.Sensitive {
			vs.Secrets.Collect(g.value.Mark(eval.Sensitive))
		}
		return g.value, true
	}
	if in.Sensitive {
		vs.Secrets.Unseen = append(vs.Secrets.Unseen, g.text)
	}
	return vs.parseVar(in, g)
}

// parseVar reads the text of a --var: text stays text, and anything else is
// written as in a plan.
func (vs *variables) parseVar(in *input, g *givenValue) (cty.Value, bool) {
	bad := func(code, summary, format string, args ...any) (cty.Value, bool) {
		vs.Fail(in.at, code, summary, format, args...)
		return cty.DynamicVal, false
	}
	unreadable := "variable-value"
	if in.From == "--var" {
		unreadable = "invalid-variable-value"
	}
	if in.ty.IsPrimitiveType() || in.ty == cty.DynamicPseudoType {
		if in.ty == cty.Number && lang.HugeNumber(g.text) {
			return bad("invalid-variable-value", "Wrong type for variable", "The value of variable %q (%s) is not a number that fits.", in.Name, in.From)
		}
		return cty.StringVal(g.text), true
	}
	value, problem := constant(in.From+" "+in.Name, g.text)
	if problem != "" {
		return bad(unreadable, "Cannot read "+in.From, `The value of variable %q must be written as in a plan, such as ["one", "two"]. %s`, in.Name, problem)
	}
	return value, true
}

// likeDefault reads the text given to a variable without a type as the number or bool that
// its default is. Other text stays text.
func likeDefault(text cty.Value, of cty.Type) cty.Value {
	if !of.IsPrimitiveType() || of == cty.Number && lang.HugeNumber(text.AsString()) {
		return text
	}
	if read, err := convert.Convert(text, of); err == nil {
		return read
	}
	return text
}

// Inputs are the inputs of this load, including private ones.
func (r *Result) Inputs() plans.Inputs {
	l := r.loaded
	in := plans.Inputs{Suite: l.plan.Suite, Variables: l.Inputs.Variables, Env: l.Inputs.Env, Private: map[string]bool{}}
	for name := range l.Inputs.Variables {
		in.Private[eval.OfVariable+name] = l.Inputs.IsPrivate(eval.OfVariable + name)
	}
	for name := range l.Inputs.Env {
		in.Private[eval.OfEnvironment+name] = l.Inputs.IsPrivate(eval.OfEnvironment + name)
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

// give notes the value of a variable, and whether it was given.
func (vs *variables) give(in *input, v cty.Value) {
	if in.From == "default" {
		return
	}
	v, _ = v.UnmarkDeep()
	vs.Inputs.Variables[in.Name] = string(hclwrite.TokensForValue(v).Bytes())
	if in.Sensitive {
		vs.Inputs.Private[eval.OfVariable+in.Name] = true
	}
}

// environment looks up a variable: for a load that must come out as before, only private
// ones, which are not on record, are taken from the current environment.
func (vs *variables) environment(name string) (string, bool) {
	if as := vs.opts.As; as != nil {
		if text, ok := as.Env[name]; ok {
			return text, true
		}
		variable, isVariable := strings.CutPrefix(name, varPrefix)
		if !as.Private[eval.OfEnvironment+name] && !(isVariable && as.Private[eval.OfVariable+variable]) {
			return "", false
		}
	}
	return vs.lookUp(name)
}

// asBefore replaces the given values of variables with the recorded ones, except for
// private ones, which are not on record.
func (vs *variables) asBefore() {
	for name := range vs.given {
		if !vs.opts.As.Private[eval.OfVariable+name] {
			delete(vs.given, name)
		}
	}
	for _, name := range lang.KeysOf(vs.opts.As.Variables) {
		in := vs.declared[name]
		if in == nil {
			continue
		}
		from := "the record of the run"
		v, problem := constant(from+" "+name, vs.opts.As.Variables[name])
		if problem != "" {
			vs.Fail(in.block.DefRange, "variable-value", "Cannot read "+from, "The value of variable %q in %s: %s", name, from, problem)
			continue
		}
		vs.given[name] = &givenValue{from: from, value: v}
	}
}

// constant is a value from its text, as in a plan, and what is wrong with it.
func constant(filename, text string) (cty.Value, string) {
	if strings.TrimSpace(text) == "" {
		return cty.DynamicVal, "It is empty."
	}
	if diag := lang.CheckSource(filename, []byte(text)); diag != nil {
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
