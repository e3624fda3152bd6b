package plans

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// operators of a rule. Comparisons make its leaves.
var (
	comparisons = []string{"<", "<=", ">", ">=", "==", "!=", "in"}
	arithmetic  = []string{"+", "-", "*", "/"}
	logic       = []string{"and", "or", "&&", "||"}
)

// builtins that a rule may call. Those over collections are left out: all([])
// is true and median([]) is zero, and a rule's inputs are single values.
var builtins = []string{"abs", "max", "min"}

// listInput is the type of a constant list, which only `in` reads.
const listInput InputType = "list"

// reader walks a parsed rule once: it refuses what is not plainly a value,
// resolves every address, checks types, and puts a plain variable in each
// address's place. expr-lang accepts much more than a rule needs (let,
// predicates, optional chaining, dynamic members), and each of these lets a
// rule pass on an input that nobody saw.
type reader struct {
	ns   *namespace
	sc   *scope
	p    *Program
	seen map[string]*Input
	// leaves are compiled once all variables are in place.
	leaves []*ast.BinaryNode
	errs   []*ruleError
}

func (r *reader) refuse(n ast.Node, summary, detail string) InputType {
	loc := n.Location()
	r.errs = append(r.errs, &ruleError{at: loc.From, length: max(1, loc.To-loc.From), summary: summary, detail: detail})
	return ""
}

// walk returns the type of *n; empty where an error was already recorded.
func (r *reader) walk(n *ast.Node) InputType {
	switch node := (*n).(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return NumberInput
	case *ast.StringNode:
		return WordInput
	case *ast.BoolNode:
		return BoolInput
	case *ast.IdentifierNode, *ast.MemberNode:
		return r.address(n)
	case *ast.UnaryNode:
		return r.unary(node)
	case *ast.BinaryNode:
		return r.binary(node)
	case *ast.ArrayNode:
		return r.list(node)
	case *ast.BuiltinNode:
		return r.call(node, node.Name, node.Arguments)
	case *ast.CallNode:
		return r.call(node, node.Callee.String(), node.Arguments)
	case *ast.NilNode:
		return r.refuse(node, "nil in a rule", "A rule is only decided when every value it reads is present, so there is nothing to compare with nil.")
	case *ast.ChainNode:
		return r.refuse(node, "Optional chaining in a rule", "Write . instead of ?. : a value that is absent never counts as a pass, so there is nothing to skip.")
	case *ast.ConditionalNode:
		return r.refuse(node, "Conditional in a rule", "Write the condition with and / or, or choose between two rules in the plan with a variable.")
	default:
		return r.refuse(node, "Not allowed in a rule", "A rule compares measured values with numbers, words and each other: use <, <=, >, >=, ==, !=, in, and, or, not, + - * / and abs, min, max.")
	}
}

func (r *reader) unary(n *ast.UnaryNode) InputType {
	want := NumberInput
	if n.Operator == "not" || n.Operator == "!" {
		want = BoolInput
	}
	return r.expect(n, n.Operator, &n.Node, want, want)
}

// expect walks an operand and checks its type.
func (r *reader) expect(at ast.Node, operator string, operand *ast.Node, want, result InputType) InputType {
	text := (*operand).String()
	got := r.walk(operand)
	if got == "" {
		return ""
	}
	if got != want {
		return r.refuse(at, "Wrong type in a rule", fmt.Sprintf("%q takes a %s, and %s is a %s.", operator, want, text, got))
	}
	return result
}

func (r *reader) binary(n *ast.BinaryNode) InputType {
	switch {
	case contains(logic, n.Operator):
		return both(r.expect(n, n.Operator, &n.Left, BoolInput, BoolInput), r.expect(n, n.Operator, &n.Right, BoolInput, BoolInput))
	case contains(arithmetic, n.Operator):
		return both(r.expect(n, n.Operator, &n.Left, NumberInput, NumberInput), r.expect(n, n.Operator, &n.Right, NumberInput, NumberInput))
	case contains(comparisons, n.Operator):
		return r.compare(n)
	}
	return r.refuse(n, "Operator not allowed in a rule", fmt.Sprintf("%q is not one of <, <=, >, >=, ==, !=, in, and, or, not, +, -, *, /.", n.Operator))
}

func both(a, b InputType) InputType {
	if a == "" || b == "" {
		return ""
	}
	return a
}

func (r *reader) compare(n *ast.BinaryNode) InputType {
	leaf := &Leaf{Text: n.String(), Op: n.Operator, Left: &Operand{Text: n.Left.String()}, Right: &Operand{Text: n.Right.String()}}
	left := r.walk(&n.Left)
	right := r.walk(&n.Right)
	if both(left, right) == "" {
		return ""
	}
	switch {
	case n.Operator == "in":
		if right != listInput {
			return r.refuse(n, "Wrong type in a rule", "Write a list on the right of in, such as [\"pass\", \"waived\"].")
		}
	case left != right:
		return r.refuse(n, "Cannot compare", fmt.Sprintf("%s is a %s and %s is a %s.", leaf.Left.Text, left, leaf.Right.Text, right))
	case left != NumberInput && n.Operator != "==" && n.Operator != "!=":
		return r.refuse(n, "Cannot order", fmt.Sprintf("%s is a %s: compare it with == or !=.", leaf.Left.Text, left))
	}
	if r.unknownWord(n) {
		return ""
	}
	r.p.Leaves = append(r.p.Leaves, leaf)
	r.leaves = append(r.leaves, n)
	return BoolInput
}

func (r *reader) list(n *ast.ArrayNode) InputType {
	if len(n.Nodes) == 0 {
		return r.refuse(n, "Empty list", "Nothing is in an empty list; name the values to compare with, such as [\"pass\", \"waived\"].")
	}
	for i := range n.Nodes {
		switch n.Nodes[i].(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode:
		default:
			return r.refuse(n.Nodes[i], "Not a constant", "A list in a rule holds words or numbers.")
		}
	}
	return listInput
}

func (r *reader) call(n ast.Node, name string, args []ast.Node) InputType {
	if !contains(builtins, name) {
		return r.refuse(n, "Unknown function", fmt.Sprintf("A rule may call %s; %s is not one of them.", strings.Join(builtins, ", "), name))
	}
	result := NumberInput
	if len(args) == 0 {
		return r.refuse(n, "Missing argument", fmt.Sprintf("Write %s(value).", name))
	}
	for i := range args {
		result = both(result, r.expect(n, name, &args[i], NumberInput, NumberInput))
	}
	return result
}
