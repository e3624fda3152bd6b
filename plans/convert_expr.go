package plans

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"
)

func (w *yamlWriter) attribute(a *hclsyntax.Attribute, doc *BlockDoc) *yaml.Node {
	switch doc.roleOf(a.Name) {
	case nameRole:
		return w.names(a.Expr)
	case staticRole:
		w.skip(a.Expr.Range().End.Byte)
		return textNode(w.text(a.Expr))
	}
	return w.value(a.Expr)
}

// text is the expression as it is written.
func (w *yamlWriter) text(expr hclsyntax.Expression) string {
	r := expr.Range()
	return strings.ReplaceAll(string(w.src[r.Start.Byte:r.End.Byte]), "\r\n", "\n")
}

// names writes a reference or a list of them: names need no ${ }.
func (w *yamlWriter) names(expr hclsyntax.Expression) *yaml.Node {
	if list, ok := expr.(*hclsyntax.TupleConsExpr); ok {
		return w.list(list, w.names)
	}
	if _, diags := hcl.AbsTraversalForExpr(expr); !diags.HasErrors() {
		text := w.text(expr)
		if !strings.ContainsAny(text, "\n\"$%") && !reservedWord[text] {
			return textNode(text)
		}
	}
	return w.value(expr)
}

var reservedWord = map[string]bool{"null": true, "true": true, "false": true}

// decimalNumber is a number that is one in both syntaxes.
var decimalNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// value writes an expression: what YAML has words for in these, and anything
// else as ${…}.
func (w *yamlWriter) value(expr hclsyntax.Expression) *yaml.Node {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		if n := literalNode(e.Val); n != nil {
			return n
		}
	case *hclsyntax.UnaryOpExpr:
		if n, ok := e.Val.(*hclsyntax.LiteralValueExpr); ok && e.Op == hclsyntax.OpNegate && n.Val.Type() == cty.Number {
			if v := literalNode(n.Val.Negate()); v != nil {
				return v
			}
		}
	case *hclsyntax.ParenthesesExpr:
		n := w.value(e.Expression)
		w.skip(e.SrcRange.End.Byte)
		return n
	case *hclsyntax.TupleConsExpr:
		return w.list(e, w.value)
	case *hclsyntax.ObjectConsExpr:
		return w.object(e)
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr:
		w.skip(expr.Range().End.Byte)
		text := w.template(expr)
		n := textNode(text)
		if _, whole := e.(*hclsyntax.TemplateWrapExpr); whole {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	}
	w.skip(expr.Range().End.Byte)
	return bareNode(w.text(expr))
}

// literalNode is a literal as YAML writes it, nil for what it has no word for.
// Without a tag, the encoder writes it as it stands.
func literalNode(v cty.Value) *yaml.Node {
	text := ""
	switch {
	case v.IsNull():
		text = "null"
	case v.Type() == cty.Bool:
		text = strconv.FormatBool(v.True())
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		if text = f.Text('f', -1); len(text) > maxNumber {
			text = f.Text('g', -1)
		}
		if !decimalNumber.MatchString(text) || len(text) > maxNumber {
			return nil
		}
	default:
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
}

// bareNode is an expression that stood without quotes. Quotes would say that
// text is meant, so where YAML cannot read it without, it becomes a block of
// text.
func bareNode(text string) *yaml.Node {
	if strings.Contains(text, "<<") {
		text += "\n" // the end of a heredoc stands on a line of its own
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "${" + text + "}"}
	switch {
	case !blockText(n.Value):
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(text, "\n"), strings.Contains(text, ": "), strings.Contains(text, " #"):
		n.Style = yaml.LiteralStyle
	}
	return n
}

func (w *yamlWriter) list(e *hclsyntax.TupleConsExpr, write func(hclsyntax.Expression) *yaml.Node) *yaml.Node {
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	inline, length := true, 0
	for _, elem := range e.Exprs {
		head := w.before(elem.Range().Start.Byte)
		n := write(elem)
		n.HeadComment, n.LineComment = head, w.behind(elem.Range().End)
		seq.Content = append(seq.Content, n)
		length += len(n.Value) + 2
		inline = inline && n.Kind == yaml.ScalarNode && head+n.LineComment == "" && n.Style&yaml.LiteralStyle == 0 && !strings.ContainsAny(n.Value, "\n{}$")
	}
	if rest := w.before(e.SrcRange.End.Byte); rest != "" {
		seq.FootComment, inline = rest, false
	}
	if inline && length < 80 {
		seq.Style = yaml.FlowStyle
	}
	return seq
}

func (w *yamlWriter) object(e *hclsyntax.ObjectConsExpr) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, pair := range e.Items {
		head := w.before(pair.KeyExpr.Range().Start.Byte)
		key := w.key(pair.KeyExpr)
		value := w.value(pair.ValueExpr)
		key.HeadComment = head
		value.LineComment = w.behind(pair.ValueExpr.Range().End)
		node.Content = append(node.Content, key, value)
	}
	if rest := w.before(e.SrcRange.End.Byte); rest != "" {
		if n := len(node.Content); n > 0 {
			node.Content[n-2].FootComment = rest
		}
	}
	return node
}

// key writes a key of a map.
func (w *yamlWriter) key(expr hclsyntax.Expression) *yaml.Node {
	inner := expr
	if k, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hcl.ExprAsKeyword(k); word != "" && !k.ForceNonLiteral {
			return textNode(escapeTemplate(word))
		}
		inner = k.Wrapped
	}
	n := w.value(inner)
	if n.Kind == yaml.ScalarNode && n.Tag != "!!str" {
		n = textNode(n.Value)
	}
	if n.Style == yaml.LiteralStyle || n.Kind != yaml.ScalarNode {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "${" + w.text(inner) + "}", Style: yaml.DoubleQuotedStyle}
	}
	return n
}
