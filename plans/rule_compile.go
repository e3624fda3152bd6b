package plans

import (
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
)

// compile reads, resolves and compiles one rule strictly. Mistakes carry rune
// offsets into src.
func (ns *namespace) compile(src string, sc *scope) (*Program, []*ruleError) {
	if err := lexicalLimits(src); err != nil {
		return nil, []*ruleError{err}
	}
	config := conf.CreateNew()
	config.MaxNodes = maxRuleNodes
	tree, err := parser.ParseWithConfig(src, config)
	if err != nil {
		return nil, []*ruleError{fromExpr(err)}
	}
	p := &Program{}
	r := &reader{ns: ns, sc: sc, p: p, seen: map[string]*Input{}}
	result := r.walk(&tree.Node)
	whole := &ruleError{at: 0, length: len([]rune(src))}
	switch {
	case len(r.errs) > 0:
		return nil, r.errs
	case len(p.Inputs) == 0:
		whole.summary = "Rule reads nothing"
		whole.detail = "This rule would say the same whatever is measured. Compare a metric, such as chat.tg.gain >= 0.10."
		return nil, []*ruleError{whole}
	case result != BoolInput:
		whole.summary = "Rule is not a yes or no"
		whole.detail = "A rule must compare: write for example " + strings.TrimSpace(src) + " >= 0.10."
		return nil, []*ruleError{whole}
	}
	if err := p.compile(tree.Node, r.leaves); err != nil {
		e := fromExpr(err)
		e.at = -1
		return nil, []*ruleError{e}
	}
	return p, nil
}

// compile builds the virtual machine's programs for the rule and for both sides
// of each comparison.
func (p *Program) compile(root ast.Node, leaves []*ast.BinaryNode) error {
	options := p.options()
	vm, err := expr.Compile(root.String(), append(options, expr.AsBool(), expr.WarnOnAny())...)
	if err != nil {
		return err
	}
	p.VM = vm
	for i, n := range leaves {
		if err := p.Leaves[i].Left.compile(n.Left, p, options); err != nil {
			return err
		}
		if err := p.Leaves[i].Right.compile(n.Right, p, options); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operand) compile(n ast.Node, p *Program, options []expr.Option) error {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		for _, in := range p.Inputs {
			if in.Var == n.Value {
				o.Input = in
			}
		}
		return nil
	case *ast.IntegerNode:
		o.Constant = float64(n.Value)
		return nil
	case *ast.FloatNode:
		o.Constant = n.Value
		return nil
	case *ast.StringNode:
		o.Constant = n.Value
		return nil
	}
	vm, err := expr.Compile(n.String(), options...)
	o.VM = vm
	return err
}

// options are strict on purpose: a typed environment, nothing but the
// allow-listed builtins, and no option that installs a visitor, since with one
// present the checker lets unknown fields inside call arguments through.
func (p *Program) options() []expr.Option {
	env := types.Map{}
	for _, in := range p.Inputs {
		switch in.Type {
		case WordInput:
			env[in.Var] = types.String
		case BoolInput:
			env[in.Var] = types.Bool
		default:
			env[in.Var] = types.Float64
		}
	}
	options := []expr.Option{expr.Env(env), expr.DisableAllBuiltins(), expr.MaxNodes(maxRuleNodes), expr.Optimize(false)}
	for _, b := range builtins {
		options = append(options, expr.EnableBuiltin(b))
	}
	return options
}
