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
	// Value is the value in use, as plain data (string, float64, bool, list,
	// map); nil for a sensitive one.
	Value any
	// From says where the value comes from: "default", "MXFLOW_VAR_name", the
	// name of a file, or "--var".
	From string
	// Sensitive values are kept out of all that is shown or recorded.
	Sensitive bool  `json:",omitempty"`
	Range     Range `json:"-"`
}

var variableDoc = &BlockDoc{
	Type: "variable", Times: AnyTimes,
	Labels: []Label{{Name: "name", Doc: "What expressions call it: `var.<name>`."}},
	Doc:    "An input of the plan. One without a default has to be given.",
	Attrs: []Attr{
		{Name: "description", Type: String, Doc: "What it is for."},
		{Name: "type", Type: TypeExpr, Doc: "A type such as `string`, `number`, `bool`, `list(string)`, `map(number)` or `object({ … })`, whose attributes may be `optional(type, default)`. Without it, anything."},
		{Name: "default", Type: Anything, Doc: "The value where none is given. It cannot refer to anything."},
		{Name: "nullable", Type: Bool, Default: true, Doc: "Whether the value may be null. Where it may not, a null stands for the default."},
		{Name: "sensitive", Type: Bool, Default: false, Doc: "Keeps the value, and all that is computed from it, out of logs, records, reports and messages. It has no default, since a plan file is no place for secrets."},
	},
	Blocks: []*BlockDoc{validationDoc},
	Example: `variable "threads" {
  type        = number
  default     = 2
  description = "CPU threads of the engine"

  validation {
    condition     = var.threads >= 1
    error_message = "An engine without threads does nothing."
  }
}`,
}

var variableSchema = variableDoc.schema()

// input is a variable in the making.
type input struct {
	*Variable
	block    *hcl.Block
	fields   *body
	ty       cty.Type
	defaults *typeexpr.Defaults
	nullable bool
	// value is cty.DynamicVal until it has one.
	value cty.Value
	// at is where a mistake in the value is reported.
	at hcl.Range
}

// decodeVariables settles the value of every variable.
func (l *loader) decodeVariables(blocks hcl.Blocks) {
	inputs := map[string]*input{}
	var order []*input
	for _, b := range blocks {
		in := l.declareVariable(b)
		if l.first(b) {
			inputs[in.Name] = in
		}
		order = append(order, in)
	}
	given := l.givenValues(inputs)
	values := map[string]cty.Value{}
	for _, in := range order {
		l.settleVariable(in, given[in.Name])
		if inputs[in.Name] != in {
			continue
		}
		size, _ := sizeOf(in.value)
		values[in.Name], l.sizes["var."+in.Name] = in.value, size
		if in.value.IsKnown() {
			l.plan.Variables = append(l.plan.Variables, in.Variable)
		}
	}
	l.ctx.Variables["var"] = cty.ObjectVal(values)
	for _, in := range order {
		l.validate(in)
	}
}

// declareVariable reads what a variable is, but not its value.
func (l *loader) declareVariable(b *hcl.Block) *input {
	f := l.fields(b, variableSchema, `variable "`+b.Labels[0]+`"`)
	in := &input{
		Variable: &Variable{
			Name: b.Labels[0], Description: f.text("description", ""),
			Sensitive: f.truth("sensitive", false), Range: rangeOf(b.DefRange),
		},
		block: b, fields: f, ty: cty.DynamicPseudoType, nullable: f.truth("nullable", true), value: cty.DynamicVal, at: b.DefRange,
	}
	l.secrets.marked = l.secrets.marked || in.Sensitive
	if a := f.attrs["type"]; a != nil {
		expr := a.Expr
		for p, ok := expr.(*hclsyntax.ParenthesesExpr); ok; p, ok = expr.(*hclsyntax.ParenthesesExpr) {
			expr = p.Expression
		}
		ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
		l.diags = append(l.diags, diags...)
		if in.ty, in.defaults = ty, defaults; diags.HasErrors() {
			in.ty = cty.NilType
		}
	}
	return in
}

// settleVariable takes the value that was given last, or the default.
func (l *loader) settleVariable(in *input, g *givenValue) {
	fallback, hasDefault := l.defaultOf(in)
	if in.ty == cty.NilType {
		return // reported
	}
	value := fallback
	switch {
	case g != nil:
		if in.From, in.at = g.from, g.at; in.at.Filename == "" {
			in.at = in.block.DefRange
		}
		var ok bool
		if value, ok = l.givenTo(in, g); !ok {
			return
		}
		if value.IsNull() && !in.nullable && hasDefault {
			in.From, value = "default", fallback
		}
	case hasDefault:
		in.From = "default"
		in.at = in.fields.at("default")
	case in.fields.attrs["default"] != nil:
		return // reported
	default:
		l.fail(in.block.DefRange, "Missing value for variable", "Variable %q has no default. Give it one, or pass --var %s=value, set MXFLOW_VAR_%s, or write %s = … into a file of variables (--var-file, or *.auto.mxvars beside the plan).", in.Name, in.Name, in.Name, in.Name)
		return
	}
	l.convertVariable(in, value)
}

// defaultOf is the default; false where there is none, or a mistake in it.
func (l *loader) defaultOf(in *input) (cty.Value, bool) {
	a := in.fields.attrs["default"]
	if a == nil {
		return cty.NilVal, false
	}
	if len(a.Expr.Variables()) > 0 {
		l.fail(a.Expr.Range(), "Default is not constant", "The default of a variable cannot refer to anything. Use a local for what depends on something else.")
		return cty.DynamicVal, false
	}
	v, ok := in.fields.value("default")
	isNull := v.IsKnown() && v.IsNull()
	if in.Sensitive && ok && !isNull && (v.Type() != cty.String || v.AsString() != "") {
		l.fail(a.Expr.Range(), "Default of a sensitive variable", "A plan file is read by many and kept with the results, so a secret in it is none. Remove the default, and give the value in MXFLOW_VAR_%s or in a file of variables.", in.Name)
		return cty.DynamicVal, false
	}
	return v, ok || isNull
}

// convertVariable makes the value fit the type.
func (l *loader) convertVariable(in *input, value cty.Value) {
	if value.IsNull() && !in.nullable {
		l.fail(in.at, "Variable is null", "Variable %q has nullable = false, and its value (%s) is null. Give it a value.", in.Name, in.From)
		return
	}
	if in.defaults != nil && !value.IsNull() {
		value = in.defaults.Apply(value)
	}
	converted, err := convert.Convert(value, in.ty)
	if err != nil {
		l.fail(in.at, "Wrong type for variable", "Variable %q has type %s, but its value (%s) does not fit: %v.", in.Name, typeexpr.TypeString(in.ty), in.From, err)
		return
	}
	if in.Sensitive {
		converted = converted.Mark(sensitive)
		l.secrets.collect(converted)
		if converted.Type().IsPrimitiveType() {
			// A secret that cannot be hidden is better refused before it lands.
			if _, ok := l.private(converted, in.at); !ok {
				return
			}
		}
	} else {
		in.Value = plain(converted)
	}
	in.value = converted
	l.give(in, converted)
}
