// Package eval evaluates the expressions of a plan: the names in scope, functions, and
// which part of a value is secret. Body uses it to read the attributes of one block. plans/load knows which blocks
// there are and what they mean.
package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans/lang"
)

// Scope is the one scope in which every expression of a plan is evaluated: its names, and
// which of their values are secret.
type Scope struct {
	lang.Report
	lang.Texts
	// Symbols are the names that the plan declares, Groups what for_each made of them.
	Symbols symbols
	Groups  groups
	// Doubted are the block types of which some blocks could not be made.
	Doubted map[string]bool
	Whole   *lang.BlockDoc
	// each is the current one, cty.NilVal if there is none; see Within.
	each cty.Value
	// Before is called before an expression that uses names is evaluated, and may bring
	// them into scope; false if it cannot.
	Before func(uses []hcl.Traversal) bool

	Ctx     *hcl.EvalContext
	Secrets secrets
	// Inputs are what came from outside the plan's own files.
	Inputs outside
}

// NewScope starts with only the functions and the words that always mean the same.
func NewScope(path string) *Scope {
	l := &Scope{
		Symbols: symbols{}, Doubted: map[string]bool{},
		Groups: groups{map[string][]*Group{}, map[string]*Group{}, map[string]bool{}},
		Texts:  lang.Texts{Named: path, Sources: map[string]*lang.Source{}},
		Inputs: outside{
			Variables: map[string]string{}, Env: map[string]string{}, Private: map[string]bool{},
			Read: map[string]string{},
		},
		Ctx: &hcl.EvalContext{Variables: map[string]cty.Value{
			"var": cty.EmptyObjectVal, "local": cty.EmptyObjectVal,
			"baseline": lang.Reference("baseline", "", ""), "accepted": lang.Reference("accepted", "", ""),
		}},
	}
	l.Ctx.Functions = l.Functions()
	return l
}

// Value evaluates an expression whose value the plan shows. When it reports
// false, the value is of no use and the reason has been reported.
func (l *Scope) Value(expr hcl.Expression, what string) (cty.Value, bool) {
	v, ok := l.Marked(expr)
	if !ok {
		return v, false
	}
	return l.public(v, expr.Range(), what)
}

// Marked evaluates an expression; its value carries the marks of what it was
// computed from.
func (l *Scope) Marked(expr hcl.Expression) (cty.Value, bool) {
	uses := expr.Variables()
	if l.Before != nil && !l.Before(uses) {
		return cty.DynamicVal, false
	}
	if !l.CheckUses(uses) {
		return cty.DynamicVal, false
	}
	v, diags := expr.Value(l.Context())
	l.Diags = append(l.Diags, explained(diags)...)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return cty.DynamicVal, false
	}
	if !Finite(v) {
		l.Fail(expr.Range(), "invalid-value", "Number too large",
			"A number must fit a 64-bit float, and this is larger, or divides by zero. Use another number, or a "+
				"fallback such as n == 0 ? 1 : 8 / n.")
		return cty.DynamicVal, false
	}
	l.Secrets.Collect(v)
	if l.Secrets.Hidden(v) {
		l.Inputs.markPrivate(expr)
	}
	return v, true
}

// Finite reports whether float64 can hold the numbers of a value.
func Finite(v cty.Value) bool {
	v, _ = v.UnmarkDeep()
	fits := true
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() {
			f := v.AsBigFloat()
			fits = fits && !f.IsInf() && f.MantExp(nil) <= 1024
		}
		return fits, nil
	})
	return fits
}

// Within runs decode with the each of an instance.
func (l *Scope) Within(i *Instance, decode func()) {
	before := l.each
	defer func() { l.each = before }()
	l.each = cty.NilVal
	if i != nil {
		l.each = i.Each
	}
	decode()
}

// Context is what expressions of the current instance may refer to.
func (l *Scope) Context() *hcl.EvalContext {
	if l.each == cty.NilVal {
		return l.Ctx
	}
	ctx := l.Ctx.NewChild()
	ctx.Variables = map[string]cty.Value{"each": l.each}
	return ctx
}
