package load

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var variableDoc = block(plans.Variable{}, lang.BlockDoc{
	Type: "variable", Times: plans.AnyTimes,
	Doc:    "An input of the plan. One without a default must be given.",
	Blocks: []*lang.BlockDoc{validationDoc},
})

// input is a variable before its value is known.
type input struct {
	*plans.Variable
	block    *hcl.Block
	fields   *eval.Body
	ty       cty.Type
	defaults *typeexpr.Defaults
	// given is what came from outside, nil for nothing.
	given *variableValue
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
	l.readVariableValues()
	values := map[string]cty.Value{}
	for _, in := range order {
		l.settleVariable(in)
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
	in := &input{
		Variable: &plans.Variable{}, block: b, ty: cty.DynamicPseudoType,
		value: cty.DynamicVal, at: b.DefRange,
	}
	in.fields = l.Read(b, variableDoc, in.Variable)
	l.Secrets.Marked = l.Secrets.Marked || in.Sensitive
	if a := in.fields.Attrs["type"]; a != nil {
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

// settleVariable takes the value that was given last, or the default, and makes it fit the
// type.
func (l *loader) settleVariable(in *input) {
	value, hasDefault := l.defaultOf(in)
	if in.ty == cty.NilType {
		return // reported
	}
	switch g := in.given; {
	case g != nil:
		if in.From, in.at = g.from, g.at; in.at.Filename == "" {
			in.at = in.block.DefRange
		}
		given, ok := l.variableValueOf(in, g)
		if !ok {
			return
		}
		if fallback := value; g.isText && in.ty == cty.DynamicPseudoType && hasDefault &&
			fallback.Type().IsPrimitiveType() {
			// Without a type, text is the number or bool that the default is.
			if read, err := convert.Convert(given, fallback.Type()); err == nil && eval.Finite(read) {
				given = read
			}
		}
		value = given
	case hasDefault:
		in.From, in.at = "default", in.fields.At("default")
	case in.fields.Attrs["default"] != nil:
		return // reported
	default:
		l.Fail(in.block.DefRange, "missing-variable-value", "Missing value for variable",
			"Variable %q has no default. Give it one, or pass --var %s=value, set MXFLOW_VAR_%s, or write %s = … "+
				"into a variable file (--var-file, or *.auto.mxvars beside the plan).", in.Name, in.Name,
			in.Name, in.Name)
		return
	}
	if in.defaults != nil && !value.IsNull() {
		value = in.defaults.Apply(value)
	}
	converted, err := convert.Convert(value, in.ty)
	if err != nil {
		l.Fail(in.at, "invalid-variable-value", "Wrong type for variable",
			"Variable %q has type %s, but its value (%s) does not fit: %v.", in.Name,
			typeexpr.TypeString(in.ty), in.From, err)
		return
	}
	if !eval.Finite(converted) {
		l.Fail(in.at, "invalid-variable-value", "Wrong type for variable",
			"The value of variable %q (%s) is not a number that fits a 64-bit float.", in.Name, in.From)
		return
	}
	plain := converted
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
	if in.value = converted; in.From != "default" {
		plain, _ = plain.UnmarkDeep()
		l.Inputs.Variables[in.Name] = string(hclwrite.TokensForValue(plain).Bytes())
		if in.Sensitive {
			l.Inputs.Private[eval.OfVariable+in.Name] = true
		}
	}
}

// defaultOf is the default; false if there is none, or a mistake in it.
func (l *loader) defaultOf(in *input) (cty.Value, bool) {
	a := in.fields.Attrs["default"]
	if a == nil {
		return cty.NilVal, false
	}
	if len(a.Expr.Variables()) > 0 {
		l.Fail(a.Expr.Range(), "default-not-constant", "Default is not constant",
			"The default of a variable cannot refer to anything. Use a local for a value that depends on something "+
				"else.")
		return cty.DynamicVal, false
	}
	v, ok := in.fields.Value("default")
	isNull := v.IsKnown() && v.IsNull()
	if in.Sensitive && ok && !isNull && (v.Type() != cty.String || v.AsString() != "") {
		l.Fail(a.Expr.Range(), "sensitive", "Default of a sensitive variable",
			"A plan file is read by many and kept with the results, so a secret in it is not secret. Remove the "+
				"default, and give the value in MXFLOW_VAR_%s or in a variable file.", in.Name)
		return cty.DynamicVal, false
	}
	return v, ok || isNull
}

// validation is a condition of a variable. It decides nothing by itself, so both are read
// as expressions.
type validation struct {
	_ struct{} `hcl:"condition" type:"condition" doc:"True for a valid value."`
	_ struct{} `hcl:"error_message" type:"string" doc:"The mistake in other values, and the remedy."`
}

var validationDoc = block(validation{}, lang.BlockDoc{
	Type: "validation", Times: plans.AnyTimes,
	Doc: "A condition that the value must meet. It is checked before anything is started. It can refer to this and " +
		"other variables.",
})

// validate checks a variable's own conditions. They need no more than variables: nothing
// else is known when values are checked.
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
		if condition == nil || message == nil {
			continue
		}
		limited := true
		for _, t := range append(condition.Expr.Variables(), message.Expr.Variables()...) {
			if limited && t.RootName() != "var" {
				limited = false
				l.Fail(t.SourceRange(), "validation", "Validation is limited to variables",
					"A validation is checked before locals and blocks are read, so it can only refer to var.…")
			}
		}
		if !limited || !in.value.IsKnown() {
			continue // reported
		}
		v, ok := l.Marked(condition.Expr)
		v, _ = v.Unmark()
		switch {
		case !ok:
		case v.IsNull() || v.Type() != cty.Bool:
			l.Fail(condition.Expr.Range(), "validation", "Condition is not true or false",
				"A condition must be true or false, such as var.%s > 0, not %s.", in.Name, lang.Describe(v))
		case v.False():
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
		l.Fail(message.Range(), "invalid-value", "Invalid error_message",
			"error_message is text: the mistake, and the remedy.")
		return
	default:
		text = strings.TrimSpace(v.AsString())
	}
	l.Fail(in.at, "variable-value", "Invalid value for variable", "The value of %q (%s) is invalid. %s",
		in.Name, in.From, text)
}
