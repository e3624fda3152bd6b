package yamlbody

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"gopkg.in/yaml.v3"
)

// FromHCL writes a text in HCL as YAML that is read as the same, with its comments and
// empty lines. Where isName holds for an attribute, a name needs no ${ }.
func FromHCL(text []byte, isName func(attr string) bool) ([]byte, error) {
	w := &writer{text: text, isName: isName}
	file, diags := hclsyntax.ParseConfig(text, "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	tokens, _ := hclsyntax.LexConfig(text, "", hcl.InitialPos)
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenComment {
			w.comments = append(w.comments, t)
		}
	}
	w.body(file.Body.(*hclsyntax.Body), hcl.Range{End: hcl.Pos{Byte: len(text)}}, 0)
	return []byte(strings.TrimLeft(w.out.String(), "\n")), nil
}

// Inline writes a piece of a plan in HCL as YAML on one line, as a message has it: names of
// blocks and types need no ${ } there. A piece that is not HCL stays as it is.
func Inline(piece string) string {
	w := &writer{text: []byte(dots.Replace(piece)), isName: func(string) bool { return true }}
	file, diags := hclsyntax.ParseConfig(w.text, "", hcl.InitialPos)
	if diags.HasErrors() {
		value, diags := hclsyntax.ParseExpression(w.text, "", hcl.InitialPos)
		if diags.HasErrors() {
			return piece
		}
		return undots.Replace(w.flow(value, "", false))
	}
	var parts []string
	for _, e := range w.entries(file.Body.(*hclsyntax.Body)) {
		part := w.flowEntry(e)
		if e.attr != nil {
			part = scalar(e.key, false) + ": " + w.flow(e.attr.Expr, e.key, false)
		}
		parts = append(parts, part)
	}
	return undots.Replace(strings.Join(parts, ", "))
}

// dots keeps what a message leaves open readable as HCL.
var (
	dots = strings.NewReplacer(
		"{ … }", "{ mxflow_dots = 1 }", "[ … ]", "[mxflow_dots]", `"…"`, `"…"`, "…", "mxflow_dots")
	undots = strings.NewReplacer("{mxflow_dots: 1}", "{…}", "mxflow_dots", "…")
)

type writer struct {
	text     []byte
	isName   func(attr string) bool
	comments hclsyntax.Tokens
	out      strings.Builder
	spaced   int // where the last empty line was
}

// entry is an attribute, or the blocks of a type, or those of them below one label.
type entry struct {
	key  string
	attr *hclsyntax.Attribute
	// blocks are those below the key, as body of one, by labels, or as a list.
	block *hclsyntax.Block
	inner []entry
	list  []entry
	at    hcl.Range
}

// entries are the content of a body in the order of the text. Blocks of one type are
// together, where the first is; as a list if they could not be told apart otherwise, or
// would be in another order.
func (w *writer) entries(b *hclsyntax.Body) (all []entry) {
	for _, a := range b.Attributes {
		all = append(all, entry{key: a.Name, attr: a, at: a.SrcRange})
	}
	byType := map[string]hclsyntax.Blocks{}
	for _, block := range b.Blocks {
		byType[block.Type] = append(byType[block.Type], block)
	}
	for name, blocks := range byType {
		e := entry{key: name, at: blocks[0].Range()}
		byLabel, ok := grouped(blocks, 0)
		switch {
		case ok && byLabel == nil:
			e.block = blocks[0]
		case ok && slices.Equal(flattened(byLabel), blocks):
			e.inner = byLabel
		default:
			for _, block := range blocks {
				one, _ := grouped(hclsyntax.Blocks{block}, 0)
				item := entry{inner: one, at: block.Range()}
				if len(block.Labels) == 0 {
					item = entry{block: block, at: block.Range()}
				}
				e.list = append(e.list, item)
			}
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.at.Start.Byte, b.at.Start.Byte) })
	return all
}

// grouped are blocks by their labels from one on; false if two have the same.
func grouped(blocks hclsyntax.Blocks, label int) (all []entry, ok bool) {
	if len(blocks[0].Labels) == label {
		return nil, len(blocks) == 1
	}
	byLabel, order := map[string]hclsyntax.Blocks{}, []string{}
	for _, b := range blocks {
		if len(b.Labels) <= label {
			return nil, false
		}
		if byLabel[b.Labels[label]] == nil {
			order = append(order, b.Labels[label])
		}
		byLabel[b.Labels[label]] = append(byLabel[b.Labels[label]], b)
	}
	for _, name := range order {
		of := byLabel[name]
		e := entry{key: name, at: of[0].Range()}
		if e.inner, ok = grouped(of, label+1); !ok {
			return nil, false
		}
		if e.inner == nil {
			e.block = of[0]
		}
		all = append(all, e)
	}
	return all, true
}

func flattened(all []entry) (blocks hclsyntax.Blocks) {
	for _, e := range all {
		if e.block != nil {
			blocks = append(blocks, e.block)
		}
		blocks = append(blocks, flattened(e.inner)...)
	}
	return blocks
}

// widest is how long a line is at most where something could also be written over several.
const widest = 110

func (w *writer) line(indent int, text string) {
	w.out.WriteString(strings.TrimRight(strings.Repeat("  ", indent)+text, " ") + "\n")
}

// body writes a body, with the comments in its range.
func (w *writer) body(b *hclsyntax.Body, within hcl.Range, indent int) {
	for _, e := range w.entries(b) {
		w.entry(e, indent, "")
	}
	w.before(within.End.Byte, indent)
}

// before writes the comments before a place in the text, and the empty line before the
// first of them or before the place.
func (w *writer) before(at, indent int) {
	for len(w.comments) > 0 && w.comments[0].Range.Start.Byte < at {
		c := w.comments[0]
		w.comments = w.comments[1:]
		w.empty(c.Range.Start.Byte)
		for line := range strings.Lines(comment(c)) {
			w.line(indent, strings.TrimRight(line, "\n"))
		}
	}
	if at < len(w.text) && w.text[at] != '}' {
		w.empty(at)
	}
}

// empty writes an empty line if there is one before a place of the text, once.
func (w *writer) empty(at int) {
	before := strings.TrimRight(string(w.text[:at]), " \t")
	if strings.HasSuffix(before, "\n\n") && at > w.spaced && w.out.Len() > 0 {
		w.out.WriteString("\n")
		w.spaced = at
	}
}

// comment is a comment of HCL as one of YAML.
func comment(c hclsyntax.Token) string {
	text := strings.TrimRight(string(c.Bytes), "\n")
	if inside, ok := strings.CutPrefix(text, "/*"); ok {
		var lines []string
		for line := range strings.Lines(strings.TrimSpace(strings.TrimSuffix(inside, "*/"))) {
			lines = append(lines, strings.TrimRight("# "+strings.TrimSpace(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	if after, ok := strings.CutPrefix(text, "//"); ok {
		return "#" + after
	}
	return text
}

// behind is the comment on the rest of the line on which something ends.
func (w *writer) behind(end int) string {
	if len(w.comments) == 0 {
		return ""
	}
	c := w.comments[0]
	if at := c.Range.Start.Byte; at < end || strings.Trim(string(w.text[end:at]), " \t,") != "" {
		return ""
	}
	w.comments = w.comments[1:]
	return " " + comment(c)
}

// commented reports whether a range has comments of its own.
func (w *writer) commented(r hcl.Range) bool {
	return slices.ContainsFunc(w.comments, func(c hclsyntax.Token) bool {
		return c.Range.Start.Byte >= r.Start.Byte && c.Range.Start.Byte < r.End.Byte
	})
}

func oneLine(r hcl.Range) bool { return r.Start.Line == r.End.Line }

// entry writes an entry; a hyphen goes before the first line of an element of a list.
func (w *writer) entry(e entry, indent int, hyphen string) {
	first := func(text string) {
		if hyphen != "" {
			w.line(indent-1, hyphen+text)
			return
		}
		w.line(indent, text)
	}
	w.before(e.at.Start.Byte, indent-len(hyphen)/2)
	key := scalar(e.key, false)
	switch {
	case e.attr != nil:
		w.value(first, key+":", e.attr.Expr, e.attr.Name, indent)
	case e.block != nil:
		r := e.block.Range()
		whole := hcl.Range{Start: r.Start, End: e.block.Body.SrcRange.End}
		flow := key + ": " + w.flowBody(e.block.Body)
		if oneLine(whole) && 2*indent+len(flow) <= widest && !w.commented(whole) {
			first(flow + w.behind(whole.End.Byte))
			return
		}
		if len(e.block.Body.Attributes)+len(e.block.Body.Blocks) == 0 {
			first(key + ": {}")
		} else {
			first(key + ":" + w.behind(e.block.OpenBraceRange.End.Byte))
		}
		w.body(e.block.Body, e.block.Body.SrcRange, indent+1)
	case e.list != nil:
		first(key + ":")
		for _, item := range e.list {
			if item.block == nil {
				w.entry(item.inner[0], indent+2, "- ")
				continue
			}
			w.before(item.at.Start.Byte, indent+1)
			flow := "- " + w.flowBody(item.block.Body)
			if len(w.entries(item.block.Body)) == 0 || oneLine(item.block.Body.SrcRange) && len(flow) <= widest {
				w.line(indent+1, flow)
				continue
			}
			for i, inner := range w.entries(item.block.Body) {
				w.entry(inner, indent+2, map[bool]string{true: "- "}[i == 0])
			}
			w.before(item.block.Body.SrcRange.End.Byte, indent+2)
		}
	default:
		first(key + ":")
		for _, inner := range e.inner {
			w.entry(inner, indent+1, "")
		}
	}
}

// value writes a value behind its key or hyphen: on the same line if it was so, else as
// lines below.
func (w *writer) value(first func(string), key string, e hclsyntax.Expression, attr string, indent int) {
	r := e.Range()
	if text, block := w.several(e); block {
		mark := " |-"
		if strings.HasSuffix(text, "\n") {
			mark = " |"
		}
		if strings.HasPrefix(text, " ") {
			mark = strings.Replace(mark, "|", "|2", 1)
		}
		first(key + mark)
		for line := range strings.Lines(text) {
			w.line(indent+1, strings.TrimRight(line, "\n"))
		}
		w.comments = slices.DeleteFunc(w.comments, func(c hclsyntax.Token) bool {
			return c.Range.Start.Byte >= r.Start.Byte && c.Range.Start.Byte < r.End.Byte
		})
		return
	}
	flow := w.flow(e, attr, false)
	object, isObject := e.(*hclsyntax.ObjectConsExpr)
	list, isList := e.(*hclsyntax.TupleConsExpr)
	empty := isObject && len(object.Items) == 0 || isList && len(list.Exprs) == 0
	if !isObject && !isList || empty || oneLine(r) && !w.commented(r) && 2*indent+len(key)+len(flow) <= widest {
		first(key + " " + flow + w.behind(r.End.Byte))
		return
	}
	first(key + w.behind(r.Start.Byte+1))
	if isObject {
		for _, item := range object.Items {
			w.before(item.KeyExpr.Range().Start.Byte, indent+1)
			w.value(func(text string) {
				w.line(indent+1, text)
			}, w.key(item.KeyExpr, false)+":", item.ValueExpr, attr, indent+1)
		}
	} else {
		for _, item := range list.Exprs {
			w.before(item.Range().Start.Byte, indent+1)
			w.value(func(text string) { w.line(indent+1, text) }, "-", item, attr, indent+1)
		}
	}
	w.before(r.End.Byte-1, indent+1)
}

func (w *writer) source(r hcl.Range) string { return string(r.SliceBytes(w.text)) }

// dedented is a range of the text over several lines, without the indentation of its first.
func (w *writer) dedented(r hcl.Range) string {
	line := w.text[bytes.LastIndexByte(w.text[:r.Start.Byte], '\n')+1:]
	indent := string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	return strings.ReplaceAll(w.source(r), "\n"+indent, "\n")
}

// several is the text of an expression over several lines: a heredoc's, or a template of
// one that YAML has no form for.
func (w *writer) several(e hclsyntax.Expression) (text string, ok bool) {
	source := w.source(e.Range())
	switch e.(type) {
	case *hclsyntax.ObjectConsExpr, *hclsyntax.TupleConsExpr:
		return "", false
	}
	if !strings.HasPrefix(source, "<<") {
		if oneLine(e.Range()) {
			return "", false
		}
		return "${" + w.dedented(e.Range()) + "}", true
	}
	tokens, _ := hclsyntax.LexExpression([]byte(source+"\n"), "", hcl.InitialPos)
	from, to := tokens[0].Range.End.Byte, 0
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenCHeredoc {
			to = t.Range.Start.Byte
		}
	}
	lines := strings.SplitAfter(source[from:to], "\n")
	if strings.HasPrefix(source, "<<-") {
		least := 1 << 20
		for _, line := range lines {
			if trimmed := strings.TrimLeft(line, " \t"); strings.TrimSpace(trimmed) != "" {
				least = min(least, len(line)-len(trimmed))
			}
		}
		for i, line := range lines {
			lines[i] = line[min(least, len(line)-len(strings.TrimLeft(line, " \t"))):]
		}
	}
	return strings.TrimRight(strings.Join(lines, ""), " \t"), true
}

func (w *writer) key(e hclsyntax.Expression, inFlow bool) string {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if name := hcl.ExprAsKeyword(k.Wrapped); name != "" && !k.ForceNonLiteral {
			return scalar(name, inFlow)
		}
		e = k.Wrapped
	}
	return w.flow(e, "", inFlow)
}

// flow is an expression on one line.
func (w *writer) flow(e hclsyntax.Expression, attr string, inFlow bool) string {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return w.source(e.SrcRange)
	case *hclsyntax.UnaryOpExpr:
		if _, number := e.Val.(*hclsyntax.LiteralValueExpr); number && e.Op == hclsyntax.OpNegate {
			return w.source(e.SrcRange)
		}
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr:
		return scalar(w.template(w.source(e.Range())), inFlow)
	case *hclsyntax.TupleConsExpr:
		var items []string
		for _, item := range e.Exprs {
			items = append(items, w.flow(item, attr, true))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case *hclsyntax.ObjectConsExpr:
		var items []string
		for _, item := range e.Items {
			items = append(items, w.key(item.KeyExpr, true)+": "+w.flow(item.ValueExpr, attr, true))
		}
		return "{" + strings.Join(items, ", ") + "}"
	case *hclsyntax.FunctionCallExpr:
		if w.isName(attr) && slices.Contains([]string{"list", "set", "map", "tuple", "object"}, e.Name) {
			return scalar(w.source(e.Range()), inFlow)
		}
	case *hclsyntax.ScopeTraversalExpr:
		if w.isName(attr) {
			return scalar(w.source(e.Range()), inFlow)
		}
	}
	return scalar("${"+strings.Join(strings.Fields(w.source(e.Range())), " ")+"}", inFlow)
}

func (w *writer) flowEntry(e entry) string {
	key := scalar(e.key, true) + ": "
	switch {
	case e.attr != nil:
		return key + w.flow(e.attr.Expr, e.attr.Name, true)
	case e.block != nil:
		return key + w.flowBody(e.block.Body)
	case e.list != nil:
		var items []string
		for _, item := range e.list {
			if item.block != nil {
				items = append(items, w.flowBody(item.block.Body))
				continue
			}
			items = append(items, "{"+w.flowEntry(item.inner[0])+"}")
		}
		return key + "[" + strings.Join(items, ", ") + "]"
	}
	var inner []string
	for _, i := range e.inner {
		inner = append(inner, w.flowEntry(i))
	}
	return key + "{" + strings.Join(inner, ", ") + "}"
}

func (w *writer) flowBody(b *hclsyntax.Body) string {
	var all []string
	for _, e := range w.entries(b) {
		all = append(all, w.flowEntry(e))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// template is a text in quotes of HCL without HCL's escapes: only $${ and %%{ remain.
func (w *writer) template(source string) string {
	tokens, _ := hclsyntax.LexExpression([]byte(source), "", hcl.InitialPos)
	var b strings.Builder
	depth, at := 0, 0
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if depth++; depth == 1 {
				at = t.Range.Start.Byte
			}
		case hclsyntax.TokenTemplateSeqEnd:
			if depth--; depth == 0 {
				b.WriteString(source[at:t.Range.End.Byte])
			}
		case hclsyntax.TokenQuotedLit:
			if depth > 0 || i == 0 {
				continue
			}
			expr, diags := hclsyntax.ParseExpression([]byte(`"`+string(t.Bytes)+`"`), "", hcl.InitialPos)
			if diags.HasErrors() {
				b.Write(t.Bytes)
				continue
			}
			v, _ := expr.Value(nil)
			b.WriteString(strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v.AsString()))
		}
	}
	return b.String()
}

// bare are texts that need no quotes within brackets either; words that YAML 1.1 reads as
// true or false are texts in plans.
var (
	bare  = regexp.MustCompile(`^[^\s,\[\]{}#:"'&*!|>%@\x60-]([^,\[\]{}#:\n]|:[^\s,\[\]{}#:]|[^\s,\[\]{}:\n]#)*$`)
	onOff = regexp.MustCompile(`^(?i:on|off|yes|no|y|n)$`)
)

// scalar is a text as YAML, in quotes only where it needs them.
func scalar(text string, inFlow bool) string {
	if onOff.MatchString(text) {
		return text
	}
	out, err := yaml.Marshal(text)
	plain := strings.TrimSuffix(string(out), "\n")
	fits := !inFlow || bare.MatchString(text) && !strings.HasSuffix(text, " ")
	if err == nil && plain == text && fits && !decimal.MatchString(text) {
		return text
	}
	unseen := strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsPrint(c) })
	if strings.ContainsAny(text, "\\\"") && !unseen {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case !strconv.IsPrint(c):
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	return `"` + b.String() + `"`
}
