// Package eval evaluates the expressions of a plan: the names in scope, functions, the
// limits under which a foreign plan may be evaluated, and which part of a value is
// secret. Body uses it to read the attributes of one block. plans/load knows which blocks
// there are and what they mean.
package eval

import (
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

const (
	// MaxValue is the largest value of one expression, and maxWork the most that a whole
	// plan may evaluate to, roughly in bytes: a chain of locals that each double the one
	// before is short to write.
	MaxValue = 1 << 20
	maxWork  = 64 << 20
	// MaxLooped is the largest value that a loop iterates over or repeats, so that their
	// product stays below maxWork.
	MaxLooped = 32 << 10
)

// Scope is the one scope in which every expression of a plan is evaluated: its names, the
// limits of their values, and which of them are secret.
type Scope struct {
	*names
	*lang.Texts
	// Before is called before an expression that uses names is evaluated, and may bring
	// them into scope; false if it cannot.
	Before func(uses []hcl.Traversal) bool
	// Whole describes a plan as a whole.
	Whole *lang.BlockDoc
	// schemas are descriptions in HCL's terms.
	schemas map[*lang.BlockDoc]*hcl.BodySchema

	Ctx     *hcl.EvalContext
	Secrets secrets
	// Inputs are what came from outside the plan's own files.
	Inputs outside
	// Budget is what the plan may still evaluate to.
	Budget budget
	// Sizes of variables and locals, by "var.name" and "local.name".
	Sizes map[string]int
	// callable are the functions that expressions may call.
	callable map[string]function.Function
	// busy is what the load is doing, if it is watched.
	busy *atomic.Pointer[Place]
}

// NewScope starts with only the functions and the words that always mean the same.
func NewScope(path string) *Scope {
	l := &Scope{
		names:  &names{Report: &lang.Report{}, Symbols: symbols{}, Groups: newGroups(), Doubted: map[string]bool{}},
		Texts:  &lang.Texts{Named: path, Sources: map[string]*lang.Source{}},
		Inputs: outside{Variables: map[string]string{}, Values: map[string]string{}, Env: map[string]string{}, Private: map[string]bool{}, Read: map[string]string{}},
		Ctx: &hcl.EvalContext{Variables: map[string]cty.Value{
			"var": cty.EmptyObjectVal, "local": cty.EmptyObjectVal,
			"baseline": lang.Reference("baseline", "", ""), "accepted": lang.Reference("accepted", "", ""),
		}},
		Sizes: map[string]int{}, schemas: map[*lang.BlockDoc]*hcl.BodySchema{},
	}
	l.callable = l.Functions()
	l.Ctx.Functions = l.callable
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
	if !l.CheckUses(uses) || !l.Affordable(expr, uses) {
		return cty.DynamicVal, false
	}
	ctx := l.Ctx
	if l.Here != nil {
		ctx = l.Here // each and count come and go
	}
	l.Remember(expr, ctx)
	v, diags := expr.Value(l.Ctx)
	l.Budget.Looping = false
	l.Diags = append(l.Diags, Explained(diags)...)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return cty.DynamicVal, false
	}
	size, finite := SizeOf(v)
	switch {
	case !finite && infinite(v):
		l.Fail(expr.Range(), "invalid-value", "Infinite number", "This divides by zero, or exceeds a 64-bit float in pow or log. Use another number, or a fallback such as n == 0 ? 1 : 8 / n.")
		return cty.DynamicVal, false
	case !finite:
		l.Fail(expr.Range(), "invalid-value", "Number too large", "A number must fit a 64-bit float.")
		return cty.DynamicVal, false
	case size > MaxValue:
		l.tooMuch(expr)
		return cty.DynamicVal, false
	}
	l.Secrets.Collect(v)
	l.trace(expr, v)
	return v, true
}

// Affordable estimates, before evaluating, what an expression can grow to: everything
// that it names plus its own text, and the square of that if it contains a loop (loops
// are never nested, see checkNesting). Results of functions are counted when they are
// called.
func (l *Scope) Affordable(expr hcl.Expression, uses []hcl.Traversal) bool {
	cost, looping := l.weigh(expr)
	for _, t := range uses {
		name, _ := lang.StepName(t, 1)
		cost += 8 + l.Sizes[t.RootName()+"."+name]
	}
	l.Budget.Looping = looping
	if l.Budget.Looping && cost > MaxLooped {
		l.tooMuch(expr)
		return false
	}
	if l.Budget.Looping {
		// An element takes at least 16.
		cost *= cost/16 + 1
	}
	l.Budget.Work += cost
	if l.Budget.Work > maxWork || !l.Budget.Looping && cost > 4*MaxValue {
		l.tooMuch(expr)
		return false
	}
	return true
}

func (l *Scope) tooMuch(expr hcl.Expression) {
	l.Fail(expr.Range(), "evaluates-to-too-much", "Plan evaluates to too much", "This expression, with the variables and locals it uses, can exceed the limits of a plan: 1 MiB per value, 32 KiB iterated by a for expression, 64 MiB in total. Make it smaller.")
}

// SizeOf is roughly the memory that a value stands for, and whether float64 can hold its
// numbers. It stops once a value is too large.
func SizeOf(v cty.Value) (size int, finite bool) {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return 1, true
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return len(v.AsString()) + 1, true
	case ty == cty.Number:
		f := v.AsBigFloat()
		return 8, !f.IsInf() && f.MantExp(nil) <= 1024
	case ty.IsPrimitiveType() || !v.CanIterateElements():
		return 1, true
	}
	size, finite = 16, true
	for it := v.ElementIterator(); it.Next() && size <= MaxValue; {
		key, elem := it.Element()
		s, ok := SizeOf(elem)
		size, finite = size+s+8, finite && ok
		if key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
			key, _ = key.Unmark()
			size += len(key.AsString())
		}
	}
	return size, finite
}

// infinite reports whether a value is or contains an infinite number. A finite one may
// still be too large.
func infinite(v cty.Value) (found bool) {
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		found = found || v.Type() == cty.Number && v.IsKnown() && !v.IsNull() && v.AsBigFloat().IsInf()
		return !found, nil
	})
	return found
}

// weigh returns how much text an expression consists of, and whether it contains a for
// expression. In YAML, what an alias names counts at each use.
func (l *Scope) weigh(expr hcl.Expression) (size int, loops bool) {
	if size, loops, ok := yamlbody.Weigh(expr); ok {
		return size, loops
	}
	rng := expr.Range()
	return max(0, rng.End.Byte-rng.Start.Byte), l.Loops(rng)
}

// At notes what the load is busy with, for the guard.
func (l *Scope) At(what string, at hcl.Range) {
	if l.busy != nil {
		l.busy.Store(&Place{what, at})
	}
}

// Within runs decode with the each of an instance.
func (l *Scope) Within(i *Instance, decode func()) {
	before, here := l.each, l.Here
	now := cty.NilVal
	if i != nil {
		now = i.Each
	}
	l.setEach(now)
	if l.Here = nil; now != cty.NilVal {
		l.Here = l.Ctx.NewChild()
		l.Here.Variables = map[string]cty.Value{"each": now}
	}
	defer func() {
		l.setEach(before)
		l.Here = here
	}()
	decode()
}

func (l *Scope) setEach(each cty.Value) {
	delete(l.Ctx.Variables, "each")
	if each != cty.NilVal {
		l.Ctx.Variables["each"] = each
		size, _ := SizeOf(each)
		l.Sizes["each.value"], l.Sizes["each.key"] = size, size // each.key is within it
	}
	l.each = each
}
