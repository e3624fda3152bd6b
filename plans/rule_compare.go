package plans

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/mxflow/mxflow/gates/verdict"
)

// listInput is the type of a constant list, which only `in` reads.
const listInput InputType = "list"

// compare reads a comparison and makes it a leaf. What cannot but hold, or hold
// for the wrong reason, is refused, and so is what statistics cannot decide; it
// is nil then.
func (r *reader) compare(n *ast.BinaryNode, negated bool) *Leaf {
	left := r.operand(&n.Left)
	var right *Operand
	if list, ok := n.Right.(*ast.ArrayNode); ok && n.Operator == "in" {
		right = r.list(list)
	} else {
		right = r.operand(&n.Right)
	}
	if left == nil || right == nil {
		return nil
	}
	leaf := &Leaf{Text: left.Text + " " + n.Operator + " " + right.Text, Op: n.Operator, Left: left, Right: right, Negated: negated}
	from, to := span(n)
	leaf.At, leaf.Length = from, max(1, to-from)
	before := len(r.errs)
	r.comparable(n, leaf)
	if len(r.errs) > before {
		return nil
	}
	leaf.Claim = &Claim{Form: verdict.Exact}
	if !r.sc.shown {
		claim, err := r.ns.claim(leaf, r.sc)
		if err != nil {
			err.at, err.length = leaf.At, leaf.Length
			r.errs = append(r.errs, err)
			return nil
		}
		leaf.Claim = claim
	}
	r.p.Leaves = append(r.p.Leaves, leaf)
	return leaf
}

func (r *reader) comparable(n *ast.BinaryNode, leaf *Leaf) {
	left, right := leaf.Left, leaf.Right
	of := right.Type
	if leaf.Op == "in" {
		if of != listInput {
			r.refuse(n.Right, "Not a list", "Write a list on the right of in, such as ['pass', 'inconclusive'].")
			return
		}
		of = elementType(right)
	}
	inputs := leaf.Inputs()
	switch {
	case left.Type != of:
		r.refuse(n, "Cannot compare", "%s is a %s and %s is a %s.%s", left.Text, left.Type, right.Text, right.Type, numberWritten(left, right))
	case fixed(inputs):
		r.refuse(n, "Comparison reads nothing", "%s is the same whatever is measured. Compare a measured value, such as chat.tg.gain >= 0.10.", leaf.Text)
	case same(left, right):
		r.refuse(n, "Compared with itself", "%s and %s are the same value.", left.Text, right.Text)
	case of == NumberInput:
		r.comparableNumbers(n, leaf)
	case leaf.Op != "==" && leaf.Op != "!=" && leaf.Op != "in":
		r.refuse(n, "Cannot order", "%s is a %s: compare it with == or !=.", left.Text, left.Type)
	case len(inputs) > 1:
		// Equal words prove nothing: two levels that both failed are equal.
		r.refuse(n, "Compare with a word", "%s compares two values that are both found out later, which also holds when both are bad. Compare each with what you want it to be.", leaf.Text)
	case of == WordInput:
		r.knownWords(n, inputs[0])
	}
}

func (r *reader) comparableNumbers(n *ast.BinaryNode, leaf *Leaf) {
	if leaf.Op == "!=" {
		r.refuse(n, "Always different", "Two measurements are never quite equal, so that != would hold for nearly anything. Write < or >.")
		return
	}
	sides := []*Operand{leaf.Left, leaf.Right}
	if _, ok := unitOf(leaf.Op, sides); !ok {
		r.refuse(n, "Units do not match", "%s compares %s.", leaf.Text, unitsOf(sides))
	}
}

// fixed reports whether nothing but numbers of the plan itself is read.
func fixed(inputs []*Input) bool {
	for _, in := range inputs {
		if in.Kind != InputTarget {
			return false
		}
	}
	return true
}

// same reports whether two operands are one value, also when an input is spelled
// in two ways.
func same(a, b *Operand) bool {
	if a.Input != nil && b.Input != nil {
		x, y := *a.Input, *b.Input
		x.Path, x.Var, y.Path, y.Var = "", "", "", ""
		return x == y
	}
	return a.Text == b.Text
}

func unitsOf(operands []*Operand) string {
	var units []string
	for _, o := range operands {
		u := o.Unit
		if u == RatioUnit {
			u = "a ratio"
		}
		if u != "" && !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	return orList(units[:len(units)-1]) + " with " + units[len(units)-1]
}

func elementType(list *Operand) InputType {
	if _, ok := list.Constant.([]any)[0].(string); ok {
		return WordInput
	}
	return NumberInput
}

// list reads the constants on the right of in.
func (r *reader) list(n *ast.ArrayNode) *Operand {
	if len(n.Nodes) == 0 {
		r.refuse(n, "Empty list", "Nothing is in an empty list; name the values to compare with, such as ['pass', 'inconclusive'].")
		return nil
	}
	var values []any
	var texts []string
	var first InputType
	for i := range n.Nodes {
		o := r.operand(&n.Nodes[i])
		switch {
		case o == nil:
			return nil
		case o.Constant == nil || o.Type == BoolInput:
			r.refuse(n.Nodes[i], "Not a constant", "A list in a rule holds words or numbers.")
			return nil
		case first != "" && o.Type != first:
			r.refuse(n.Nodes[i], "Mixed list", "%s is a %s among %ss.", o.Text, o.Type, first)
			return nil
		}
		first = o.Type
		values, texts = append(values, o.Constant), append(texts, o.Text)
	}
	return &Operand{Text: "[" + strings.Join(texts, ", ") + "]", Type: listInput, Constant: values}
}

// knownWords refuses words that in can never be: levels.kernels != "failed"
// would hold for ever.
func (r *reader) knownWords(n *ast.BinaryNode, in *Input) {
	words := decidedWords
	why := ""
	switch in.Kind {
	case InputObserved:
		return // what engines may say is not known
	case InputKnob:
		words = nil
		for _, v := range r.ns.knobs[in.Name].Values {
			words = append(words, v.Name)
		}
	}
	constants := []ast.Node{n.Left, n.Right}
	if list, ok := n.Right.(*ast.ArrayNode); ok {
		constants = append(constants, list.Nodes...)
	}
	for _, c := range constants {
		s, ok := c.(*ast.StringNode)
		if !ok || slices.Contains(words, s.Value) {
			continue
		}
		if in.Kind != InputKnob && verdict.Verdict(s.Value).Known() {
			why = " A verdict of invalid or error is no evidence: a rule that reads it takes it over."
		}
		r.refuse(c, "Unknown word", "%s is one of %s, never %q.%s%s", in.Path, strings.Join(words, ", "), s.Value, why, didYouMean(s.Value, words))
	}
}

// decidedWords are the verdicts that a rule can see.
var decidedWords = func() (words []string) {
	for _, w := range verdict.Words() {
		if verdict.Verdict(w).Decided() {
			words = append(words, w)
		}
	}
	return words
}()
