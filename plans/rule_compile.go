package plans

import (
	"reflect"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
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
	tree, err := parser.ParseWithConfig(src, &conf.Config{MaxNodes: maxRuleNodes})
	if err != nil {
		return nil, []*ruleError{fromExpr(err, src)}
	}
	r := &reader{ns: ns, sc: sc, p: &Program{}, text: []rune(src), seen: map[string]*Input{}, done: map[ast.Node]*Operand{}}
	r.p.Logic = r.condition(&tree.Node, false)
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	if !r.p.measures() {
		r.refuse(tree.Node, "Rule reads nothing", "This rule would say the same whatever is measured. Compare a metric, such as chat.tg.gain >= 0.10.")
		return nil, r.errs
	}
	if err := r.p.assemble(tree); err != nil {
		return nil, []*ruleError{fromExpr(err, src)}
	}
	return r.p, nil
}

func (p *Program) measures() bool {
	for _, in := range p.Inputs {
		if in.Measured() {
			return true
		}
	}
	return false
}

// assemble makes the virtual machine's program. The configuration is strict on
// purpose: a typed environment of the rule's own inputs, a boolean result,
// nothing but the allow-listed builtins, no optimisation, and no visitor, since
// with one present the checker lets unknown fields inside call arguments
// through. The tree is the one that was read, so nothing is printed and parsed
// again in between.
func (p *Program) assemble(tree *parser.Tree) error {
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
	config := &conf.Config{MaxNodes: maxRuleNodes, Expect: reflect.Bool, Builtins: allowed}
	config.WithEnv(env)
	if _, err := checker.Check(tree, config); err != nil {
		return err
	}
	program, err := compiler.Compile(tree, config)
	p.VM = program
	return err
}

// allowed are the builtins by name; it is only read.
var allowed = func() conf.FunctionsTable {
	table := conf.FunctionsTable{}
	for _, name := range builtins {
		table[name] = builtin.Builtins[builtin.Index[name]]
	}
	return table
}()
