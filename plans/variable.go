package plans

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Variable is an input of the plan with the value it has in this load.
type Variable struct {
	Name        string
	Description string
	// Value is the value in use, as plain data (string, float64, bool, list, map).
	Value any
	// From says where the value comes from: "default" or "--var".
	From  string
	Range Range `json:"-"`
}

var variableSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "description"}, {Name: "type"}, {Name: "default"},
}}

// decodeVariables settles the value of every variable.
func (l *loader) decodeVariables(blocks hcl.Blocks) {
	values := map[string]cty.Value{}
	for _, b := range blocks {
		v := l.decodeVariable(b)
		if !l.first(b) {
			continue
		}
		name := b.Labels[0]
		size, _ := sizeOf(v)
		values[name], l.eval.sizes["var."+name] = v, size
	}
	l.eval.ctx.Variables["var"] = cty.ObjectVal(values)

	declared := l.symbols.of("variable").order
	for _, name := range keysOf(l.opts.Vars) {
		if !l.symbols.has("variable", name) {
			l.fail(l.start(), "Unknown variable in --var", "The plan declares no variable %q.%s", name, l.didYouMean(name, declared))
		}
	}
}

// decodeVariable is the variable's value, unknown where it has none.
func (l *loader) decodeVariable(b *hcl.Block) cty.Value {
	f := l.fields(b, variableSchema, `variable "`+b.Labels[0]+`"`)
	v := &Variable{Name: b.Labels[0], Description: f.text("description", ""), Range: rangeOf(b.DefRange)}
	ty, value := cty.DynamicPseudoType, cty.DynamicVal
	var defaults *typeexpr.Defaults
	if a := f.attrs["type"]; a != nil {
		var diags hcl.Diagnostics
		ty, defaults, diags = typeexpr.TypeConstraintWithDefaults(a.Expr)
		l.diags = append(l.diags, diags...)
		if diags.HasErrors() {
			return value
		}
	}
	given, isGiven := l.opts.Vars[v.Name]
	if a := f.attrs["default"]; a != nil && len(a.Expr.Variables()) > 0 {
		l.fail(a.Expr.Range(), "Default is not constant", "The default of a variable cannot refer to anything. Use a local for what depends on something else.")
		return value
	}
	_, ok := f.value("default")
	switch {
	case isGiven:
		v.From = "--var"
		value, ok = l.parseVar(v.Name, given, ty, b)
	case f.attrs["default"] == nil:
		l.fail(b.DefRange, "Missing value for variable", "Variable %q has no default. Give it one, or pass --var %s=value.", v.Name, v.Name)
		return value
	default:
		v.From = "default"
		value = f.values["default"]
		ok = ok || (value.IsKnown() && value.IsNull())
	}
	if !ok {
		return cty.DynamicVal
	}
	if defaults != nil && !value.IsNull() {
		value = defaults.Apply(value)
	}
	converted, err := convert.Convert(value, ty)
	if err != nil {
		at := b.DefRange
		if !isGiven {
			at = f.at("default")
		}
		l.fail(at, "Wrong type for variable", "Variable %q has type %s, but its value (%s) does not fit: %v.", v.Name, typeexpr.TypeString(ty), v.From, err)
		return cty.DynamicVal
	}
	v.Value = plain(converted)
	if l.first(b) {
		l.plan.Variables = append(l.plan.Variables, v)
	}
	return converted
}

// parseVar reads the text of a --var: text stays text, and anything else is
// written as in a plan.
func (l *loader) parseVar(name, text string, ty cty.Type, b *hcl.Block) (cty.Value, bool) {
	if ty.IsPrimitiveType() || ty == cty.DynamicPseudoType {
		if ty == cty.Number && hugeNumber([]byte(text)) {
			l.fail(b.DefRange, "Wrong type for variable", "The value of --var %s is not a number that fits.", name)
			return cty.DynamicVal, false
		}
		return cty.StringVal(text), true
	}
	filename := "--var " + name
	loops, diag := checkSource(filename, []byte(text))
	if diag == nil && len(loops) > 0 {
		diag = &hcl.Diagnostic{Detail: "A for expression cannot be used here."}
	}
	if diag != nil {
		l.fail(b.DefRange, "Cannot read --var", "The value of --var %s: %s", name, diag.Detail)
		return cty.DynamicVal, false
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), filename, hcl.InitialPos)
	value := cty.DynamicVal
	if !diags.HasErrors() {
		value, diags = expr.Value(nil)
	}
	if diags.HasErrors() {
		l.fail(b.DefRange, "Cannot read --var", `The value of --var %s has to be written as in a plan, such as ["one", "two"]. %s`, name, diags[0].Detail)
		return cty.DynamicVal, false
	}
	return value, true
}
