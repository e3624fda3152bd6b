package plans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// operators of a rule. Comparisons make its leaves.
var (
	comparisons = wordSet("< <= > >= == != in")
	operators   = wordSet("+ - * /")
	logic       = wordSet("and or && ||")
)

// builtins that a rule may call. Those over collections are left out: all([])
// is true and median([]) is zero, and a rule's inputs are single values.
var builtins = []string{"abs", "max", "min"}

// reader walks a parsed rule once: it refuses what is not plainly a value,
// resolves every address, checks types and units, and puts a plain variable in
// each address's place. expr-lang accepts much more than a rule needs (let,
// predicates, optional chaining, dynamic members), and each of these lets a
// rule pass on an input that nobody saw.
type reader struct {
	ns   *namespace
	sc   *scope
	p    *Program
	text []rune
	seen map[string]*Input
	// done are the arithmetic nodes that were read: 0 < a + b < 1 is parsed to
	// two comparisons that share a + b, and addresses are replaced only once.
	done map[ast.Node]*Operand
	errs []*ruleError
}

func (r *reader) refuse(n ast.Node, summary, format string, args ...any) {
	from, to := span(n)
	r.errs = append(r.errs, &ruleError{at: from, length: max(1, to-from), summary: summary, detail: fmt.Sprintf(format, args...)})
}

// condition reads what must be true or false: the rule as a whole, and what
// and, or and not join. It is nil where an error was recorded.
func (r *reader) condition(n *ast.Node, negated bool) *Logic {
	switch node := (*n).(type) {
	case *ast.UnaryNode:
		if denies(node) {
			return r.condition(&node.Node, !negated)
		}
	case *ast.BinaryNode:
		if logic[node.Operator] {
			op := LogicOr
			if (node.Operator == "and" || node.Operator == "&&") != negated {
				op = LogicAnd // not (a or b) is not a and not b
			}
			left := r.condition(&node.Left, negated)
			return joinLogic(op, left, r.condition(&node.Right, negated))
		}
		if comparisons[node.Operator] {
			if leaf := r.compare(node, negated); leaf != nil {
				return &Logic{Op: LogicCompare, Leaf: leaf, Negated: negated}
			}
			return nil
		}
	}
	o := r.operand(n)
	switch {
	case o == nil:
	case o.Type != BoolInput:
		r.refuse(*n, "Not a yes or no", "%s is a %s. A rule must compare: write for example %s.", o.Text, o.Type, example(o))
	case o.Input == nil:
		r.refuse(*n, "Constant in a rule", "%s says the same whatever is measured. Remove it.", o.Text)
	default:
		return &Logic{Op: LogicTruth, Truth: o.Input, Negated: negated}
	}
	return nil
}

func denies(n *ast.UnaryNode) bool { return n.Operator == "not" || n.Operator == "!" }

func example(o *Operand) string {
	if o.Type == WordInput {
		return o.Text + " == 'pass'"
	}
	return o.Text + " >= 0.10"
}

// operand reads one side of a comparison; nil when an error was recorded.
func (r *reader) operand(n *ast.Node) *Operand {
	switch node := (*n).(type) {
	case *ast.IntegerNode:
		// Whole numbers wrap around where they overflow; a rule knows one kind.
		f := &ast.FloatNode{Value: float64(node.Value)}
		o := &Operand{Text: r.source(node), Type: NumberInput, Constant: f.Value}
		ast.Patch(n, f)
		return o
	case *ast.FloatNode:
		return &Operand{Text: r.source(node), Type: NumberInput, Constant: node.Value}
	case *ast.StringNode:
		return &Operand{Text: r.source(node), Type: WordInput, Constant: node.Value}
	case *ast.BoolNode:
		return &Operand{Text: r.source(node), Type: BoolInput, Constant: node.Value}
	case *ast.IdentifierNode, *ast.MemberNode:
		return r.address(n)
	case *ast.UnaryNode:
		if denies(node) {
			r.refuse(node, "Misplaced not", "not stands in front of a whole comparison, in brackets: not (chat.tg.gain >= 0.10).")
			return nil
		}
		return r.compute(node, node.Operator, []*ast.Node{&node.Node})
	case *ast.BinaryNode:
		switch {
		case operators[node.Operator]:
			return r.compute(node, node.Operator, []*ast.Node{&node.Left, &node.Right})
		case comparisons[node.Operator], logic[node.Operator]:
			r.refuse(node, "Comparison inside a value", "Compare values, not comparisons, and join comparisons with and, or, not.")
			return nil
		}
		r.refuse(node, "Operator not allowed in a rule", "%q is not one of <, <=, >, >=, ==, !=, in, and, or, not, +, -, *, /.", node.Operator)
		return nil
	case *ast.BuiltinNode:
		return r.call(node, node.Name, node.Arguments)
	case *ast.CallNode:
		if f, ok := node.Callee.(*ast.IdentifierNode); ok {
			return r.call(node, f.Value, node.Arguments)
		}
	}
	r.refuseNode(*n)
	return nil
}

// refuseNode refuses what no rule has, in words where people are likely to try.
func (r *reader) refuseNode(n ast.Node) {
	switch n.(type) {
	case *ast.NilNode:
		r.refuse(n, "nil in a rule", "A rule is only decided when every value it reads is present, so there is nothing to compare with nil.")
	case *ast.ChainNode:
		r.refuse(n, "Optional chaining in a rule", "Write . instead of ?. : a value that is absent never counts as a pass, so there is nothing to skip.")
	case *ast.ConditionalNode:
		r.refuse(n, "Conditional in a rule", "Write the condition with and / or, or choose between two rules in the plan with a variable.")
	default:
		r.refuse(n, "Not allowed in a rule", "A rule compares measured values with numbers, words and each other: use <, <=, >, >=, ==, !=, in, and, or, not, + - * / and abs, min, max.")
	}
}

func (r *reader) call(n ast.Node, name string, args []ast.Node) *Operand {
	if !slices.Contains(builtins, name) {
		r.refuse(n, "Unknown function", "A rule may call %s; %s is not one of them.%s", strings.Join(builtins, ", "), name, didYouMean(name, builtins))
		return nil
	}
	if one := name == "abs"; one != (len(args) == 1) || len(args) == 0 {
		r.refuse(n, "Wrong number of arguments", "abs takes one number, max and min take two or more.")
		return nil
	}
	nodes := make([]*ast.Node, len(args))
	for i := range args {
		nodes[i] = &args[i]
	}
	return r.compute(n, name, nodes)
}

// compute reads arithmetic.
func (r *reader) compute(n ast.Node, op string, nodes []*ast.Node) *Operand {
	if o, ok := r.done[n]; ok {
		return o
	}
	r.done[n] = nil
	var args []*Operand
	for _, arg := range nodes {
		switch o := r.operand(arg); {
		case o == nil:
		case o.Type != NumberInput:
			r.refuse(*arg, "Wrong type in a rule", "%q takes a number, and %s is a %s.", op, o.Text, o.Type)
		default:
			args = append(args, o)
		}
	}
	if len(args) < len(nodes) {
		return nil
	}
	unit, ok := unitOf(op, args)
	if !ok {
		r.refuse(n, "Units do not match", "%s mixes %s.", spelled(op, args), unitsOf(args))
		return nil
	}
	o := &Operand{Text: spelled(op, args), Type: NumberInput, Unit: unit, Op: op, Args: args}
	if len(o.Inputs()) == 0 {
		v, err := o.Value(nil)
		if err != nil {
			r.refuse(n, "Not a number", "%s.", err)
			return nil
		}
		o = &Operand{Text: o.Text, Type: NumberInput, Constant: v}
	}
	r.done[n] = o
	return o
}
