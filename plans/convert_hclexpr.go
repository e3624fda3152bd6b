package plans

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans/yamlbody"
)

// value is a node as an expression.
func (w *hclWriter) value(n *yamlbody.Node, as role) string {
	switch n.Kind {
	case yamlbody.List:
		return w.list(n, as)
	case yamlbody.Map:
		return w.object(n)
	}
	if v, ok := n.Literal(); ok && !n.IsText {
		return literalText(n, v)
	}
	text, expr, whole := n.Whole()
	_, name := n.Name()
	switch {
	case whole && as == staticRole:
		return strings.TrimSpace(text)
	case whole && (as == nameRole || n.Style != yamlbody.Quoted || neverPrimitive(expr)):
		return onOneLine(text, expr)
	case !n.Template() && as == staticRole:
		return strings.TrimSpace(n.Text)
	case !n.Template() && as == nameRole && name:
		return onOneLine(n.Text, nil)
	}
	return w.template(n.Text)
}

func literalText(n *yamlbody.Node, v cty.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case v.Type() == cty.Bool:
		return strconv.FormatBool(v.True())
	}
	return n.Text
}

// onOneLine puts parentheses around an expression of several lines, unless it
// has brackets of its own.
func onOneLine(text string, expr hclsyntax.Expression) string {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "<<") && strings.Contains(text, "\n") {
		return "(" + text + "\n)"
	}
	if !strings.Contains(text, "\n") {
		return text
	}
	switch expr.(type) {
	case *hclsyntax.ForExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr, *hclsyntax.FunctionCallExpr, *hclsyntax.ParenthesesExpr:
		return text
	}
	return "(" + text + ")"
}

// neverPrimitive tells expressions that are no text, number or truth value, so
// that quotes around them mean nothing: lists, maps and references to blocks.
func neverPrimitive(expr hclsyntax.Expression) bool {
	switch e := expr.(type) {
	case *hclsyntax.ForExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr:
		return true
	case *hclsyntax.ConditionalExpr:
		return neverPrimitive(e.TrueResult) && neverPrimitive(e.FalseResult)
	case *hclsyntax.ScopeTraversalExpr:
		root := e.Traversal.RootName()
		return root == "baseline" || root == "accepted" || slices.Contains(referable, root)
	}
	return false
}

func (w *hclWriter) list(n *yamlbody.Node, as role) string {
	var items []string
	inline, length := true, 0
	for _, item := range n.Items {
		text := w.value(item, as)
		items = append(items, text)
		length += len(text) + 2
		inline = inline && item.Kind == yamlbody.Scalar && item.Comments == (yamlbody.Comments{}) && !strings.Contains(text, "\n")
	}
	if inline && length < 80 || len(items) == 0 {
		return "[" + strings.Join(items, ", ") + "]"
	}
	var b strings.Builder
	b.WriteString("[\n")
	for i, item := range n.Items {
		b.WriteString(commentLines(item.Comments.Head) + items[i] + separated(items[i]))
		b.WriteString(lineComment(item.Comments.Line) + "\n" + commentLines(item.Comments.Foot))
	}
	return b.String() + "]"
}

func (w *hclWriter) object(n *yamlbody.Node) string {
	if len(n.Entries) == 0 {
		return "{}"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, e := range n.Entries {
		text := w.value(e.Value, valueRole)
		b.WriteString(commentLines(e.Comments.Head) + w.key(e.Key) + " = " + text)
		b.WriteString(lineComment(e.Comments.Line) + "\n" + commentLines(e.Comments.Foot))
	}
	inner := b.String()
	if len(n.Entries) == 1 && strings.Count(inner, "\n") == 2 && !strings.Contains(inner, "#") {
		return "{ " + strings.TrimSpace(inner[2:]) + " }"
	}
	return inner + "}"
}

// key is a key of a map.
func (w *hclWriter) key(n *yamlbody.Node) string {
	if text, _, ok := n.Whole(); ok {
		return "(" + text + ")"
	}
	if hclsyntax.ValidIdentifier(n.Text) && n.Text != "for" && !reservedWord[n.Text] {
		return n.Text
	}
	if strings.Contains(n.Text, "\n") {
		return "(" + quotedTemplate(n.Text) + ")"
	}
	return quotedTemplate(n.Text)
}

func commentLines(text string) string {
	if text == "" {
		return ""
	}
	return text + "\n"
}

func lineComment(text string) string {
	if text == "" {
		return ""
	}
	return " " + strings.ReplaceAll(text, "\n", " ")
}
