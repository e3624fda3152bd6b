package yamlbody

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// expression is a node read as a value.
type expression struct {
	node *Node
	// references is set if a text without ${ } is a name, not a value; words are the
	// names that have no dot.
	references bool
	words      []string
}

// Expression is the node as a value.
func (n *Node) Expression() hcl.Expression { return &expression{node: n} }

// template is the expression of a text with a template in it, placed.
func (e *expression) template() *placed {
	if e.node.template == nil {
		return nil
	}
	return &placed{e.node.template.expr, e.node.template.place}
}

// whole is the expression of a text that is nothing but one ${…}, placed.
func (e *expression) whole() *placed {
	if t := e.node.template; t != nil && t.whole() != nil {
		return &placed{t.whole(), t.place}
	}
	return nil
}

func (e *expression) Range() hcl.Range      { return e.node.Range }
func (e *expression) StartRange() hcl.Range { return e.node.Range }

// Value evaluates all templates in the node.
func (e *expression) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	switch e.node.Kind {
	case List:
		var diags hcl.Diagnostics
		values := make([]cty.Value, len(e.node.Items))
		for i, item := range e.node.Items {
			v, d := e.item(item).Value(ctx)
			values[i], diags = v, append(diags, d...)
		}
		return cty.TupleVal(values), diags
	case Map:
		return e.object(ctx)
	}
	if t := e.template(); t != nil {
		return t.Value(ctx)
	}
	if p := e.named(); p != nil {
		return p.Value(ctx)
	}
	return e.node.value, nil
}

func (e *expression) object(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	known := true
	values := make(map[string]cty.Value, len(e.node.Entries))
	for _, entry := range e.node.Entries {
		key, d := entry.Key.Expression().Value(ctx)
		diags = append(diags, d...)
		v, d := entry.Value.Expression().Value(ctx)
		diags = append(diags, d...)
		text, err := convert.Convert(key, cty.String)
		switch {
		case err != nil, text.IsNull():
			diags = append(diags, problem(entry.Key.Range, "yaml-shape", "Key is not text", "The key of a map must evaluate to text. Use tostring(…), or another key."))
			known = false
		case !text.IsKnown():
			known = false
		default:
			text, marks := text.Unmark()
			values[text.AsString()] = v.WithMarks(marks)
		}
	}
	if !known {
		return cty.DynamicVal, diags
	}
	return cty.ObjectVal(values), diags
}

// Variables are the references in the node's templates.
func (e *expression) Variables() []hcl.Traversal {
	var list []hcl.Traversal
	switch e.node.Kind {
	case List:
		for _, item := range e.node.Items {
			list = append(list, e.item(item).Variables()...)
		}
	case Map:
		for _, entry := range e.node.Entries {
			list = append(list, entry.Key.Expression().Variables()...)
			list = append(list, entry.Value.Expression().Variables()...)
		}
	default:
		if t := e.template(); t != nil {
			return t.Variables()
		}
		if p := e.named(); p != nil {
			return p.Variables()
		}
	}
	return list
}

// ExprList is for hcl.ExprList.
func (e *expression) ExprList() []hcl.Expression {
	if w := e.whole(); w != nil {
		return w.ExprList()
	}
	if e.node.Kind != List {
		return nil
	}
	list := make([]hcl.Expression, len(e.node.Items))
	for i, item := range e.node.Items {
		list[i] = e.item(item)
	}
	return list
}

// ExprMap is for hcl.ExprMap.
func (e *expression) ExprMap() []hcl.KeyValuePair {
	if w := e.whole(); w != nil {
		return w.ExprMap()
	}
	if e.node.Kind != Map {
		return nil
	}
	pairs := make([]hcl.KeyValuePair, len(e.node.Entries))
	for i, entry := range e.node.Entries {
		pairs[i] = hcl.KeyValuePair{Key: entry.Key.Expression(), Value: entry.Value.Expression()}
	}
	return pairs
}

// Code is the code of a mistake, as the Extra of its diagnostic.
type Code string

// DiagnosticCode is the code.
func (c Code) DiagnosticCode() string { return string(c) }

func problem(at hcl.Range, code, summary, format string, args ...any) *hcl.Diagnostic {
	detail := format
	if len(args) > 0 {
		detail = fmt.Sprintf(format, args...)
	}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Extra: Code(code), Summary: summary, Detail: detail, Subject: &at}
}
