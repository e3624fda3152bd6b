package eval

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/redact"
)

// mark is one of our cty marks.
type mark string

// Sensitive marks values that must not be shown. Whatever is computed from one
// carries the mark too.
const Sensitive = mark("sensitive")

// secrets are the sensitive texts that a load has encountered.
type secrets struct {
	// Marked is set as soon as there is a sensitive value, so that all other plans do not
	// pay for the search.
	Marked bool
	Known  map[string]bool
	order  []string
	// Unseen are texts, as given, from which no value could be made.
	Unseen []string
}

// List is all of them, none twice.
func (s *secrets) List() []string { return append([]string(nil), s.order...) }

// Collect notes every sensitive text and number in v.
func (s *secrets) Collect(v cty.Value) {
	if !s.Marked {
		return
	}
	eachSecret(v, false, func(leaf cty.Value) {
		text, ok := secretText(leaf)
		if !ok || text == "" || s.Known[text] {
			return
		}
		if s.Known == nil {
			s.Known = map[string]bool{}
		}
		s.Known[text] = true
		redact.Know([]string{text}) // mistakes in the plan may be reported before it is loaded
		s.order = append(s.order, text)
	})
}

// eachSecret visits the leaves of v that are sensitive, without their marks.
func eachSecret(v cty.Value, inside bool, visit func(cty.Value)) {
	inside = inside || v.HasMark(Sensitive)
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return
	}
	if !v.CanIterateElements() {
		if inside {
			visit(v)
		}
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		eachSecret(e, inside, visit)
	}
}

// secretText is the text by which a secret is recognised; false if it has none.
func secretText(leaf cty.Value) (string, bool) {
	if leaf.Type() == cty.Bool || !leaf.Type().IsPrimitiveType() {
		return "", false
	}
	text, err := convert.Convert(leaf, cty.String)
	if err != nil {
		return "", false
	}
	return text.AsString(), true
}

// Hidden reports whether v is sensitive or holds anything that is.
func (s *secrets) Hidden(v cty.Value) bool { return s.Marked && v.ContainsMarked() }

// public refuses a sensitive value in a place that the plan would show.
func (l *Scope) public(v cty.Value, at hcl.Range, what string) (cty.Value, bool) {
	if !l.Secrets.Hidden(v) {
		return v, true
	}
	l.Fail(at, "sensitive", "Sensitive value is not allowed here", "%s appears in reports and records, so it cannot come from a sensitive value. Use sensitive values in env, settings, args, command and other text that is only passed to a program. If the value is not secret, wrap it in nonsensitive(…).", what)
	return cty.DynamicVal, false
}

// Private removes the marks from a value that a program gets to see, and refuses secrets
// that could not be removed from its output.
func (l *Scope) Private(v cty.Value, at hcl.Range) (cty.Value, bool) {
	if !l.Secrets.Hidden(v) {
		return v, true
	}
	why := ""
	eachSecret(v, false, func(leaf cty.Value) {
		text, ok := secretText(leaf)
		switch {
		case !ok:
			why = "true and false occur everywhere"
		case text != "" && len(text) < redact.MinLength:
			why = fmt.Sprintf("a text of fewer than %d characters occurs everywhere", redact.MinLength)
		}
	})
	v, _ = v.UnmarkDeep()
	if why == "" {
		return v, true
	}
	l.Fail(at, "sensitive", "Sensitive value cannot be hidden", "Sensitive values are redacted in logs and records by their text, and %s. Use a longer value, or wrap it in nonsensitive(…) if it is not secret.", why)
	return cty.DynamicVal, false
}

// unknownOrigin is the origin of a value whose origin is unknown.
const unknownOrigin = "*"

// trace notes what a sensitive value was made of: a variable that is not itself sensitive
// may contain the secret. Of a list or a map only the sensitive elements count, so that
// one secret in an engine's env does not affect the rest of it.
func (l *Scope) trace(expr hcl.Expression, v cty.Value) {
	if !l.Secrets.Hidden(v) {
		return
	}
	if elements, of := elementsOf(expr, v, l.Context()); of != nil {
		for i, e := range of {
			l.trace(e, elements[i])
		}
		return
	}
	l.Inputs.origins(expr, l.Inputs.Private)
}

// elementsOf splits a list or a map that is written out; nothing for another expression.
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

// origins adds what an expression is made of: "var.x", "env.X", "file.x", and the locals
// in between. The value that a loop of blocks iterates over may be anything.
func (o *outside) origins(expr hcl.Expression, into map[string]bool) {
	for _, t := range expr.Variables() {
		root := t.RootName()
		name, static := lang.StepName(t, 1)
		switch {
		case root == "local" && static && o.Locals[name] != nil:
			if id := "local." + name; !into[id] {
				into[id] = true
				o.origins(o.Locals[name].Expr, into)
			}
		case root == "var" && static:
			into[OfVariable+name] = true
		case !IsReferable(root) && root != "baseline" && root != "accepted":
			into[unknownOrigin] = true
		}
	}
	for u, ok := expr.(interface{ UnwrapExpression() hcl.Expression }); ok; u, ok = expr.(interface{ UnwrapExpression() hcl.Expression }) {
		expr = u.UnwrapExpression()
	}
	node, ok := expr.(hclsyntax.Node)
	if !ok {
		o.originsUnseen(into)
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			o.originsOfCall(call, into)
		}
		return nil
	})
}

// originsOfCall adds what a function reads besides its arguments.
func (o *outside) originsOfCall(call *hclsyntax.FunctionCallExpr, into map[string]bool) {
	kind := map[string]string{"env": OfEnvironment, "file": OfFile}[call.Name]
	if kind == "" || len(call.Args) == 0 {
		return
	}
	name, diags := call.Args[0].Value(nil)
	if diags.HasErrors() || !name.IsKnown() || name.IsNull() || name.Type() != cty.String {
		o.originsUnseen(into)
		return
	}
	into[kind+name.AsString()] = true
}

// originsUnseen adds everything read so far, for cases where the actual origin cannot be
// seen: what is read later cannot be in it, as the expression had no use for it.
func (o *outside) originsUnseen(into map[string]bool) {
	for name := range o.Env {
		into[OfEnvironment+name] = true
	}
	for path := range o.Read {
		into[OfFile+path] = true
	}
}

// outside is what a load has taken from outside so far.
type outside struct {
	// Dir is the folder that file() reads below, and Read the contents read so far, so
	// that a plan sees one content.
	Dir  string
	Read map[string]string
	// Lookup finds an environment variable; Replays is set if its values were recorded by
	// a run.
	Lookup  func(name string) (string, bool)
	Replays bool
	// Variables are the given ones, Env the environment that was read.
	Variables, Env map[string]string
	// Private are the origins of sensitive values, see origins.
	Private map[string]bool
	Locals  map[string]*hcl.Attribute
}

const (
	OfVariable    = "var."
	OfEnvironment = "env."
	OfFile        = "file."
)

func (o *outside) IsPrivate(origin string) bool {
	return o.Private[unknownOrigin] || o.Private[origin]
}
