package plans

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// tryFunc and canFunc are what hcl/ext/tryfunc offers, but evaluate their
// arguments once: that package evaluates them for the type and again for the
// value, so that each try within a try doubles the work.
var (
	tryFunc = function.New(&function.Spec{
		Description: "The first argument that can be evaluated.",
		VarParam:    &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
		Type:        function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) == 0 {
				return cty.NilVal, errors.New("name at least one expression")
			}
			var last hcl.Diagnostics
			for _, arg := range args {
				v, diags := customdecode.ExpressionClosureFromVal(arg).Value()
				if !diags.HasErrors() {
					return v, nil
				}
				last = diags
			}
			return cty.NilVal, fmt.Errorf("none of the expressions can be evaluated; the last one: %s", last.Errs()[0])
		},
	})
	canFunc = function.New(&function.Spec{
		Description: "Whether an expression can be evaluated.",
		Params:      []function.Parameter{{Name: "expression", Type: customdecode.ExpressionClosureType}},
		Type:        function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			_, diags := customdecode.ExpressionClosureFromVal(args[0]).Value()
			return cty.BoolVal(!diags.HasErrors()), nil
		},
	})
)

// sensitiveFunc marks a value that is a secret, such as one from env().
func (l *evalScope) sensitiveFunc() function.Function {
	return function.New(&function.Spec{
		Description: "Marks a value as secret: it is kept out of all that is shown or recorded.",
		Params:      anything,
		Type:        func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			l.secrets.marked = true
			v := args[0].Mark(sensitive)
			l.secrets.collect(v)
			return v, nil
		},
	})
}

// nonsensitiveFunc takes the mark off a value that gives nothing away.
var nonsensitiveFunc = function.New(&function.Spec{
	Description: "Says that a value which was computed from a secret is none.",
	Params:      anything,
	Type: func(args []cty.Value) (cty.Type, error) {
		v, _ := args[0].UnmarkDeep()
		return v.Type(), nil
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, _ := args[0].UnmarkDeep()
		return v, nil
	},
})

var anything = []function.Parameter{{
	Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true, AllowMarked: true,
}}
