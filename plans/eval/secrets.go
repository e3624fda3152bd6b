package eval

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans/lang"
)

// mark is one of our cty marks.
type mark string

// Sensitive marks values that must not be shown. Whatever is computed from one
// carries the mark too.
const Sensitive = mark("sensitive")

// secrets are the sensitive texts that a load has encountered.
type secrets struct {
	// Marked is set as soon as there is a sensitive value, so all other plans do not
	// pay for the search.
	Marked bool
	texts  []string
	// Unseen are texts, as given, from which no value could be made.
	Unseen []string
}

// List is all of them, none twice.
func (s *secrets) List() []string { return slices.Clone(s.texts) }

// Collect notes every sensitive text and number in v.
func (s *secrets) Collect(v cty.Value) {
	if !s.Marked {
		return
	}
	texts, _ := secretTexts(v, false)
	for _, text := range texts {
		if text != "" && !slices.Contains(s.texts, text) {
			redact.Know([]string{text}) // mistakes in the plan may be reported before it is loaded
			s.texts = append(s.texts, text)
		}
	}
}

// secretTexts are the texts by which the sensitive parts of v are recognised; all is false
// if one has none.
func secretTexts(v cty.Value, inside bool) (texts []string, all bool) {
	inside, all = inside || v.HasMark(Sensitive), true
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			list, complete := secretTexts(e, inside)
			texts, all = append(texts, list...), all && complete
		}
	case inside:
		text, err := convert.Convert(v, cty.String)
		if err != nil || v.Type() == cty.Bool {
			return nil, false
		}
		texts = []string{text.AsString()}
	}
	return texts, all
}

// Hidden reports whether v is sensitive or holds anything that is.
func (s *secrets) Hidden(v cty.Value) bool { return s.Marked && v.ContainsMarked() }

// public refuses a sensitive value in a place that the plan would show.
func (l *Scope) public(v cty.Value, at hcl.Range, what string) (cty.Value, bool) {
	if !l.Secrets.Hidden(v) {
		return v, true
	}
	l.Fail(at, "sensitive", "Sensitive value is not allowed here",
		"%s appears in reports and records, so it cannot come from a sensitive value. Use sensitive values in env, "+
			"settings, args, command and other text that is only passed to a program. If the value is not secret, "+
			"wrap it in nonsensitive(…).", what)
	return cty.DynamicVal, false
}

// Private removes the marks from a value that a program gets to see, and refuses secrets
// that could not be removed from its output.
func (l *Scope) Private(v cty.Value, at hcl.Range) (cty.Value, bool) {
	if !l.Secrets.Hidden(v) {
		return v, true
	}
	why := ""
	texts, all := secretTexts(v, false)
	if !all {
		why = "true and false occur everywhere"
	}
	for _, text := range texts {
		if text != "" && len(text) < redact.MinLength {
			why = fmt.Sprintf("a text of fewer than %d characters occurs everywhere", redact.MinLength)
		}
	}
	if v, _ = v.UnmarkDeep(); why == "" {
		return v, true
	}
	l.Fail(at, "sensitive", "Sensitive value cannot be hidden",
		"Sensitive values are redacted in logs and records by their text, and %s. Use a longer value, or wrap it in "+
			"nonsensitive(…) if it is not secret.", why)
	return cty.DynamicVal, false
}

// anyOrigin marks a value that may come from anything that was read, where its origin
// cannot be traced.
const anyOrigin = "*"

// markPrivate marks what the arguments of sensitive() are made of in an expression as
// private: "var.x", "env.X", "file.x", and the locals in between.
func (o *outside) markPrivate(expr hcl.Expression) {
	eachCall(expr, func(call *hclsyntax.FunctionCallExpr) {
		if call.Name == "sensitive" {
			for _, arg := range call.Args {
				o.markOrigins(arg)
			}
		}
	})
}

func (o *outside) markOrigins(expr hcl.Expression) {
	for _, t := range expr.Variables() {
		root := t.RootName()
		name, static := lang.StepName(t, 1)
		switch id := root + "." + name; {
		case IsReferable(root) || root == "baseline" || root == "accepted":
		case !static || root != "var" && root != "local":
			o.Private[anyOrigin] = true // what a loop of blocks iterates over
		case !o.Private[id]:
			o.Private[id] = true
			if a := o.Locals[name]; root == "local" && a != nil {
				o.markOrigins(a.Expr)
			}
		}
	}
	eachCall(expr, func(call *hclsyntax.FunctionCallExpr) {
		kind := map[string]string{"env": OfEnvironment, "file": OfFile}[call.Name]
		if kind == "" || len(call.Args) == 0 {
			return
		}
		name, diags := call.Args[0].Value(nil)
		if diags.HasErrors() || !name.IsKnown() || name.IsNull() || name.Type() != cty.String {
			o.Private[anyOrigin] = true
			return
		}
		o.Private[kind+name.AsString()] = true
	})
}

func eachCall(expr hcl.Expression, visit func(*hclsyntax.FunctionCallExpr)) {
	if node, ok := hcl.UnwrapExpression(expr).(hclsyntax.Node); ok {
		_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
				visit(call)
			}
			return nil
		})
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
	// Private are the origins of sensitive values, see markPrivate.
	Private map[string]bool
	Locals  map[string]*hcl.Attribute
}

const (
	OfVariable    = "var."
	OfEnvironment = "env."
	OfFile        = "file."
)

func (o *outside) IsPrivate(origin string) bool {
	return o.Private[anyOrigin] || o.Private[origin]
}
