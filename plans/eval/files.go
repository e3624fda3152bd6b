package eval

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mxflow/mxflow/plans/lang"
)

// maxFile is the largest file that file() reads, in bytes.
const maxFile = 512 << 10

func (o *outside) envFunc() function.Function {
	return function.New(&function.Spec{
		Description: "An environment variable, or the second argument if it is not set.",
		Params:      []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam:    &function.Parameter{Name: "default", Type: cty.String, AllowNull: true},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) > 2 {
				return cty.NilVal, errors.New("env takes a name and a default")
			}
			if text, ok := o.Lookup(args[0].AsString()); ok {
				if !utf8.ValidString(text) {
					return cty.NilVal, fmt.Errorf("environment variable %s is not valid UTF-8", args[0].AsString())
				}
				o.Env[args[0].AsString()] = text
				return cty.StringVal(text), nil
			}
			if len(args) == 2 {
				return args[1], nil
			}
			return cty.NilVal, fmt.Errorf("environment variable %s is not set; set it, or write env(%q, \"default\")", args[0].AsString(), args[0].AsString())
		},
	})
}

func (o *outside) fileFunc() function.Function {
	return function.New(&function.Spec{
		Description: "The text of a file below the plan's folder.",
		Params:      []function.Parameter{{Name: "path", Type: cty.String}},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, err := o.readBelow(args[0].AsString())
			return cty.StringVal(text), err
		},
	})
}

// readBelow reads a file below the plan's folder, once per load. Links that lead out of
// it are not followed: a plan reads only what travels with it.
func (o *outside) readBelow(path string) (string, error) {
	if text, known := o.Read[path]; known {
		return text, nil
	}
	if filepath.IsAbs(path) {
		return "", fmt.Errorf("%q is an absolute path; use a path relative to the plan's folder", path)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return "", fmt.Errorf("cannot read the plan's folder: %v", lang.Reason(err))
	}
	defer root.Close()
	info, err := root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.Replays:
		return "", fmt.Errorf("the run kept no file %q: files that hold or may hold secrets are not recorded", path)
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no file %q in the plan's folder", path)
	case err != nil:
		return "", fmt.Errorf("cannot read %q: %v; only files in the plan's folder can be read", path, lang.Reason(err))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%q is not a regular file", path)
	case info.Size() > maxFile:
		return "", fmt.Errorf("%q is larger than %d KiB", path, maxFile>>10)
	}
	f, err := root.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read %q: %v", path, lang.Reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read %q: %v", path, lang.Reason(err))
	case len(data) > maxFile:
		return "", fmt.Errorf("%q is larger than %d KiB", path, maxFile>>10)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%q is not valid UTF-8", path)
	}
	o.Read[path] = string(data)
	return string(data), nil
}

func (l *Scope) templateFileFunc() function.Function {
	return function.New(&function.Spec{
		Description: "A file below the plan's folder, with its ${ } and %{ } filled in from a map.",
		Params: []function.Parameter{
			{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType},
		},
		Type: function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return l.template(args[0].AsString(), args[1])
		},
	})
}

// template fills in a template.
func (l *Scope) template(path string, vars cty.Value) (cty.Value, error) {
	text, err := l.Inputs.readBelow(path)
	if err != nil {
		return cty.NilVal, err
	}
	if !vars.Type().IsObjectType() && !vars.Type().IsMapType() {
		return cty.NilVal, fmt.Errorf("the second argument must be a map of the template's variables, not %s", lang.Describe(vars))
	}
	if strings.TrimSpace(text) == "" {
		return cty.StringVal(text), nil
	}
	// The lexer takes a whole file for a body, so the text is checked as one heredoc,
	// which it is. Its lines are those of the template, one further down.
	checked := "a = <<MXFLOW_TEMPLATE_END\n" + strings.TrimSuffix(text, "\n") + "\nMXFLOW_TEMPLATE_END\n"
	if diag := lang.CheckSource(path, []byte(checked)); diag != nil {
		return cty.NilVal, fmt.Errorf("%s:%d: %s. %s", path, max(1, diag.Subject.Start.Line-1), diag.Summary, diag.Detail)
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(text), path, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, at(diags)
	}
	for _, t := range expr.Variables() {
		if !vars.Type().IsMapType() && !vars.Type().HasAttribute(t.RootName()) {
			return cty.NilVal, fmt.Errorf("%s:%d: the template uses %s, which is missing in the map", path, t.SourceRange().Start.Line, t.RootName())
		}
	}
	ctx := &hcl.EvalContext{Variables: vars.AsValueMap(), Functions: map[string]function.Function{}}
	for name, f := range l.Ctx.Functions {
		if name != "templatefile" { // a template that fills in itself would not end
			ctx.Functions[name] = f
		}
	}
	v, diags := expr.Value(ctx)
	if diags.HasErrors() {
		return cty.NilVal, at(Explained(diags))
	}
	if plain, _ := v.Unmark(); plain.IsNull() || plain.Type() != cty.String {
		return cty.NilVal, fmt.Errorf("%s: a template must produce text, not %s", path, lang.Describe(plain))
	}
	return v, nil
}

// at is the first of some diagnostics as an error with its position.
func at(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return fmt.Errorf("%s:%d: %s. %s", d.Subject.Filename, d.Subject.Start.Line, d.Summary, d.Detail)
		}
	}
	return diags
}
