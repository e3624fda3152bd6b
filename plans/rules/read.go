package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// operators of a rule. Comparisons make its leaves.
var (
	comparisons = lang.WordSet("< <= > >= == != in")
	operators   = lang.WordSet("+ - * /")
	logic       = lang.WordSet("and or && ||")
)

// reader walks a parsed rule once: it refuses what is not plainly a value, resolves every
// address, and checks types and units.
// expr-lang accepts much more than a rule needs (let, predicates, optional chaining,
// dynamic members), and each of these lets a rule pass on an input that nobody saw.
type reader struct {
	ns   *Namespace
	sc   *Scope
	p    *plans.Program
	text []rune
	seen map[string]*plans.Input
	// done are the products that were read: 0 < 2 * a < 1 is parsed into two comparisons
	// that share 2 * a, and its mistakes are said once.
	done map[ast.Node]*plans.Operand
	errs []*Error
}

func (r *reader) refuse(n ast.Node, code, summary, format string, args ...any) {
	from, to := span(n)
	r.errs = append(r.errs, &Error{At: from, Length: max(1, to-from), Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)})
}

// condition reads what must be true or false: the rule as a whole, and the parts that
// and, or and not join. It returns nil if an error was recorded.
func (r *reader) condition(n *ast.Node, negated bool) *plans.Logic {
	switch node := (*n).(type) {
	case *ast.UnaryNode:
		if denies(node) {
			return r.condition(&node.Node, !negated)
		}
	case *ast.BinaryNode:
		if logic[node.Operator] {
			op := plans.LogicOr
			if (node.Operator == "and" || node.Operator == "&&") != negated {
				op = plans.LogicAnd // not (a or b) is not a and not b
			}
			left := r.condition(&node.Left, negated)
			return joinLogic(op, left, r.condition(&node.Right, negated))
		}
		if comparisons[node.Operator] {
			if leaf := r.compare(node, negated); leaf != nil {
				return &plans.Logic{Op: plans.LogicCompare, Leaf: leaf, Negated: negated}
			}
			return nil
		}
	}
	o := r.operand(n)
	switch {
	case o == nil:
	case o.Type != plans.BoolInput:
		r.refuse(*n, "rule-type", "Not a yes or no", "%s is a %s, but a rule must compare. Write for example %s.", o.Text, o.Type, example(o))
	case o.Input == nil:
		r.refuse(*n, "rule-reads-nothing", "Constant in a rule", "%s has the same result whatever is measured. Remove it.", o.Text)
	default:
		return &plans.Logic{Op: plans.LogicTruth, Truth: o.Input, Negated: negated}
	}
	return nil
}

func denies(n *ast.UnaryNode) bool { return n.Operator == "not" || n.Operator == "!" }

func example(o *plans.Operand) string {
	if o.Type == plans.WordInput {
		return o.Text + " == 'pass'"
	}
	return o.Text + " >= 0.10"
}

// operand reads one side of a comparison; nil if an error was recorded.
func (r *reader) operand(n *ast.Node) *plans.Operand {
	switch node := (*n).(type) {
	case *ast.IntegerNode:
		// Integers wrap around on overflow; a rule has one kind of number.
		return &plans.Operand{Text: r.source(node), Type: plans.NumberInput, Constant: float64(node.Value)}
	case *ast.FloatNode:
		return &plans.Operand{Text: r.source(node), Type: plans.NumberInput, Constant: node.Value}
	case *ast.StringNode:
		return &plans.Operand{Text: r.source(node), Type: plans.WordInput, Constant: node.Value}
	case *ast.BoolNode:
		return &plans.Operand{Text: r.source(node), Type: plans.BoolInput, Constant: node.Value}
	case *ast.IdentifierNode, *ast.MemberNode:
		return r.address(n)
	case *ast.UnaryNode:
		if denies(node) {
			r.refuse(node, "rule-not-allowed", "Misplaced not", "not applies to a whole comparison in brackets: not (chat.tg.gain >= 0.10).")
			return nil
		}
		return r.signed(node)
	case *ast.BinaryNode:
		switch {
		case operators[node.Operator]:
			return r.product(node)
		case comparisons[node.Operator], logic[node.Operator]:
			r.refuse(node, "rule-not-allowed", "Comparison inside a value", "Compare values, not comparisons, and join comparisons with and, or, not.")
			return nil
		}
		r.refuse(node, "rule-not-allowed", "Operator not allowed in a rule", "%q is not one of <, <=, >, >=, ==, !=, in, and, or, not, *.", node.Operator)
		return nil
	case *ast.BuiltinNode:
		r.call(node, node.Name)
		return nil
	case *ast.CallNode:
		if f, ok := node.Callee.(*ast.IdentifierNode); ok {
			r.call(node, f.Value)
			return nil
		}
	}
	r.refuseNode(*n)
	return nil
}

// refuseNode refuses what no rule has, with a specific message for what people are likely
// to try.
func (r *reader) refuseNode(n ast.Node) {
	switch n.(type) {
	case *ast.NilNode:
		r.refuse(n, "rule-not-allowed", "nil in a rule", "A rule is only decided when all its values are present, so no value can be nil.")
	case *ast.ChainNode:
		r.refuse(n, "rule-not-allowed", "Optional chaining in a rule", "Write . instead of ?. : a missing value never passes, so there is nothing to skip.")
	case *ast.ConditionalNode:
		r.refuse(n, "rule-not-allowed", "Conditional in a rule", "Write the condition with and / or, or choose between two rules in the plan with a variable.")
	default:
		r.refuse(n, "rule-not-allowed", "Not allowed in a rule", "A rule compares measured values with numbers, words or each other: use <, <=, >, >=, ==, !=, in, and, or, not, and a number times a value.")
	}
}

// call refuses a function, and says how to write what people call one for.
func (r *reader) call(n ast.Node, name string) {
	how := "Compare values themselves."
	switch name {
	case "abs":
		how = "Set a lower and an upper bound, as in chat.tg.change >= -0.02 and chat.tg.change <= 0.02."
	case "max", "min":
		how = "Compare each argument of " + name + " by itself, and join the comparisons with and or or."
	}
	r.refuse(n, "rule-not-allowed", "Function in a rule", "A rule calls no functions. %s", how)
	r.errs[len(r.errs)-1].About = AboutName
}

// signed reads a number with its sign.
func (r *reader) signed(n *ast.UnaryNode) *plans.Operand {
	o := r.operand(&n.Node)
	if o == nil {
		return nil
	}
	v, ok := o.Constant.(float64)
	if !ok {
		r.refuse(n, "rule-not-allowed", "Arithmetic in a rule", "%s%s puts a sign before a value. Compare %[2]s itself, and put the sign on the number.", n.Operator, o.Text)
		return nil
	}
	if n.Operator == "-" {
		v = -v
	}
	return &plans.Operand{Text: n.Operator + o.Text, Type: plans.NumberInput, Constant: v}
}

// product reads a number times a value, which is all the arithmetic of rules: of anything
// else the distribution is unknown, or a simpler rule says the same.
func (r *reader) product(n *ast.BinaryNode) *plans.Operand {
	if o, ok := r.done[n]; ok {
		return o
	}
	r.done[n] = nil
	left, right := r.operand(&n.Left), r.operand(&n.Right)
	if left == nil || right == nil {
		return nil
	}
	number, of := left, right
	if of.Input == nil {
		number, of = right, left
	}
	factor, ok := number.Constant.(float64)
	text := left.Text + " " + n.Operator + " " + right.Text
	switch {
	case n.Operator != "*" || !ok || of.Input == nil:
		r.refuse(n, "rule-not-allowed", "Arithmetic in a rule", "%s is more than a value, or a number times a value. %s", text, simpler(n.Operator, text, left, right))
		return nil
	case of.Type != plans.NumberInput:
		r.refuse(n, "rule-type", "Wrong type in a rule", "%q takes a number, but %s is a %s.", n.Operator, of.Text, of.Type)
		return nil
	case factor == 0:
		r.refuse(n, "rule-reads-nothing", "Comparison reads nothing", "%s is 0 whatever is measured. Compare a measured value, such as chat.tg.gain >= 0.10.", text)
		return nil
	}
	r.done[n] = &plans.Operand{Text: text, Type: plans.NumberInput, Unit: of.Unit, Of: of.Input, Factor: factor}
	return r.done[n]
}

// simpler is a sentence that says what to write in place of arithmetic.
func simpler(op, text string, left, right *plans.Operand) string {
	by, number := right.Constant.(float64)
	_, other := left.Constant.(float64)
	switch {
	case number && other:
		return fmt.Sprintf("Compute numbers in the plan: write ${%s} in its place.", text)
	case op == "/" && left.Input != nil && right.Input != nil:
		return fmt.Sprintf("Compare one value with a multiple of the other, as in %s >= 0.97 * %s.", left.Text, right.Text)
	case op == "/" && left.Input != nil && number && by != 0:
		return fmt.Sprintf("Write %v * %s.", Rounded(1/by), left.Text)
	case op == "-" && left.Input != nil && right.Input != nil:
		return fmt.Sprintf("The difference between a value and its base is its delta, as in %s.delta.", plainPath(left.Input))
	}
	return "Compare each value by itself, and join the comparisons with and or or."
}

// address resolves an identifier or a chain of members.
func (r *reader) address(n *ast.Node) *plans.Operand {
	elements := r.elements(*n)
	if elements == nil {
		return nil
	}
	from, to := span(*n)
	in, err := r.ns.Resolve(elements, r.sc)
	if err != nil {
		err.At, err.Length = from, max(1, to-from)
		r.errs = append(r.errs, err)
		return nil
	}
	if have := r.seen[in.Path]; have != nil {
		in = have
	} else {
		r.seen[in.Path] = in
		r.p.Inputs = append(r.p.Inputs, in)
	}
	return &plans.Operand{Text: in.Path, Type: in.Type, Unit: in.UnitWord(), Input: in}
}

// elements flattens a.b["c"].d; nil (with an error recorded) if an element is not a
// constant, since nobody could list what such a rule reads.
func (r *reader) elements(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		if !ok || n.Optional {
			r.refuse(n, "rule-not-allowed", "Dynamic member in a rule", "Write the name itself, as in chat.tg or feature[\"name\"]: a rule's inputs must be known before anything runs.")
			return nil
		}
		path := r.elements(n.Node)
		if path == nil {
			return nil
		}
		return append(path, property.Value)
	default:
		r.refuse(n, "rule-not-allowed", "Member of an expression", "Addresses start with a name, as in chat.tg.gain.")
		return nil
	}
}

// source is a constant as written.
func (r *reader) source(n ast.Node) string {
	loc := n.Location()
	if loc.From < 0 || loc.To > len(r.text) || loc.From >= loc.To {
		return n.String()
	}
	return string(r.text[loc.From:loc.To])
}

// span is the place of a node, in runes: the parser gives a node only the place of its
// operator or last name. It follows the edges of the tree and never visits a whole one,
// since nodes of chained comparisons are shared.
func span(n ast.Node) (from, to int) {
	return edge(n, first).Location().From, edge(n, last).Location().To
}

func edge(n ast.Node, side func(ast.Node) ast.Node) ast.Node {
	for {
		next := side(n)
		if next == nil {
			return n
		}
		n = next
	}
}

func first(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.BinaryNode:
		return n.Left
	case *ast.MemberNode:
		return n.Node
	case *ast.SliceNode:
		return n.Node
	case *ast.ChainNode:
		return n.Node
	case *ast.ConditionalNode:
		return n.Cond
	case *ast.CallNode:
		return n.Callee
	case *ast.SequenceNode:
		return n.Nodes[0]
	}
	return nil
}

func last(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.BinaryNode:
		return n.Right
	case *ast.MemberNode:
		return n.Property
	case *ast.UnaryNode:
		return n.Node
	case *ast.ConditionalNode:
		return n.Exp2
	case *ast.BuiltinNode:
		return lastOf(n.Arguments)
	case *ast.CallNode:
		return lastOf(n.Arguments)
	case *ast.ArrayNode:
		return lastOf(n.Nodes)
	case *ast.SequenceNode:
		return lastOf(n.Nodes)
	case *ast.PredicateNode:
		return n.Node
	}
	return nil
}

func lastOf(nodes []ast.Node) ast.Node {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[len(nodes)-1]
}

// listInput is the type of a constant list, which only `in` reads.
const listInput plans.InputType = "list"

// compare reads a comparison and makes it a leaf; nil if it is refused: because it always
// holds, or holds for the wrong reason, or because statistics cannot decide it.
func (r *reader) compare(n *ast.BinaryNode, negated bool) *plans.Leaf {
	left := r.operand(&n.Left)
	var right *plans.Operand
	if list, ok := n.Right.(*ast.ArrayNode); ok && n.Operator == "in" {
		right = r.list(list)
	} else {
		right = r.operand(&n.Right)
	}
	if left == nil || right == nil {
		return nil
	}
	leaf := &plans.Leaf{Text: left.Text + " " + n.Operator + " " + right.Text, Op: n.Operator, Left: left, Right: right, Negated: negated}
	from, to := span(n)
	leaf.At, leaf.Length = from, max(1, to-from)
	before := len(r.errs)
	r.comparable(n, leaf)
	if len(r.errs) > before {
		return nil
	}
	claim, err := r.ns.claim(leaf, r.sc)
	if err != nil {
		err.At, err.Length = leaf.At, leaf.Length
		r.errs = append(r.errs, err)
		return nil
	}
	leaf.Claim = claim
	r.p.Leaves = append(r.p.Leaves, leaf)
	return leaf
}

func (r *reader) comparable(n *ast.BinaryNode, leaf *plans.Leaf) {
	left, right := leaf.Left, leaf.Right
	of := right.Type
	if leaf.Op == "in" {
		if of != listInput {
			r.refuse(n.Right, "rule-type", "Not a list", "Write a list on the right of in, such as ['pass', 'inconclusive'].")
			return
		}
		of = elementType(right)
	}
	inputs := leaf.Inputs()
	switch {
	case left.Type != of:
		r.refuse(n, "rule-type", "Cannot compare", "%s is a %s, but %s is a %s.%s", left.Text, left.Type, right.Text, right.Type, numberWritten(left, right))
	case fixed(inputs):
		r.refuse(n, "rule-reads-nothing", "Comparison reads nothing", "%s has the same result whatever is measured. Compare a measured value, such as chat.tg.gain >= 0.10.", leaf.Text)
	case same(left, right):
		r.refuse(n, "rule-reads-nothing", "Compared with itself", "%s and %s are the same value.", left.Text, right.Text)
	case of == plans.NumberInput:
		r.comparableNumbers(n, leaf)
	case leaf.Op != "==" && leaf.Op != "!=" && leaf.Op != "in":
		r.refuse(n, "rule-type", "Words have no order", "%s is a %s: compare it with == or !=.", left.Text, left.Type)
	case len(inputs) > 1:
		// Equal words prove nothing: two levels that both failed are equal.
		r.refuse(n, "comparison-proves-nothing", "Compare with a word", "%s compares two measured words, which also holds when both are bad. Compare each with the word that you require.", leaf.Text)
	case of == plans.WordInput:
		r.knownWords(n, inputs[0])
	}
}

func (r *reader) comparableNumbers(n *ast.BinaryNode, leaf *plans.Leaf) {
	if leaf.Op == "!=" {
		r.refuse(n, "comparison-proves-nothing", "Always different", "Two measurements are never exactly equal, so != almost always holds. Write < or >.")
		return
	}
	sides := []*plans.Operand{leaf.Left, leaf.Right}
	if a, b := leaf.Left.Unit, leaf.Right.Unit; a != "" && b != "" && a != b {
		r.refuse(n, "unit-mismatch", "Units do not match", "%s compares %s.", leaf.Text, unitsOf(sides))
	}
}

// fixed reports whether only numbers of the plan itself are read.
func fixed(inputs []*plans.Input) bool {
	for _, in := range inputs {
		if in.Kind != plans.InputTarget {
			return false
		}
	}
	return true
}

// same reports whether two operands are the same value, even if an input is spelled in
// two ways, or multiples of the same.
func same(a, b *plans.Operand) bool {
	x, y := a.Inputs(), b.Inputs()
	if len(x) > 0 && len(y) > 0 {
		return x[0].Quantity() == y[0].Quantity()
	}
	return a.Text == b.Text
}

func unitsOf(operands []*plans.Operand) string {
	var units []string
	for _, o := range operands {
		u := o.Unit
		if u == plans.RatioUnit {
			u = "a ratio"
		}
		if u != "" && !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	return plans.OrList(units[:len(units)-1]) + " with " + units[len(units)-1]
}

func elementType(list *plans.Operand) plans.InputType {
	if _, ok := list.Constant.([]any)[0].(string); ok {
		return plans.WordInput
	}
	return plans.NumberInput
}

// list reads the constants on the right of in.
func (r *reader) list(n *ast.ArrayNode) *plans.Operand {
	if len(n.Nodes) == 0 {
		r.refuse(n, "rule-reads-nothing", "Empty list", "An empty list matches nothing; list the values to compare with, such as ['pass', 'inconclusive'].")
		return nil
	}
	var values []any
	var texts []string
	var first plans.InputType
	for i := range n.Nodes {
		o := r.operand(&n.Nodes[i])
		switch {
		case o == nil:
			return nil
		case o.Constant == nil || o.Type == plans.BoolInput:
			r.refuse(n.Nodes[i], "rule-not-allowed", "Not a constant", "A list in a rule holds words or numbers.")
			return nil
		case first != "" && o.Type != first:
			r.refuse(n.Nodes[i], "rule-type", "Mixed list", "%s is a %s in a list of %ss.", o.Text, o.Type, first)
			return nil
		}
		first = o.Type
		values, texts = append(values, o.Constant), append(texts, o.Text)
	}
	return &plans.Operand{Text: "[" + strings.Join(texts, ", ") + "]", Type: listInput, Constant: values}
}

// knownWords refuses words that in can never be: levels.kernels != "failed" would always
// hold.
func (r *reader) knownWords(n *ast.BinaryNode, in *plans.Input) {
	words := DecidedWords
	switch in.Kind {
	case plans.InputObserved:
		if in.Words == "" {
			return // what engines may report is unknown
		}
		words = strings.Split(in.Words, ",")
	case plans.InputKnob:
		words = r.ns.Knobs[in.Name].ValueNames()
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
		why := ""
		switch {
		case in.Kind != plans.InputLevel && in.Kind != plans.InputFeature:
		case s.Value == string(verdict.Waived):
			why = " Only gates are waived, and a waiver changes no verdict that a rule reads."
		case verdict.Verdict(s.Value).Known():
			why = " A verdict of invalid or error is not evidence: a rule that reads it gets that verdict."
		}
		r.refuse(c, "unknown-word", "Unknown word", "%s is one of %s, never %q.%s%s", in.Path, strings.Join(words, ", "), s.Value, why, lang.DidYouMean(s.Value, words))
	}
}

// DecidedWords are the verdicts that a rule can see, of a level as of a feature: neither
// is ever waived.
var DecidedWords = func() (words []string) {
	for _, w := range verdict.Words() {
		if v := verdict.Verdict(w); v.Decided() && v != verdict.Waived {
			words = append(words, w)
		}
	}
	return words
}()

// numberWritten is a sentence with the number that was written in quotes; empty if none
// was.
func numberWritten(left, right *plans.Operand) string {
	text, ok := left.Constant.(string)
	other := right
	if !ok {
		text, ok = right.Constant.(string)
		other = left
	}
	n, percent, number := numberIn(text)
	switch {
	case !ok || !number:
		return ""
	case percent && isShare(other.Unit):
		return fmt.Sprintf(" Write %g, without quotes: ratios are fractions, and %[1]g is %s.", n, text)
	case percent:
		in := ""
		if other.Unit != "" {
			in = fmt.Sprintf(", or write a number in %s", other.Unit)
		}
		return fmt.Sprintf(" %s of what? Compare a .gain or a .change with %g, without quotes%s.", text, n, in)
	}
	return fmt.Sprintf(" Write %g, without quotes.", n)
}

// isShare reports whether numbers of a unit may be given in per cent.
func isShare(unit string) bool { return unit == plans.RatioUnit || unit == "share" }

// numberIn is the number in a text; per cent (share) become a fraction.
func numberIn(text string) (n float64, share, ok bool) {
	digits, share := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if share {
		n = Rounded(n / 100)
	}
	return n, share, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}
