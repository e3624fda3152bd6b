package plans

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// unknownOrigin is the origin of a value of which it cannot be told.
const unknownOrigin = "*"

// trace notes what a sensitive value was made of: a variable that is not sensitive
// itself may have the secret in it. Of a list or a map only the sensitive elements
// count, so that one secret in an engine's env leaves the rest of it as it is.
func (l *evalScope) trace(expr hcl.Expression, v cty.Value) {
	if !l.hidden(v) {
		return
	}
	if elements, of := elementsOf(expr, v, l.ctx); of != nil {
		for i, e := range of {
			l.trace(e, elements[i])
		}
		return
	}
	l.origins(expr, l.inputs.private)
}

// elementsOf takes a list or a map that is written out apart; nothing for another
// expression.
func elementsOf(expr hcl.Expression, v cty.Value, ctx *hcl.EvalContext) (elements []cty.Value, of []hcl.Expression) {
	if v.IsMarked() || v.IsNull() {
		return nil, nil
	}
	if list, diags := hcl.ExprList(expr); !diags.HasErrors() && v.Type().IsTupleType() && len(list) == v.LengthInt() {
		return v.AsValueSlice(), list
	}
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() || !v.Type().IsObjectType() || len(pairs) != v.LengthInt() {
		return nil, nil
	}
	values := v.AsValueMap()
	for _, p := range pairs {
		key, diags := p.Key.Value(ctx)
		if diags.HasErrors() || key.IsMarked() || !key.IsKnown() || key.IsNull() || key.Type() != cty.String {
			return nil, nil
		}
		element, there := values[key.AsString()]
		if !there {
			return nil, nil
		}
		elements, of = append(elements, element), append(of, p.Value)
	}
	return elements, of
}

// origins adds what an expression is made of: "var.x", "env.X", "file.x", and the
// locals in between. What a loop of blocks goes over may be anything.
func (l *evalScope) origins(expr hcl.Expression, into map[string]bool) {
	for _, t := range expr.Variables() {
		root := t.RootName()
		name, static := stepName(t, 1)
		switch {
		case root == "local" && static && l.inputs.locals[name] != nil:
			if id := "local." + name; !into[id] {
				into[id] = true
				l.origins(l.inputs.locals[name].Expr, into)
			}
		case root == "var" && static:
			into[ofVariable+name] = true
		case !isReferable(root) && root != "baseline" && root != "accepted":
			into[unknownOrigin] = true
		}
	}
	for u, ok := expr.(interface{ UnwrapExpression() hcl.Expression }); ok; u, ok = expr.(interface{ UnwrapExpression() hcl.Expression }) {
		expr = u.UnwrapExpression()
	}
	node, ok := expr.(hclsyntax.Node)
	if !ok {
		l.originsUnseen(into)
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			l.originsOfCall(call, into)
		}
		return nil
	})
}

// originsOfCall adds what a function reads besides its arguments.
func (l *evalScope) originsOfCall(call *hclsyntax.FunctionCallExpr, into map[string]bool) {
	kind := map[string]string{"env": ofEnvironment, "file": ofFile, "templatefile": ofFile}[call.Name]
	if kind == "" || len(call.Args) == 0 {
		return
	}
	name, diags := call.Args[0].Value(nil)
	if call.Name == "templatefile" || diags.HasErrors() || !name.IsKnown() || name.IsNull() || name.Type() != cty.String {
		l.originsUnseen(into) // a template calls functions of its own
		return
	}
	into[kind+name.AsString()] = true
}

// originsUnseen adds all that was read where it cannot be seen which of it: what is
// read later is not in it, for which the expression had no use.
func (l *evalScope) originsUnseen(into map[string]bool) {
	for name := range l.inputs.env {
		into[ofEnvironment+name] = true
	}
	for path := range l.read {
		into[ofFile+path] = true
	}
}
