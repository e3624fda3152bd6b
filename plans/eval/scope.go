// Package eval evaluates the expressions of a plan: the names in scope, functions,
// the limits under which a foreign plan may be evaluated, and what of a value is
// secret. Body reads the attributes of one block by it. Which blocks there are and
// what they mean is for plans/load.
package eval

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

const (
	// MaxValue is the largest value of one expression, and maxWork what all of
	// a plan may evaluate to, in bytes or so: a chain of locals that each
	// double the one before is short to write.
	MaxValue = 1 << 20
	maxWork  = 64 << 20
	// MaxLooped is the largest that a loop goes over or repeats, so that their
	// product stays below maxWork.
	MaxLooped = 32 << 10
)

// Scope is the one scope that every expression of a plan is evaluated in: the
// names that it has, what they may come to, and what of it is secret.
type Scope struct {
	*lang.Report
	*lang.Texts
	// Dir is the folder that file() reads below.
	Dir string
	// Env looks up an environment variable; replays is set where what it finds was
	// recorded by a run.
	Env     func(name string) (string, bool)
	Replays bool
	// Before is asked before an expression is evaluated that uses names, and may
	// bring them into scope; false where it cannot.
	Before func(uses []hcl.Traversal) bool
	// Language describes the blocks that references name.
	Language func(kind string) *lang.BlockDoc
	// Programs are the attributes that only a program gets to see, by block type.
	Programs map[string]map[string]bool
	// Whole is the schema of a plan as a whole.
	Whole *hcl.BodySchema

	Ctx     *hcl.EvalContext
	Symbols symbols
	Groups  groups
	// Doubted are the block types of which some could not be made.
	Doubted map[string]bool
	// Used are the blocks that expressions and rules name; see refersTo.
	Used    map[string]bool
	Secrets secrets
	// Inputs are what came from outside of the plan's own files.
	Inputs taken
	// Sizes of variables and locals, by "var.name" and "local.name".
	Sizes map[string]int
	Work  int
	// each and count as they are now; see within.
	words map[string]cty.Value
	// Looping is set while an expression with a loop in it is evaluated.
	Looping bool
	// Read is what file() has read, so that a plan sees one content.
	Read map[string]string
	// callable are the functions that expressions may call.
	callable map[string]function.Function
	// busy is what the load is doing, where somebody watches.
	busy *atomic.Pointer[Place]
}

// NewScope starts with nothing but functions and the words that always mean the
// same.
func NewScope(path string) *Scope {
	l := &Scope{
		Report:  &lang.Report{Suggestions: 200},
		Texts:   &lang.Texts{Named: path, Sources: map[string]*lang.Source{}},
		Symbols: symbols{},
		Groups:  newGroups(),
		Doubted: map[string]bool{},
		Inputs:  taken{Variables: map[string]string{}, Values: map[string]string{}, Env: map[string]string{}, Private: map[string]bool{}},
		Ctx: &hcl.EvalContext{Variables: map[string]cty.Value{
			"var": cty.EmptyObjectVal, "local": cty.EmptyObjectVal,
			"baseline": lang.Reference("baseline", "", ""), "accepted": lang.Reference("accepted", "", ""),
		}},
		Sizes: map[string]int{}, Read: map[string]string{},
	}
	l.callable = l.Functions()
	l.Ctx.Functions = l.callable
	return l
}

// instance is the scope as it is now, for looking at it later: each and count
// come and go.
func (l *Scope) instance() *hcl.EvalContext {
	if len(l.words) == 0 {
		return l.Ctx
	}
	ctx := l.Ctx.NewChild()
	ctx.Variables = l.words
	return ctx
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
	l.Remember(expr, l.instance())
	v, diags := expr.Value(l.Ctx)
	l.Looping = false
	l.Diags = append(l.Diags, Explained(diags)...)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		return cty.DynamicVal, false
	}
	size, finite := SizeOf(v)
	switch {
	case !finite:
		l.Fail(expr.Range(), "invalid-value", "Number too large", "A number has to fit a 64-bit float.")
		return cty.DynamicVal, false
	case size > MaxValue:
		l.tooMuch(expr)
		return cty.DynamicVal, false
	}
	l.Secrets.Collect(v)
	l.trace(expr, v)
	return v, true
}

// Affordable estimates, before evaluating, what an expression can grow to: all
// that it names plus its own text, and the square of that with a loop in it
// (there are none within each other, see checkNesting). What functions make is
// counted when they are called.
func (l *Scope) Affordable(expr hcl.Expression, uses []hcl.Traversal) bool {
	cost, looping := l.weigh(expr)
	for _, t := range uses {
		name, _ := lang.StepName(t, 1)
		cost += 8 + l.Sizes[t.RootName()+"."+name]
	}
	l.Looping = looping
	if l.Looping && cost > MaxLooped {
		l.tooMuch(expr)
		return false
	}
	if l.Looping {
		// An element takes at least 16.
		cost *= cost/16 + 1
	}
	l.Work += cost
	if l.Work > maxWork || !l.Looping && cost > 4*MaxValue {
		l.tooMuch(expr)
		return false
	}
	return true
}

func (l *Scope) tooMuch(expr hcl.Expression) {
	l.Fail(expr.Range(), "evaluates-to-too-much", "Plan evaluates to too much", "This expression, with the variables and locals it uses, can grow beyond what a plan may hold (1 MiB a value, 32 KiB that a for expression goes over, 64 MiB in all). Make it smaller.")
}

// SizeOf is the memory that a value stands for, roughly, and whether its
// numbers are ones that float64 holds. It stops where a value is too large.
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

// weigh says how much text an expression is made of, and whether a for
// expression is in it. In YAML, what an alias names counts where it is used.
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

// Symbol is a name that a plan declares.
type Symbol struct {
	Key string
	At  hcl.Range
	// Block is the first block of that name.
	Block *hcl.Block
}

// names are the declarations of one block type by key, and in order.
type names struct {
	ByKey map[string]*Symbol
	Order []string
}

// symbols are the names by block type: "workload", "feature", "local".
type symbols map[string]*names

func (s symbols) Of(block string) *names {
	n := s[block]
	if n == nil {
		n = &names{ByKey: map[string]*Symbol{}}
		s[block] = n
	}
	return n
}

func (s symbols) Has(block, key string) bool {
	n := s[block]
	return n != nil && n.ByKey[key] != nil
}

// First reports whether b is the block that its name belongs to; a duplicate is
// decoded for its mistakes and then dropped.
func (l *Scope) First(b *hcl.Block) bool {
	n := l.Symbols[b.Type]
	if n == nil {
		return false
	}
	s := n.ByKey[strings.Join(b.Labels, ".")]
	return s != nil && s.Block == b
}

// Doubt notes that some blocks of a type could not be made, so that references to
// them are no mistakes of their own.
func (l *Scope) Doubt(kind string) {
	l.Doubted[kind] = true
	if kind == "phase" {
		l.Doubted["feature"] = true
	}
}

// Within runs decode with each and count as they are in an instance.
func (l *Scope) Within(i *Instance, decode func()) {
	before := l.words
	var now map[string]cty.Value
	if i != nil {
		now = i.Scope
	}
	l.setWords(now)
	defer l.setWords(before)
	decode()
}

func (l *Scope) setWords(words map[string]cty.Value) {
	vars := l.Ctx.Variables
	for word := range l.words {
		delete(vars, word)
	}
	for word, v := range words {
		vars[word] = v
		// each.value and count.index; each.key is within it.
		size, _ := SizeOf(v)
		l.Sizes[word+".value"], l.Sizes[word+".key"] = size, size
	}
	l.words = words
}

func KeyText(k cty.Value) string {
	if k.Type() == cty.Number {
		n, _ := k.AsBigFloat().Int64()
		return strconv.FormatInt(n, 10)
	}
	return k.AsString()
}

func IsReferable(word string) bool { return slices.Contains(Referable, word) }

// Referable are the block types that an expression may refer to.
var Referable = []string{"engine", "feature", "imported", "knob", "phase", "protocol", "suite", "target", "workload"}
