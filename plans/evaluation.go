package plans

import (
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

const (
	// maxValue is the largest value of one expression, and maxWork what all of
	// a plan may evaluate to, in bytes or so: a chain of locals that each
	// double the one before is short to write.
	maxValue = 1 << 20
	maxWork  = 64 << 20
)

// evaluation is the one scope that every expression of a plan is evaluated in.
type evaluation struct {
	ctx *hcl.EvalContext
	// sizes of variables and locals, by "var.name" and "local.name".
	sizes map[string]int
	work  int
}

// buildScope makes every declared block visible. Variables and locals join as
// they are evaluated.
func (l *loader) buildScope() {
	vars := map[string]cty.Value{
		"var":      cty.EmptyObjectVal,
		"local":    cty.EmptyObjectVal,
		"baseline": reference("baseline", "", ""),
		"accepted": reference("accepted", "", ""),
	}
	for _, block := range referable {
		byName := map[string]cty.Value{}
		byKind := map[string]map[string]cty.Value{}
		for _, key := range l.symbols.of(block).order {
			labels := l.symbols[block].byKey[key].block.Labels
			if block != "engine" {
				byName[labels[0]] = reference(block, "", labels[0])
				continue
			}
			if byKind[labels[0]] == nil {
				byKind[labels[0]] = map[string]cty.Value{}
			}
			byKind[labels[0]][labels[1]] = reference(block, labels[0], labels[1])
		}
		for kind, engines := range byKind {
			byName[kind] = cty.ObjectVal(engines)
		}
		vars[block] = cty.ObjectVal(byName)
	}
	l.eval = evaluation{
		ctx:   &hcl.EvalContext{Variables: vars, Functions: functions},
		sizes: map[string]int{},
	}
}

// value evaluates an expression. When it reports false, the value is of no use
// and the reason has been reported.
func (l *loader) value(expr hcl.Expression) (cty.Value, bool) {
	uses := expr.Variables()
	if !l.checkUses(uses) || !l.affordable(expr, uses) {
		return cty.DynamicVal, false
	}
	v, diags := expr.Value(l.eval.ctx)
	l.diags = append(l.diags, diags...)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return cty.DynamicVal, false
	}
	v, _ = v.UnmarkDeep()
	size, finite := sizeOf(v)
	switch {
	case !finite:
		l.fail(expr.Range(), "Number too large", "A number has to fit a 64-bit float.")
		return cty.DynamicVal, false
	case size > maxValue:
		l.tooMuch(expr)
		return cty.DynamicVal, false
	}
	return v, true
}

// affordable estimates, before evaluating, what an expression can grow to: all
// that it names plus its own text, and the square of that with a loop in it
// (there are none within each other, see checkNesting).
func (l *loader) affordable(expr hcl.Expression, uses []hcl.Traversal) bool {
	rng := expr.Range()
	cost := max(0, rng.End.Byte-rng.Start.Byte)
	for _, t := range uses {
		name, _ := stepName(t, 1)
		cost += 8 + l.eval.sizes[t.RootName()+"."+name]
	}
	next := sort.SearchInts(l.loops, rng.Start.Byte)
	if next < len(l.loops) && l.loops[next] < rng.End.Byte {
		cost *= min(cost, maxWork)
	}
	l.eval.work += cost
	if cost > 4*maxValue || l.eval.work > maxWork {
		l.tooMuch(expr)
		return false
	}
	return true
}

func (l *loader) tooMuch(expr hcl.Expression) {
	l.fail(expr.Range(), "Plan evaluates to too much", "This expression, with the variables and locals it uses, can grow beyond what a plan may hold (1 MiB a value, 64 MiB in all). Make it smaller.")
}

// sizeOf is the memory that a value stands for, roughly, and whether its
// numbers are ones that float64 holds.
func sizeOf(v cty.Value) (size int, finite bool) {
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
	for it := v.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		s, ok := sizeOf(elem)
		size, finite = size+s+8, finite && ok
		if key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
			size += len(key.AsString())
		}
	}
	return size, finite
}
