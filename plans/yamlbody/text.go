package yamlbody

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"
)

func (b *builder) scalarNode(n *Node, y *yaml.Node, from int) {
	quotes := 0
	if y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		quotes = 1
	}
	n.Text, n.Range = y.Value, b.scalar(from, y.Value, quotes)
	if quotes == 0 && y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && b.plain(n, y) {
		return
	}
	n.IsText = true
	t := &text{
		ParenthesesExpr: &hclsyntax.ParenthesesExpr{
			Expression: literal(cty.StringVal(n.Text), n.Range),
			SrcRange:   n.Range,
		},
		value: n.Text, start: b.pos(from + quotes), asWritten: b.asWritten(from+quotes, n.Text),
		guard: b.guard,
	}
	n.Expr = t
	switch {
	case !strings.Contains(n.Text, "${") && !strings.Contains(n.Text, "%{"):
	case strings.Contains(strings.ReplaceAll(n.Text, "\r\n", ""), "\r"):
		// HCL's scanner reads everything after one as text, including sequences.
		b.fail(n.Range, "invalid-yaml", "Carriage return in template",
			`A text with ${ } or %%{ } cannot contain a raw carriage return. Write it as ${"\r"}.`)
	default:
		expr, diags := t.parse(hclsyntax.LexTemplate, hclsyntax.ParseTemplate)
		b.diags = append(b.diags, diags...)
		if wrap, ok := expr.(*hclsyntax.TemplateWrapExpr); ok {
			expr = wrap.Wrapped // it has the type of its content
		}
		if !diags.HasErrors() {
			t.Expression = expr
		}
	}
}

// decimal is the one form of number that YAML 1.1, YAML 1.2 and HCL agree about.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// plain reads an unquoted scalar that is no text; false if it is one.
func (b *builder) plain(n *Node, y *yaml.Node) bool {
	switch {
	case y.Tag == "!!null":
	case y.Tag == "!!bool":
		n.Expr = literal(cty.BoolVal(strings.EqualFold(y.Value, "true")), n.Range)
	case decimal.MatchString(y.Value): // a number that no float holds is tagged as text
		v, err := cty.ParseNumberVal(y.Value)
		if err != nil {
			return false
		}
		n.Expr = literal(v, n.Range)
	case y.Tag == "!!int", y.Tag == "!!float":
		b.fail(n.Range, "yaml-value", "Ambiguous number",
			"YAML parsers disagree on the meaning of %s. Write a decimal number, such as 8, -0.5 or 1e6; if it is "+
				"meant as text, put it in quotes: %q.", n.Text, n.Text)
	default:
		return false // YAML 1.2 has no dates; what looks like one is text
	}
	return true
}

// Guard checks what a text consists of before HCL's parser sees it; nil if it may be
// parsed.
type Guard func(hclsyntax.Tokens) *hcl.Diagnostic

// text is a text as a value. It is in parentheses, so what is in them can be
// exchanged once it is known that the text is a name.
type text struct {
	*hclsyntax.ParenthesesExpr
	value string
	// start is where the text begins. Unless it is asWritten, what is in it has no places
	// of its own.
	start     hcl.Pos
	asWritten bool
	guard     Guard
}

// parse reads the text as a template or an expression.
func (t *text) parse(
	lex func([]byte, string, hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics),
	parse func([]byte, string, hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics),
) (expr hclsyntax.Expression, diags hcl.Diagnostics) {
	tokens, _ := lex([]byte(t.value), t.SrcRange.Filename, t.start)
	if refused := t.guard(tokens); refused != nil {
		diags = hcl.Diagnostics{refused}
	} else {
		expr, diags = parse([]byte(t.value), t.SrcRange.Filename, t.start)
	}
	if t.asWritten {
		return expr, diags
	}
	for _, d := range diags {
		d.Subject, d.Context = t.SrcRange.Ptr(), nil
	}
	if expr != nil {
		_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
			placeAt(reflect.ValueOf(n), t.SrcRange)
			return nil
		})
	}
	return expr, diags
}

func placeAt(node reflect.Value, at hcl.Range) {
	if node.Kind() != reflect.Pointer {
		return
	}
	for i := range node.Elem().NumField() {
		field := node.Elem().Field(i)
		if !field.CanSet() {
			continue
		}
		switch value := field.Addr().Interface().(type) {
		case *hcl.Range:
			*value = at
		case *hcl.Traversal:
			for j, step := range *value {
				switch step := step.(type) {
				case hcl.TraverseRoot:
					step.SrcRange = at
					(*value)[j] = step
				case hcl.TraverseAttr:
					step.SrcRange = at
					(*value)[j] = step
				case hcl.TraverseIndex:
					step.SrcRange = at
					(*value)[j] = step
				}
			}
		}
	}
}

func (t *text) UnwrapExpression() hcl.Expression { return t.Expression }

// name is the text read as an expression, which it is where only a name or a call is
// possible.
func (t *text) name() hclsyntax.Expression {
	if _, plain := t.Expression.(*hclsyntax.LiteralValueExpr); plain {
		if expr, diags := t.parse(hclsyntax.LexExpression, hclsyntax.ParseExpression); !diags.HasErrors() {
			return expr
		}
	}
	return t.Expression
}

func (t *text) AsTraversal() hcl.Traversal {
	name, _ := hcl.AbsTraversalForExpr(t.name())
	return name
}

func (t *text) ExprCall() *hcl.StaticCall {
	call, _ := hcl.ExprCall(t.name())
	return call
}

// ReadReferences makes an expression, and the elements of a list, read text without ${ }
// as the name of something: "engine: engine.embedded.tiny". It is for places where text
// has no meaning of its own. A name of one word counts only if it is one of those given:
// any other is more likely meant as text. It reports whether this is new; an expression
// that is not from a YAML file is left alone.
func ReadReferences(expr hcl.Expression, words ...string) (changed bool) {
	var list []hclsyntax.Expression
	hcl.UnwrapExpressionUntil(expr, func(e hcl.Expression) bool {
		switch e := e.(type) {
		case *text:
			list = []hclsyntax.Expression{e}
		case *hclsyntax.TupleConsExpr:
			list = e.Exprs
		}
		return list != nil
	})
	for _, e := range list {
		t, is := e.(*text)
		if !is {
			continue
		}
		expr := t.name()
		if name, _ := hcl.AbsTraversalForExpr(expr); expr != t.Expression &&
			(len(name) > 1 || len(name) == 1 && slices.Contains(words, name.RootName())) {
			t.Expression, changed = expr, true
		}
	}
	return changed
}
