package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

// hclWriter writes the tree of a YAML file as HCL.
type hclWriter struct {
	b     strings.Builder
	diags hcl.Diagnostics
}

func (w *hclWriter) file(root *yamlbody.Node, doc *lang.BlockDoc) []byte {
	w.comment(root.Comments.Head)
	if root.Comments.Head != "" {
		w.b.WriteByte('\n')
	}
	w.body(root, doc)
	w.comment(root.Comments.Foot)
	return hclwrite.Format([]byte(strings.TrimLeft(w.b.String(), "\n")))
}

func (w *hclWriter) fail(at hcl.Range, code, summary, detail string) {
	w.diags = append(w.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Extra: lang.Coded(code), Summary: summary, Detail: detail, Subject: &at})
}

// comment writes comments on their own lines.
func (w *hclWriter) comment(text string) {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			w.b.WriteString(line + "\n")
		}
	}
}

func (w *hclWriter) body(n *yamlbody.Node, doc *lang.BlockDoc) {
	for i, e := range n.Entries {
		header := headerOf(doc, e.Key.Text)
		if header != nil {
			w.blocks(e, header, doc, i == 0)
			continue
		}
		if !hclsyntax.ValidIdentifier(e.Key.Text) {
			w.fail(e.Key.Range, "cannot-convert", "Cannot write this in HCL", "The name of an argument may only have letters, digits, underscores and hyphens, and starts with a letter.")
			continue
		}
		w.comment(e.Comments.Head)
		text := w.value(e.Value, roleOf(doc, e.Key.Text))
		if strings.Contains(text, "\n") {
			// Nothing may follow a heredoc.
			w.comment(e.Comments.Line)
			w.b.WriteString(e.Key.Text + " = " + text + "\n")
		} else {
			w.b.WriteString(e.Key.Text + " = " + text + lineComment(e.Comments.Line) + "\n")
		}
		w.comment(e.Comments.Foot)
	}
}

// headerOf is the header of a block type allowed in a body.
func headerOf(doc *lang.BlockDoc, key string) *hcl.BlockHeaderSchema {
	if doc == nil {
		return nil
	}
	b := doc.Block(key)
	if b == nil && key == lang.DynamicType && len(doc.Blocks) > 0 {
		b = dynamicOf(nil)
	}
	if b == nil {
		return nil
	}
	header := b.Header(key)
	return &header
}

func (w *hclWriter) blocks(e *yamlbody.Entry, header *hcl.BlockHeaderSchema, doc *lang.BlockDoc, first bool) {
	found, diags := yamlbody.Unpack(e, header)
	w.diags = append(w.diags, diags...)
	for _, f := range found {
		kind := ""
		if len(f.Labels) > 0 {
			kind = f.Labels[0]
		}
		inner := inside(doc, f.Type, kind)
		if f.Type == lang.DynamicType {
			inner = dynamicOf(doc.Block(kind))
		}
		if !first {
			w.b.WriteByte('\n')
		}
		first = false
		w.comment(f.Comments.Head)
		w.comment(f.Comments.Line)
		w.b.WriteString(f.Type)
		for _, label := range f.Labels {
			if label == "" {
				continue
			}
			w.b.WriteString(" " + quotedText(escapeTemplate(label)))
		}
		w.b.WriteString(" {")
		if len(f.Node.Entries) > 0 || f.Comments.Foot != "" {
			w.b.WriteByte('\n')
			w.body(f.Node, inner)
			w.comment(f.Comments.Foot)
		}
		w.b.WriteString("}\n")
	}
}

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

// onOneLine puts parentheses around a multi-line expression, unless it has its own
// brackets.
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

// neverPrimitive reports whether an expression is never a text, number or bool, so quotes
// around it mean nothing: lists, maps and references to blocks.
func neverPrimitive(expr hclsyntax.Expression) bool {
	switch e := expr.(type) {
	case *hclsyntax.ForExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr:
		return true
	case *hclsyntax.ConditionalExpr:
		return neverPrimitive(e.TrueResult) && neverPrimitive(e.FalseResult)
	case *hclsyntax.ScopeTraversalExpr:
		root := e.Traversal.RootName()
		return root == "baseline" || root == "accepted" || slices.Contains(eval.Referable, root)
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

// separated is the comma after an element; after a heredoc it must be on the next line.
func separated(text string) string {
	if strings.HasSuffix(text, "\n") {
		return ","
	}
	if heredocEnd(text) {
		return "\n,"
	}
	return ","
}

// heredocEnd reports whether a text ends with the mark of a heredoc, after which nothing
// may follow on its line.
func heredocEnd(text string) bool {
	return strings.HasPrefix(text, "<<") && strings.Contains(text, "\n")
}

// template is the text of a template as a heredoc, if it is whole lines, and in quotes
// otherwise.
func (w *hclWriter) template(text string) string {
	if !strings.HasSuffix(text, "\n") || strings.Count(text, "\n") < 2 || !plainLines(text) {
		return quotedTemplate(text)
	}
	mark := "EOT"
	for n := 0; strings.Contains(text, mark); n++ {
		mark = fmt.Sprintf("EOT%d", n)
	}
	return "<<" + mark + "\n" + text + mark
}

// plainLines reports whether a text can be in a heredoc, where nothing is
// escaped.
func plainLines(text string) bool {
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// quotedTemplate is the text of a template in quotes: its sequences stay, the rest is
// escaped.
func quotedTemplate(text string) string {
	src := []byte(text)
	tokens, _ := hclsyntax.LexTemplate(src, "", hcl.InitialPos)
	var b strings.Builder
	depth, from := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if depth == 0 {
				from = t.Range.Start.Byte
			}
			depth++
		case hclsyntax.TokenTemplateSeqEnd:
			if depth--; depth == 0 {
				b.Write(src[from:t.Range.End.Byte])
			}
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			depth++
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			depth--
		case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
			if depth == 0 {
				b.WriteString(escaped(string(t.Bytes)))
			}
		}
	}
	return `"` + b.String() + `"`
}

func quotedText(s string) string { return `"` + escaped(s) + `"` }

// escaped is text as escaped within HCL quotes.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
