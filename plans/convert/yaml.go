package convert

import (
	"bytes"
	"errors"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/plans/lang"
)

// yamlWriter turns the syntax tree of an HCL file into one of YAML, in text order.
type yamlWriter struct {
	src    []byte
	tokens hclsyntax.Tokens
	// comments are those not yet placed.
	comments []comment
}

func (w *yamlWriter) file(body *hclsyntax.Body, doc *lang.BlockDoc) ([]byte, error) {
	root := w.body(body, doc, len(w.src))
	document := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}
	// The encoder puts some comments where they end what they are in. Its output is
	// parsed again, and comments are given up from the inside outwards.
	for _, keep := range []int{lang.MaxNesting, 6, 4, 2, 0} {
		withoutComments(document, keep)
		var b bytes.Buffer
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		if err := errors.Join(enc.Encode(document), enc.Close()); err != nil {
			return nil, err
		}
		if again, err := oneDocument(b.Bytes()); err == nil && again != nil && sameYAML(again, document) {
			return spaced(b.Bytes()), nil
		}
	}
	return nil, errors.New("one of its texts cannot be written as YAML that reads back the same")
}

// withoutComments removes the comments of everything deeper than keep levels.
func withoutComments(n *yaml.Node, keep int) {
	if keep < 0 {
		n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	}
	for _, c := range n.Content {
		withoutComments(c, keep-1)
	}
}

// spaced puts an empty line before each block of a file.
func spaced(text []byte) []byte {
	var out []string
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i, line := range lines {
		top := line != "" && line[0] != ' ' && line[0] != '-'
		if top && i > 0 && !strings.HasPrefix(lines[i-1], "#") && lines[i-1] != "" {
			out = append(out, "")
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

// item is an attribute or a block of a body.
type item struct {
	attr  *hclsyntax.Attribute
	block *hclsyntax.Block
	at    hcl.Range
	// keys are the labels of a block, body its contents.
	keys []string
	body *yaml.Node
	// head and line are its comments.
	head, line string
}

// body writes a body that ends at an offset.
func (w *yamlWriter) body(body *hclsyntax.Body, doc *lang.BlockDoc, end int) *yaml.Node {
	var items []*item
	for _, a := range body.Attributes {
		items = append(items, &item{attr: a, at: a.SrcRange})
	}
	for _, b := range body.Blocks {
		items = append(items, &item{block: b, at: b.Range()})
	}
	sort.Slice(items, func(i, j int) bool { return items[i].at.Start.Byte < items[j].at.Start.Byte })
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	blocks := map[string][]*item{}
	for _, i := range items {
		i.head = w.before(i.at.Start.Byte)
		if i.attr != nil {
			key, value := textNode(i.attr.Name), w.attribute(i.attr, doc)
			key.HeadComment = i.head
			value.LineComment = w.behind(i.attr.Expr.Range().End)
			node.Content = append(node.Content, key, value)
			continue
		}
		w.block(i, doc)
		if blocks[i.block.Type] == nil {
			// Its place is that of the first of its type.
			node.Content = append(node.Content, textNode(i.block.Type), nil)
		}
		blocks[i.block.Type] = append(blocks[i.block.Type], i)
	}
	for n := 0; n < len(node.Content); n += 2 {
		if key := node.Content[n]; node.Content[n+1] == nil {
			list := blocks[key.Value]
			if len(list) == 1 || n == 0 {
				// A comment before the only one, or at the start of the file, is about
				// all of them.
				key.HeadComment, list[0].head = list[0].head, ""
			}
			node.Content[n+1] = blocksNode(list)
		}
	}
	if rest := w.before(end); rest != "" {
		if n := len(node.Content); n > 0 {
			node.Content[n-2].FootComment = rest
		} else {
			node.HeadComment = rest
		}
	}
	return node
}

func (w *yamlWriter) block(i *item, doc *lang.BlockDoc) {
	b := i.block
	kind := ""
	if len(b.Labels) > 0 {
		kind = b.Labels[0]
	}
	inner := inside(doc, b.Type, kind)
	if b.Type == lang.DynamicType && doc != nil {
		inner = dynamicOf(doc.Block(kind))
	}
	i.line = w.behind(b.OpenBraceRange.End)
	i.keys, i.body = b.Labels, w.body(b.Body, inner, b.CloseBraceRange.Start.Byte)
	if after := w.behind(b.CloseBraceRange.End); after != "" {
		i.head = joinLines(i.head, after)
	}
	i.head = joinLines(i.head, i.line)
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func (w *yamlWriter) attribute(a *hclsyntax.Attribute, doc *lang.BlockDoc) *yaml.Node {
	switch roleOf(doc, a.Name) {
	case nameRole:
		return w.names(a.Expr)
	case staticRole:
		w.skip(a.Expr.Range().End.Byte)
		return textNode(w.text(a.Expr))
	}
	return w.value(a.Expr)
}

// text is the expression as written.
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

// decimalNumber is a valid number in both syntaxes.
var decimalNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// value writes an expression: natively if YAML can, and anything else as ${…}.
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

// literalNode is a literal in YAML, nil if YAML cannot express it. Without a tag, the
// encoder writes it as is.
func literalNode(v cty.Value) *yaml.Node {
	text := ""
	switch {
	case v.IsNull():
		text = "null"
	case v.Type() == cty.Bool:
		text = strconv.FormatBool(v.True())
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		if text = f.Text('f', -1); len(text) > lang.MaxNumber {
			text = f.Text('g', -1)
		}
		if !decimalNumber.MatchString(text) || len(text) > lang.MaxNumber {
			return nil
		}
	default:
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
}

// bareNode is an expression without quotes. Quotes would mean text, so if YAML cannot
// parse it without, it becomes a block scalar.
func bareNode(text string) *yaml.Node {
	if strings.Contains(text, "<<") {
		text += "\n" // the end of a heredoc is on its own line
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

// escapeTemplate is text with nothing in it read as a template.
func escapeTemplate(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "${", "$${"), "%{", "%%{")
}

// template is a quoted text or heredoc as the text of a template: with its sequences
// unchanged, and without its quoting.
func (w *yamlWriter) template(expr hclsyntax.Expression) string {
	if t, ok := expr.(*hclsyntax.TemplateExpr); ok && t.IsStringLiteral() {
		v, _ := t.Value(nil)
		return escapeTemplate(v.AsString())
	}
	tokens := w.tokensOf(expr.Range())
	heredoc := len(tokens) > 0 && tokens[0].Type == hclsyntax.TokenOHeredoc
	pieces := piecesOf(w.src, tokens)
	if heredoc && strings.HasPrefix(string(tokens[0].Bytes), "<<-") {
		dedent(pieces)
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.literal && !heredoc {
			b.WriteString(unquoted(p.text))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// tokensOf are the tokens in a range. They come from those of the whole file, since a
// heredoc ends with the line, which is not part of it.
func (w *yamlWriter) tokensOf(r hcl.Range) hclsyntax.Tokens {
	from := sort.Search(len(w.tokens), func(i int) bool { return w.tokens[i].Range.Start.Byte >= r.Start.Byte })
	to := sort.Search(len(w.tokens), func(i int) bool { return w.tokens[i].Range.Start.Byte >= r.End.Byte })
	return w.tokens[from:max(from, to)]
}

// piece is literal text, or a ${…} or %{…} sequence, of a template. Literal multi-line
// text is one piece per line.
type piece struct {
	text    string
	literal bool
}

// piecesOf are the pieces between the quotes, or the marks of a heredoc.
func piecesOf(src []byte, tokens hclsyntax.Tokens) (pieces []*piece) {
	depth, from := 0, 0
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			depth++
			continue
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if depth == 1 {
				from = t.Range.Start.Byte
			}
			depth++
			continue
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			depth--
			continue
		case hclsyntax.TokenTemplateSeqEnd:
			if depth--; depth == 1 {
				pieces = append(pieces, &piece{text: string(src[from:t.Range.End.Byte])})
			}
			continue
		}
		if depth == 1 && (t.Type == hclsyntax.TokenQuotedLit || t.Type == hclsyntax.TokenStringLit) {
			for _, line := range strings.SplitAfter(string(tokens[i].Bytes), "\n") {
				if line != "" {
					pieces = append(pieces, &piece{strings.ReplaceAll(line, "\r\n", "\n"), true})
				}
			}
		}
	}
	return pieces
}

// dedent removes from each line of a heredoc the indentation that all lines share.
func dedent(pieces []*piece) {
	least, begins := -1, true
	var first []*piece
	for _, p := range pieces {
		if begins {
			spaces := 0
			if p.literal {
				trimmed := strings.TrimLeft(p.text, " \t\r\n\f\v")
				if trimmed == "" && strings.HasSuffix(p.text, "\n") {
					spaces = -1 // an empty line says nothing
				} else {
					spaces = len([]rune(p.text)) - len([]rune(trimmed))
					first = append(first, p)
				}
			}
			if spaces >= 0 && (least < 0 || spaces < least) {
				least = spaces
			}
		}
		begins = p.literal && strings.HasSuffix(p.text, "\n")
	}
	for _, p := range first {
		p.text = string([]rune(p.text)[max(0, least):])
	}
}

// unquoted undoes the backslashes of literal text in quotes. $${ and %%{ stay: the
// template parser reads them.
func unquoted(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	const dollar, percent = "\ue000", "\ue001"
	kept := strings.ReplaceAll(strings.ReplaceAll(text, "$${", dollar), "%%{", percent)
	expr, diags := hclsyntax.ParseExpression([]byte(`"`+kept+`"`), "", hcl.InitialPos)
	if diags.HasErrors() {
		return text
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String {
		return text
	}
	s := escapeTemplate(v.AsString())
	return strings.ReplaceAll(strings.ReplaceAll(s, dollar, "$${"), percent, "%%{")
}

// ambiguousNumber is text that our parser takes for a number and the encoder does not.
var ambiguousNumber = regexp.MustCompile(`^-?[0-9.]+([eE][+-]?[0-9]+)?$`)

// textNode is a text, in whatever style keeps it one.
func textNode(s string) *yaml.Node {
	if strings.Contains(s, "\r") && (strings.Contains(s, "${") || strings.Contains(s, "%{")) {
		s = strings.ReplaceAll(s, "\r", `${"\r"}`) // see yamlbody
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case ambiguousNumber.MatchString(s), s == "<<":
		n.Style = yaml.DoubleQuotedStyle
	case !blockText(s):
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	}
	return n
}

// blockText reports whether a text can be written as is, below a | if it has several
// lines: the encoder is unreliable for invisible characters, and for white space at the
// edges.
func blockText(s string) bool {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, line := range lines {
		edge := i == 0 || i == len(lines)-1
		if strings.HasPrefix(line, " ") && i == 0 || strings.HasSuffix(line, " ") || line == "" && edge && s != "" {
			return false
		}
		for _, c := range line {
			if c < ' ' || !unicode.IsPrint(c) || c == '\uFEFF' {
				return false
			}
		}
	}
	return true
}

// comment is a comment of an HCL file.
type comment struct {
	at hcl.Range
	// text is its lines, each with a # before it.
	text string
}

// commentsOf are the comments of a file, in order.
func commentsOf(tokens hclsyntax.Tokens) (list []comment) {
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenComment {
			list = append(list, comment{t.Range, hashed(string(t.Bytes))})
		}
	}
	return list
}

// hashed is a comment of any HCL form in YAML's form.
func hashed(text string) string {
	text = strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, text)
	text = strings.TrimRight(text, " \n")
	if rest, ok := strings.CutPrefix(text, "#"); ok {
		return "#" + rest
	}
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		return "#" + rest
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		line = strings.TrimSpace(strings.TrimPrefix(line, "*"))
		if line != "" {
			lines = append(lines, "# "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// before takes the comments before an offset that have not been taken.
func (w *yamlWriter) before(offset int) string {
	var lines []string
	for len(w.comments) > 0 && w.comments[0].at.Start.Byte < offset {
		lines = append(lines, w.comments[0].text)
		w.comments = w.comments[1:]
	}
	return strings.Join(lines, "\n")
}

// behind takes the comment that follows something on its last line.
func (w *yamlWriter) behind(end hcl.Pos) string {
	if len(w.comments) == 0 {
		return ""
	}
	c := w.comments[0]
	if c.at.Start.Line != end.Line || c.at.Start.Byte < end.Byte || strings.Contains(c.text, "\n") {
		return ""
	}
	if strings.Trim(string(w.src[end.Byte:c.at.Start.Byte]), " \t,") != "" {
		return "" // something else follows, which the comment belongs to
	}
	w.comments = w.comments[1:]
	return c.text
}

// skip drops comments within text that is kept as is, comments and all.
func (w *yamlWriter) skip(to int) { w.before(to) }
