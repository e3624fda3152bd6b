package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var (
	comparisons = lang.WordSet("< <= > >= == != in")
	joins       = map[string]string{"and": plans.And, "&&": plans.And, "or": plans.Or, "||": plans.Or}
)

// Compile is the condition that a rule's text stands for, or its mistakes, which point
// into the text.
func (ns *Namespace) Compile(src string, sc *Scope) (*plans.Cond, []*Error) {
	if err := lexicalLimits(src); err != nil {
		return nil, []*Error{err}
	}
	tree, err := parser.ParseWithConfig(plainNumbers(src), &conf.Config{})
	if err != nil {
		return nil, []*Error{fromExpr(err, src)}
	}
	r := &reader{ns: ns, sc: sc, text: []rune(src), seen: map[string]*plans.Input{}}
	cond := r.condition(tree.Node, false)
	if len(r.errs) == 0 && !slices.ContainsFunc(cond.Inputs(), (*plans.Input).Measured) {
		r.refuse(tree.Node, "rule-reads-nothing", "Rule reads nothing",
			"This rule has the same result whatever is measured. Compare a metric, such as chat.tg.gain >= 10%%.")
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return cond, nil
}

// perCent matches texts in quotes, which stay, and words and numbers with a % behind them.
var perCent = regexp.MustCompile(`(?s)'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|` + "`(?:\\\\.|[^`\\\\])*`" + `|[\w.]+%`)

// plainNumbers blanks the % of each number in per cent, which expr-lang reads as a
// remainder: every character keeps its place, and the reader finds the % in the text. A
// number starts with a digit or a point; words may end in digits.
func plainNumbers(src string) string {
	return perCent.ReplaceAllStringFunc(src, func(text string) string {
		if number, ok := strings.CutSuffix(text, "%"); ok && strings.IndexByte(".0123456789", text[0]) >= 0 {
			return number + " "
		}
		return text
	})
}

// reader walks a parsed rule once: it refuses what is not plainly a comparison, resolves
// every address, and checks types and units. expr-lang accepts much more than a rule needs
// (let, predicates, optional chaining, dynamic members), and each of these lets a rule
// pass on an input that nobody saw.
type reader struct {
	ns   *Namespace
	sc   *Scope
	text []rune
	// seen are the inputs by path: each is read once.
	seen map[string]*plans.Input
	errs []*Error
}

func (r *reader) refuse(n ast.Node, code, summary, format string, args ...any) {
	r.fail(n, Wrong(code, summary, format, args...))
}

// fail records a mistake at a node, once: 0 < 2 * a < 1 is two comparisons that share
// 2 * a.
func (r *reader) fail(n ast.Node, err *Error) {
	err.At = edge(n, true).Location().From
	err.Length = max(1, edge(n, false).Location().To-err.At)
	if !slices.ContainsFunc(r.errs, func(e *Error) bool { return e.At == err.At && e.Summary == err.Summary }) {
		r.errs = append(r.errs, err)
	}
}

// edge is the first or last node of the text of n: the parser gives a node only the place
// of its operator or last name. It never visits a whole tree, since nodes of chained
// comparisons are shared.
func edge(n ast.Node, first bool) ast.Node {
	for {
		var left, right ast.Node
		switch n := n.(type) {
		case *ast.BinaryNode:
			left, right = n.Left, n.Right
		case *ast.MemberNode:
			left, right = n.Node, n.Property
		case *ast.ConditionalNode:
			left, right = n.Cond, n.Exp2
		case *ast.UnaryNode:
			right = n.Node
		case *ast.CallNode:
			left = n.Callee
		}
		switch {
		case first && left != nil:
			n = left
		case !first && right != nil:
			n = right
		default:
			return n
		}
	}
}

// condition reads what must be true or false: the rule as a whole, and the parts that
// and, or and not join. It returns nil if an error was recorded.
func (r *reader) condition(n ast.Node, negated bool) *plans.Cond {
	switch n := n.(type) {
	case *ast.UnaryNode:
		if denies(n) {
			return r.condition(n.Node, !negated)
		}
	case *ast.BinaryNode:
		if op := joins[n.Operator]; op != "" {
			if negated { // not (a or b) is not a and not b
				op = map[string]string{plans.And: plans.Or, plans.Or: plans.And}[op]
			}
			left := r.condition(n.Left, negated)
			return joined(op, left, r.condition(n.Right, negated))
		}
		if comparisons[n.Operator] {
			if c := r.compare(n, negated); c != nil {
				return &plans.Cond{Compare: c}
			}
			return nil
		}
	}
	o := r.operand(n)
	switch {
	case o == nil:
	case o.Type == plans.WordInput:
		r.refuse(n, "rule-type", "Not a yes or no",
			"%s is a word, but a rule must compare. Write for example %[1]s == 'pass'.", o.Text)
	case o.Type != plans.BoolInput:
		r.refuse(n, "rule-type", "Not a yes or no",
			"%s is a %s, but a rule must compare. Write for example %[1]s >= 10%%.", o.Text, o.Type)
	case o.Input == nil:
		r.refuse(n, "rule-reads-nothing", "Constant in a rule",
			"%s has the same result whatever is measured. Remove it.", o.Text)
	default:
		return &plans.Cond{Truth: o.Input, Negated: negated}
	}
	return nil
}

func denies(n *ast.UnaryNode) bool { return n.Operator == "not" || n.Operator == "!" }

// joined is a tree of op over two; nil if one of them is unknown.
func joined(op string, a, b *plans.Cond) *plans.Cond {
	if a == nil || b == nil {
		return nil
	}
	c := &plans.Cond{Op: op}
	for _, part := range []*plans.Cond{a, b} {
		if part.Op == op {
			c.Args = append(c.Args, part.Args...)
		} else {
			c.Args = append(c.Args, part)
		}
	}
	return c
}

// operand reads one side of a comparison; nil if an error was recorded.
func (r *reader) operand(n ast.Node) *plans.Operand {
	constant := func(t plans.InputType, v any) *plans.Operand {
		loc := n.Location()
		o := &plans.Operand{Text: string(r.text[loc.From:loc.To]), Type: t, Factor: 1, Constant: v}
		if f, ok := v.(float64); ok && loc.To < len(r.text) && r.text[loc.To] == '%' {
			o.Text, o.Unit, o.Constant = o.Text+"%", plans.RatioUnit, rounded(f/100)
		}
		return o
	}
	switch n := n.(type) {
	case *ast.IntegerNode:
		return constant(plans.NumberInput, float64(n.Value)) // a rule has one kind of number
	case *ast.FloatNode:
		return constant(plans.NumberInput, n.Value)
	case *ast.StringNode:
		return constant(plans.WordInput, n.Value)
	case *ast.BoolNode:
		return constant(plans.BoolInput, n.Value)
	case *ast.IdentifierNode, *ast.MemberNode:
		return r.address(n)
	case *ast.UnaryNode:
		if o := r.operand(n.Node); o != nil {
			v, number := o.Constant.(float64)
			switch {
			case denies(n) || !number:
				r.refuse(n, "rule-not-allowed", "Not allowed in a rule",
					"A sign belongs to a number, not to a whole comparison. To negate one, write not (chat.tg.gain "+
						">= 10%%).")
				return nil
			case n.Operator == "-":
				o.Constant = -v
			}
			o.Text = n.Operator + o.Text
			return o
		}
		return nil
	case *ast.BinaryNode:
		if strings.Contains("+-*/", n.Operator) {
			return r.product(n)
		}
		r.refuse(n, "rule-not-allowed", "Not allowed in a rule",
			"%q does not make a value. Compare values, not comparisons, with <, <=, >, >=, ==, != or in, and join "+
				"comparisons with and, or, not.", n.Operator)
		return nil
	}
	r.refuse(n, "rule-not-allowed", "Not allowed in a rule",
		"A rule calls no functions and has no other forms: it compares measured values with numbers, words or each "+
			"other by <, <=, >, >=, ==, != and in, and joins comparisons with and, or and not.")
	return nil
}

// product reads a number times a value, which is all the arithmetic of rules: of anything
// else the distribution is unknown, or a simpler rule says the same.
func (r *reader) product(n *ast.BinaryNode) *plans.Operand {
	left, right := r.operand(n.Left), r.operand(n.Right)
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
	case n.Operator != "*" || !ok || of.Input == nil || of.Factor != 1:
		r.refuse(n, "rule-not-allowed", "Arithmetic in a rule",
			"%s is more than a value, or a number times a value. Compare a value with a multiple of its base, as in "+
				"chat.tg >= 0.97 * chat.tg.base, or each value by itself; numbers are computed in the plan, as in "+
				"${2 * 600}.", text)
	case of.Type != plans.NumberInput:
		r.refuse(n, "rule-type", "Wrong type in a rule", "%q takes a number, but %s is a %s.", n.Operator,
			of.Text, of.Type)
	case factor == 0:
		r.refuse(n, "rule-reads-nothing", "Comparison reads nothing",
			"%s is 0 whatever is measured. Compare a measured value, such as chat.tg.gain >= 10%%.", text)
	default:
		return &plans.Operand{Text: text, Type: plans.NumberInput, Unit: of.Unit, Input: of.Input, Factor: factor}
	}
	return nil
}

// address resolves an identifier or a chain of members.
func (r *reader) address(n ast.Node) *plans.Operand {
	elements := r.elements(n)
	if elements == nil {
		return nil
	}
	in, err := r.ns.Resolve(elements, r.sc)
	if err != nil {
		r.fail(n, err)
		return nil
	}
	if seen := r.seen[in.Path]; seen != nil {
		in = seen
	}
	r.seen[in.Path] = in
	return valueOf(in)
}

// valueOf is an input as a side of a comparison.
func valueOf(in *plans.Input) *plans.Operand {
	return &plans.Operand{Text: in.Path, Type: in.Type, Unit: in.UnitWord(), Input: in, Factor: 1}
}

// elements flattens a.b["c"].d; nil (with an error recorded) if an element is not a
// constant, since nobody could list what such a rule reads.
func (r *reader) elements(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}
	case *ast.MemberNode:
		if property, ok := n.Property.(*ast.StringNode); ok && !n.Optional {
			if path := r.elements(n.Node); path != nil {
				return append(path, property.Value)
			}
			return nil
		}
	}
	r.refuse(n, "rule-not-allowed", "Not an address",
		"An address is names with dots, as in chat.tg or feature[\"name\"].chat.tg: the inputs of a rule must be "+
			"known before anything runs.")
	return nil
}

// listInput is the type of a constant list, which only `in` reads.
const listInput plans.InputType = "list"

// list reads the constants on the right of in.
func (r *reader) list(n ast.Node) *plans.Operand {
	array, ok := n.(*ast.ArrayNode)
	if !ok || len(array.Nodes) == 0 {
		r.refuse(n, "rule-type", "Not a list", "Write a list on the right of in, such as ['pass', 'inconclusive'].")
		return nil
	}
	var values []any
	var texts []string
	var first plans.InputType
	for _, node := range array.Nodes {
		o := r.operand(node)
		switch {
		case o == nil:
			return nil
		case o.Constant == nil || o.Type == plans.BoolInput || o.Unit == plans.RatioUnit || first != "" &&
			o.Type != first:
			r.refuse(node, "rule-not-allowed", "Not a constant", "A list in a rule holds words, or numbers.")
			return nil
		}
		first = o.Type
		values, texts = append(values, o.Constant), append(texts, o.Text)
	}
	return &plans.Operand{Text: "[" + strings.Join(texts, ", ") + "]", Type: listInput, Factor: 1, Constant: values}
}

// compare reads a comparison; nil if it is refused: because it always holds, or holds for
// the wrong reason, or because launches cannot decide it.
func (r *reader) compare(n *ast.BinaryNode, negated bool) *plans.Compare {
	left, read := r.operand(n.Left), r.operand
	if n.Operator == "in" {
		read = r.list
	}
	right := read(n.Right)
	if left == nil || right == nil {
		return nil
	}
	c, err := newCompare(left, n.Operator, right, negated)
	if err != nil {
		r.fail(n, err)
		return nil
	}
	c.At, c.Length = edge(n, true).Location().From, 1
	if to := edge(n, false).Location().To; to > c.At {
		c.Length = to - c.At
	}
	if c.Metric == nil && !r.knownWords(n, c) {
		return nil
	}
	return c
}

// knownWords refuses words that an input can never be: levels.kernels != "failed" would
// always hold.
func (r *reader) knownWords(n *ast.BinaryNode, c *plans.Compare) bool {
	in := c.Inputs()[0]
	words := decidedWords
	switch {
	case in.Type != plans.WordInput, in.Kind == plans.InputObserved && in.Words == "":
		return true // what engines may report is unknown
	case in.Kind == plans.InputObserved:
		words = strings.Split(in.Words, ",")
	case in.Kind == plans.InputKnob:
		words = r.ns.Knobs[in.Name].ValueNames()
	}
	constants := []ast.Node{n.Left, n.Right}
	if list, ok := n.Right.(*ast.ArrayNode); ok {
		constants = append(constants, list.Nodes...)
	}
	known := true
	for _, constant := range constants {
		s, ok := constant.(*ast.StringNode)
		if !ok || slices.Contains(words, s.Value) {
			continue
		}
		known = false
		why := ""
		switch verdicts := in.Kind == plans.InputLevel || in.Kind == plans.InputFeature; {
		case verdicts && s.Value == string(verdict.Waived):
			why = " Only gates are waived, and a waiver changes no verdict that a rule reads."
		case verdicts && verdict.Verdict(s.Value).Known():
			why = " A verdict of invalid or error is not evidence: a rule that reads it gets that verdict."
		}
		r.refuse(constant, "unknown-word", "Unknown word", "%s is one of %s, never %q.%s%s", in.Path,
			strings.Join(words, ", "), s.Value, why, lang.DidYouMean(s.Value, words))
	}
	return known
}

// decidedWords are the verdicts that a rule can see, of a level as of a feature: neither
// is ever waived.
var decidedWords = func() (words []string) {
	for _, w := range verdict.Words() {
		if v := verdict.Verdict(w); v.Decided() && v != verdict.Waived {
			words = append(words, w)
		}
	}
	return words
}()

// Wrong is a mistake: what it is in a word, and in sentences what is wrong and what to do.
func Wrong(code, summary, format string, args ...any) *Error {
	return &Error{At: -1, Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)}
}
