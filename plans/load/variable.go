package load

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var variableDoc = &lang.BlockDoc{
	Type: "variable", Times: plans.AnyTimes,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in expressions: `var.<name>`."}},
	Doc:    "An input of the plan. One without a default must be given.",
	Attrs: []plans.Attr{
		{Name: "description", Type: plans.String, Doc: "What it is for."},
		{Name: "type", Type: plans.TypeExpr, Doc: "A type such as `string`, `number`, `bool`, `list(string)`, `map(number)` or `object({ … })`, whose attributes can be `optional(type, default)`. Without it, any type, and `--var n=2` is a number if the default is one (a bool likewise)."},
		{Name: "default", Type: plans.Anything, Doc: "The value if none is given. It cannot refer to anything."},
		{Name: "sensitive", Type: plans.Bool, Default: false, Doc: "Keeps the value, and everything computed from it, out of logs, records, reports and messages. It has no default: secrets do not belong in a plan file."},
	},
	Blocks: []*lang.BlockDoc{validationDoc},
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

// input is a variable in the making.
type input struct {
	*plans.Variable
	block    *hcl.Block
	fields   *eval.Body
	ty       cty.Type
	defaults *typeexpr.Defaults
	// value is cty.DynamicVal until it has one.
	value cty.Value
	// at is where a mistake in the value is reported.
	at hcl.Range
}

// decodeVariables settles the value of every variable.
func (l *loader) decodeVariables(blocks hcl.Blocks) {
	var order []*input
	for _, b := range blocks {
		in := l.declareVariable(b)
		if l.First(b) {
			l.declared[in.Name] = in
		}
		order = append(order, in)
	}
	l.readGiven()
	values := map[string]cty.Value{}
	for _, in := range order {
		l.settleVariable(in, l.given[in.Name])
		if l.declared[in.Name] != in {
			continue
		}
		values[in.Name] = in.value
		if in.value.IsKnown() {
			l.plan.Variables = append(l.plan.Variables, in.Variable)
		}
	}
	l.Ctx.Variables["var"] = cty.ObjectVal(values)
	for _, in := range order {
		l.validate(in)
	}
}

// declareVariable reads everything about a variable except its value.
func (l *loader) declareVariable(b *hcl.Block) *input {
	f := l.Fields(b, variableDoc)
	in := &input{
		Variable: &plans.Variable{
			Name: b.Labels[0], Description: f.Text("description"),
			Sensitive: f.Truth("sensitive"), Range: lang.RangeOf(b.DefRange),
		},
		block: b, fields: f, ty: cty.DynamicPseudoType, value: cty.DynamicVal, at: b.DefRange,
	}
	l.Secrets.Marked = l.Secrets.Marked || in.Sensitive
	if a := f.Attrs["type"]; a != nil {
		expr := a.Expr
		for p, ok := expr.(*hclsyntax.ParenthesesExpr); ok; p, ok = expr.(*hclsyntax.ParenthesesExpr) {
			expr = p.Expression
		}
		ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
		l.Diags = append(l.Diags, diags...)
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
		if g.isText && in.ty == cty.DynamicPseudoType && hasDefault {
			value = likeDefault(value, fallback.Type())
		}
	case hasDefault:
		in.From = "default"
		in.at = in.fields.At("default")
	case in.fields.Attrs["default"] != nil:
		return // reported
	default:
		l.Fail(in.block.DefRange, "missing-variable-value", "Missing value for variable", "Variable %q has no default. Give it one, or pass --var %s=value, set MXFLOW_VAR_%s, or write %s = … into a variable file (--var-file, or *.auto.mxvars beside the plan).", in.Name, in.Name, in.Name, in.Name)
		return
	}
	l.convertVariable(in, value)
}

// defaultOf is the default; false if there is none, or a mistake in it.
func (l *loader) defaultOf(in *input) (cty.Value, bool) {
	a := in.fields.Attrs["default"]
	if a == nil {
		return cty.NilVal, false
	}
	if len(a.Expr.Variables()) > 0 {
		l.Fail(a.Expr.Range(), "default-not-constant", "Default is not constant", "The default of a variable cannot refer to anything. Use a local for what depends on something else.")
		return cty.DynamicVal, false
	}
	v, ok := in.fields.Value("default")
	isNull := v.IsKnown() && v.IsNull()
	if in.Sensitive && ok && !isNull && (v.Type() != cty.String || v.AsString() != "") {
		l.Fail(a.Expr.Range(), "sensitive", "Default of a sensitive variable", "A plan file is read by many and kept with the results, so a secret in it is not secret. Remove the default, and give the value in MXFLOW_VAR_%s or in a variable file.", in.Name)
		return cty.DynamicVal, false
	}
	return v, ok || isNull
}

// convertVariable makes the value fit the type.
func (l *loader) convertVariable(in *input, value cty.Value) {
	if in.defaults != nil && !value.IsNull() {
		value = in.defaults.Apply(value)
	}
	converted, err := convert.Convert(value, in.ty)
	if err != nil {
		l.Fail(in.at, "invalid-variable-value", "Wrong type for variable", "Variable %q has type %s, but its value (%s) does not fit: %v.", in.Name, typeexpr.TypeString(in.ty), in.From, err)
		return
	}
	if in.Sensitive {
		converted = converted.Mark(eval.Sensitive)
		l.Secrets.Collect(converted)
		if converted.Type().IsPrimitiveType() {
			// A secret that cannot be hidden is better refused before it is used.
			if _, ok := l.Private(converted, in.at); !ok {
				return
			}
		}
	} else {
		in.Value = lang.Plain(converted)
	}
	in.value = converted
	l.give(in, converted)
}

var validationDoc = &lang.BlockDoc{
	Type: "validation", Times: plans.AnyTimes,
	Doc: "A condition that the value must meet, checked before anything is started. It can refer to this and other variables.",
	Attrs: []plans.Attr{
		{Name: "condition", Type: plans.Condition, Required: true, Doc: "True for a valid value."},
		{Name: "error_message", Type: plans.String, Required: true, Doc: "What is wrong with other values, and what to do."},
	},
	Example: `validation {
  condition     = contains(["small", "large"], var.model)
  error_message = "model is small or large."
}`,
}

// validate checks a variable's own conditions.
func (l *loader) validate(in *input) {
	for _, b := range in.fields.Blocks.OfType("validation") {
		f := l.Fields(b, validationDoc)
		condition, message := f.Attrs["condition"], f.Attrs["error_message"]
		if condition == nil {
			f.Required("condition", "what is true for a valid value, such as var."+in.Name+" > 0.")
		}
		if message == nil {
			f.Required("error_message", "what is wrong with a value that does not meet the condition, and what to do.")
		}
		if condition == nil || message == nil || !l.onlyVariables(condition.Expr) || !l.onlyVariables(message.Expr) {
			continue
		}
		if !in.value.IsKnown() {
			continue // reported
		}
		v, ok := l.Marked(condition.Expr)
		if !ok {
			continue
		}
		v, _ = v.Unmark()
		if v.IsNull() || v.Type() != cty.Bool {
			l.Fail(condition.Expr.Range(), "validation", "Condition is not true or false", "A condition must be true or false, such as var.%s > 0, not %s.", in.Name, lang.Describe(v))
			continue
		}
		if v.False() {
			l.invalid(in, message.Expr)
		}
	}
}

// invalid reports a value that its variable refuses, at the place where it was given.
func (l *loader) invalid(in *input, message hcl.Expression) {
	text := "It violates a validation of the variable."
	v, ok := l.Marked(message)
	switch {
	case !ok:
		return
	case l.Secrets.Hidden(v):
		text = "It violates a validation of the variable, whose message would show a sensitive value."
	case v.IsNull() || v.Type() != cty.String || strings.TrimSpace(v.AsString()) == "":
		l.Fail(message.Range(), "invalid-value", "Invalid error_message", "error_message is text that says what is wrong and what to do.")
		return
	default:
		text = strings.TrimSpace(v.AsString())
	}
	l.Fail(in.at, "variable-value", "Invalid value for variable", "The value of %q (%s) is invalid. %s", in.Name, in.From, text)
}

// onlyVariables refuses a condition that needs more than variables: nothing else is known
// when values are checked.
func (l *loader) onlyVariables(expr hcl.Expression) bool {
	for _, t := range expr.Variables() {
		if t.RootName() != "var" {
			l.Fail(t.SourceRange(), "validation", "Validation is limited to variables", "A validation is checked before locals and blocks are read, so it can only refer to var.…")
			return false
		}
	}
	return true
}
