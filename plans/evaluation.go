package plans

import (
	"sort"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

const (
	// maxValue is the largest value of one expression, and maxWork what all of
	// a plan may evaluate to, in bytes or so: a chain of locals that each
	// double the one before is short to write.
	maxValue = 1 << 20
	maxWork  = 64 << 20
	// maxLooped is the largest that a loop goes over or repeats, so that their
	// product stays below maxWork.
	maxLooped = 32 << 10
)

// evalScope is the one scope that every expression of a plan is evaluated in: the
// names that it has, what they may come to, and what of it is secret.
type evalScope struct {
	*report
	*texts
	// dir is the folder that file() reads below.
	dir string
	// env looks up an environment variable; replays is set where what it finds was
	// recorded by a run.
	env     func(name string) (string, bool)
	replays bool
	// before is asked before an expression is evaluated that uses names, and may
	// bring them into scope; false where it cannot.
	before func(uses []hcl.Traversal) bool
	// language describes the blocks that references name.
	language func(kind string) *BlockDoc
	// whole is the schema of a plan as a whole.
	whole *hcl.BodySchema

	ctx     *hcl.EvalContext
	symbols symbols
	groups  groups
	// doubted are the block types of which some could not be made.
	doubted map[string]bool
	// used are the blocks that expressions and rules name; see refersTo.
	used    map[string]bool
	secrets secrets
	// inputs are what came from outside of the plan's own files.
	inputs taken
	// sizes of variables and locals, by "var.name" and "local.name".
	sizes map[string]int
	work  int
	// each and count as they are now; see within.
	words map[string]cty.Value
	// looping is set while an expression with a loop in it is evaluated.
	looping bool
	// read is what file() has read, so that a plan sees one content.
	read map[string]string
	// callable are the functions that expressions may call.
	callable map[string]function.Function
	// busy is what the load is doing, where somebody watches.
	busy *atomic.Pointer[place]
}

// newScope starts with nothing but functions and the words that always mean the
// same.
func newScope(path string) *evalScope {
	l := &evalScope{
		report:  &report{suggestions: 200},
		texts:   &texts{named: path, sources: map[string]*source{}},
		symbols: symbols{},
		groups:  newGroups(),
		doubted: map[string]bool{},
		inputs:  taken{variables: map[string]string{}, values: map[string]string{}, env: map[string]string{}, private: map[string]bool{}},
		ctx: &hcl.EvalContext{Variables: map[string]cty.Value{
			"var": cty.EmptyObjectVal, "local": cty.EmptyObjectVal,
			"baseline": reference("baseline", "", ""), "accepted": reference("accepted", "", ""),
		}},
		sizes: map[string]int{}, read: map[string]string{},
	}
	l.callable = l.functions()
	l.ctx.Functions = l.callable
	return l
}

// instance is the scope as it is now, for looking at it later: each and count
// come and go.
func (l *evalScope) instance() *hcl.EvalContext {
	if len(l.words) == 0 {
		return l.ctx
	}
	ctx := l.ctx.NewChild()
	ctx.Variables = l.words
	return ctx
}

// value evaluates an expression whose value the plan shows. When it reports
// false, the value is of no use and the reason has been reported.
func (l *evalScope) value(expr hcl.Expression, what string) (cty.Value, bool) {
	v, ok := l.marked(expr)
	if !ok {
		return v, false
	}
	return l.public(v, expr.Range(), what)
}

// marked evaluates an expression; its value carries the marks of what it was
// computed from.
func (l *evalScope) marked(expr hcl.Expression) (cty.Value, bool) {
	uses := expr.Variables()
	if l.before != nil && !l.before(uses) {
		return cty.DynamicVal, false
	}
	if !l.checkUses(uses) || !l.affordable(expr, uses) {
		return cty.DynamicVal, false
	}
	l.remember(expr, l.instance())
	v, diags := expr.Value(l.ctx)
	l.looping = false
	l.diags = append(l.diags, explained(diags)...)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return cty.DynamicVal, false
	}
	size, finite := sizeOf(v)
	switch {
	case !finite:
		l.fail(expr.Range(), "Number too large", "A number has to fit a 64-bit float.")
		return cty.DynamicVal, false
	case size > maxValue:
		l.tooMuch(expr)
		return cty.DynamicVal, false
	}
	l.secrets.collect(v)
	l.trace(expr, v)
	return v, true
}

// affordable estimates, before evaluating, what an expression can grow to: all
// that it names plus its own text, and the square of that with a loop in it
// (there are none within each other, see checkNesting). What functions make is
// counted when they are called.
func (l *evalScope) affordable(expr hcl.Expression, uses []hcl.Traversal) bool {
	cost, looping := l.weigh(expr)
	for _, t := range uses {
		name, _ := stepName(t, 1)
		cost += 8 + l.sizes[t.RootName()+"."+name]
	}
	l.looping = looping
	if l.looping && cost > maxLooped {
		l.tooMuch(expr)
		return false
	}
	if l.looping {
		// An element takes at least 16.
		cost *= cost/16 + 1
	}
	l.work += cost
	if l.work > maxWork || !l.looping && cost > 4*maxValue {
		l.tooMuch(expr)
		return false
	}
	return true
}

// loops reports whether a for expression stands in a range of the text.
func (l *texts) loops(at hcl.Range) bool {
	s := l.sources[at.Filename]
	if s == nil {
		return false
	}
	next := sort.SearchInts(s.loops, at.Start.Byte)
	return next < len(s.loops) && s.loops[next] < at.End.Byte
}

func (l *evalScope) tooMuch(expr hcl.Expression) {
	l.fail(expr.Range(), "Plan evaluates to too much", "This expression, with the variables and locals it uses, can grow beyond what a plan may hold (1 MiB a value, 32 KiB that a for expression goes over, 64 MiB in all). Make it smaller.")
}

// sizeOf is the memory that a value stands for, roughly, and whether its
// numbers are ones that float64 holds. It stops where a value is too large.
func sizeOf(v cty.Value) (size int, finite bool) {
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
	for it := v.ElementIterator(); it.Next() && size <= maxValue; {
		key, elem := it.Element()
		s, ok := sizeOf(elem)
		size, finite = size+s+8, finite && ok
		if key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
			key, _ = key.Unmark()
			size += len(key.AsString())
		}
	}
	return size, finite
}
