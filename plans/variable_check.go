package plans

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

var validationDoc = &BlockDoc{
	Type: "validation", Times: AnyTimes,
	Doc: "A condition that the value has to meet, checked before anything is started. It may refer to this and to other variables.",
	Attrs: []Attr{
		{Name: "condition", Type: Condition, Required: true, Doc: "True for a value that is fine."},
		{Name: "error_message", Type: String, Required: true, Doc: "What is wrong with any other value, and what to do."},
	},
	Example: `validation {
  condition     = contains(["small", "large"], var.model)
  error_message = "model is small or large."
}`,
}

var validationSchema = validationDoc.schema()

// validate checks a variable's own conditions.
func (l *loader) validate(in *input) {
	for _, b := range in.fields.blocks.OfType("validation") {
		f := l.fields(b, validationSchema, "validation of variable "+quoted(in.Name))
		condition, message := f.attrs["condition"], f.attrs["error_message"]
		if condition == nil {
			l.fail(b.DefRange, "Missing condition", "A validation says what a good value is: condition = var.%s > 0.", in.Name)
		}
		if message == nil {
			l.fail(b.DefRange, "Missing error_message", "Say what is wrong with a value that does not meet the condition, and what to do: error_message = \"…\".")
		}
		if condition == nil || message == nil || !l.onlyVariables(condition.Expr) || !l.onlyVariables(message.Expr) {
			continue
		}
		if !in.value.IsKnown() {
			continue // reported
		}
		l.at("the validation of variable "+quoted(in.Name), b.DefRange)
		v, ok := l.marked(condition.Expr)
		if !ok {
			continue
		}
		v, _ = v.Unmark()
		if v.IsNull() || v.Type() != cty.Bool {
			l.fail(condition.Expr.Range(), "Condition is not true or false", "A condition compares, such as var.%s > 0; this is %s.", in.Name, describe(v))
			continue
		}
		if v.False() {
			l.invalid(in, message.Expr)
		}
	}
}

// invalid reports a value that its variable refuses, where it was given.
func (l *loader) invalid(in *input, message hcl.Expression) {
	text := "It does not meet the condition of the variable."
	v, ok := l.marked(message)
	switch {
	case !ok:
		return
	case l.hidden(v):
		text = "It does not meet the condition of the variable, whose message would show a sensitive value."
	case v.IsNull() || v.Type() != cty.String || strings.TrimSpace(v.AsString()) == "":
		l.fail(message.Range(), "Invalid error_message", "error_message is text that says what is wrong and what to do.")
		return
	default:
		text = strings.TrimSpace(v.AsString())
	}
	l.fail(in.at, "Invalid value for variable", "The value of %q (%s) is refused. %s", in.Name, in.From, text)
}

// onlyVariables refuses a condition that needs more than variables, which is
// all that is known when values are checked.
func (l *loader) onlyVariables(expr hcl.Expression) bool {
	for _, t := range expr.Variables() {
		if t.RootName() != "var" {
			l.fail(t.SourceRange(), "Validation is limited to variables", "A validation is checked before locals and blocks are read, so it may refer to var.… only.")
			return false
		}
	}
	return true
}
