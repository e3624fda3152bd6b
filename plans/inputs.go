package plans

import (
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// Inputs are what a load took from outside of the plan's own files: with them,
// the same files are the same plan again.
type Inputs struct {
	// Suite is the suite that the command line chose.
	Suite string
	// Variables are the values that were given to variables, as a plan would write
	// them, and Env what env() found in the environment.
	Variables, Env map[string]string
	// Private names, as "var.key", "env.TOKEN" or "file.key.pem", what is sensitive
	// or a part of what is: it belongs into no record.
	Private map[string]bool
}

const (
	ofVariable    = "var."
	ofEnvironment = "env."
	ofFile        = "file."
)

// Inputs are those of this load, private ones among them.
func (r *Result) Inputs() Inputs {
	l := r.loaded
	in := Inputs{Suite: l.plan.Suite, Variables: l.inputs.variables, Env: l.inputs.env, Private: map[string]bool{}}
	for name := range l.inputs.variables {
		in.Private[ofVariable+name] = l.isPrivate(ofVariable + name)
	}
	for name := range l.inputs.env {
		in.Private[ofEnvironment+name] = l.isPrivate(ofEnvironment + name)
	}
	return in
}

// VariableText is the value of a variable, given or not, as a plan would write it, a
// private one too; false where the plan has no such variable.
func (r *Result) VariableText(name string) (string, bool) {
	text, ok := r.loaded.inputs.values[name]
	return text, ok
}

// ReadFiles are what file() and templatefile() read, by the files' names as the
// plan's own are named. Private ones are left out.
func (r *Result) ReadFiles() map[string]string {
	all := map[string]string{}
	for path, text := range r.loaded.read {
		if !r.loaded.isPrivate(ofFile + path) {
			all[filepath.ToSlash(filepath.Join(r.Plan.Dir, path))] = text
		}
	}
	return all
}

// taken is what a load has taken from outside so far.
type taken struct {
	variables, env map[string]string
	// values are those of all variables, the given ones among them.
	values map[string]string
	// private are the origins of what is sensitive, see origins.
	private map[string]bool
	locals  map[string]*hcl.Attribute
}

func (l *evalScope) isPrivate(origin string) bool {
	return l.inputs.private[unknownOrigin] || l.inputs.private[origin]
}

// give notes the value of a variable, and whether it was given.
func (l *loader) give(in *input, v cty.Value) {
	v, _ = v.UnmarkDeep()
	text := string(hclwrite.TokensForValue(v).Bytes())
	l.inputs.values[in.Name] = text
	if in.From == "default" {
		return
	}
	l.inputs.variables[in.Name] = text
	if in.Sensitive {
		l.inputs.private[ofVariable+in.Name] = true
	}
}

// env looks up an environment variable: where a load is to come out as it did
// before, only what is not on record is taken from the environment of now.
func (l *loader) environment(name string) (string, bool) {
	if as := l.opts.As; as != nil {
		if text, ok := as.Env[name]; ok {
			return text, true
		}
		variable, isVariable := strings.CutPrefix(name, varPrefix)
		if !as.Private[ofEnvironment+name] && !(isVariable && as.Private[ofVariable+variable]) {
			return "", false
		}
	}
	return l.lookUp(name)
}

// asBefore puts the recorded values of variables in the place of those given now,
// except for private ones, which no record has.
func (l *loader) asBefore(declared map[string]*input, given map[string]*givenValue) {
	for name := range given {
		if !l.opts.As.Private[ofVariable+name] {
			delete(given, name)
		}
	}
	for _, name := range keysOf(l.opts.As.Variables) {
		in := declared[name]
		if in == nil {
			continue
		}
		from := "the record of the run"
		v, problem := constant(from+" "+name, l.opts.As.Variables[name])
		if problem != "" {
			l.fail(in.block.DefRange, "Cannot read "+from, "The value of variable %q in %s: %s", name, from, problem)
			continue
		}
		given[name] = &givenValue{from: from, value: v}
	}
}

// constant is a value from its text, as in a plan, and what is wrong with it.
func constant(filename, text string) (cty.Value, string) {
	if len(text) > maxValue {
		return cty.DynamicVal, "It has more than 1 MiB."
	}
	loops, diag := checkSource(filename, []byte(text))
	if diag != nil {
		return cty.DynamicVal, diag.Detail
	}
	if len(loops) > 0 {
		return cty.DynamicVal, "A for expression cannot be used here."
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
