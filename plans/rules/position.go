package rules

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

// Diagnostic points into the plan file: at the exact words if it is known which words of
// the file became them, else at the whole text of the rule.
func (e *Error) Diagnostic(at plans.Range, src string, files map[string]*hcl.File) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Severity: hcl.DiagError, Extra: e.Extra(), Summary: e.Summary, Detail: e.Detail}
	d.Subject = lang.HCL(at).Ptr()
	f := files[at.File]
	if f == nil || e.At < 0 || at.Start.Byte > at.End.Byte || at.End.Byte > len(f.Bytes) {
		return d
	}
	from := byteOffset(src, e.At)
	to := max(from+1, byteOffset(src, e.At+e.Length))
	start, end, ok := whereWritten(f.Bytes, at, src, from, to)
	if !ok {
		return d
	}
	d.Subject.Start = Position(f.Bytes, at.Start, start)
	d.Subject.End = Position(f.Bytes, at.Start, end)
	return d
}

// Position is the line and column of an offset after start, in characters, as carets
// need.
func Position(src []byte, start plans.Pos, offset int) hcl.Pos {
	line := bytes.LastIndexByte(src[:offset], '\n') + 1
	return hcl.Pos{
		Line:   start.Line + bytes.Count(src[start.Byte:offset], []byte("\n")),
		Column: 1 + utf8.RuneCount(src[line:offset]),
		Byte:   offset,
	}
}

func byteOffset(s string, runes int) int {
	n := 0
	for i := range s {
		if n == runes {
			return i
		}
		n++
	}
	return len(s)
}

// whereWritten is the range of a file from which the bytes from to to of a rule come. The
// rule is the value of an expression at a place in the file; escapes, ${ } and the
// indentation that a heredoc loses are in between.
func whereWritten(file []byte, at plans.Range, rule string, from, to int) (start, end int, ok bool) {
	written := string(file[at.Start.Byte:at.End.Byte])
	if from >= to || to > len(rule) {
		return 0, 0, false
	}
	if lang.IsYAML(at.File) {
		begins := yamlbody.Offsets(written, rule)
		if begins == nil {
			return 0, 0, false
		}
		// The end is after the last byte, not before what comes next.
		start, end = begins[from], begins[to-1]+1
	} else {
		begins, ends := hclOffsets(written, rule)
		if begins == nil {
			return 0, 0, false
		}
		start, end = begins[from], ends[to-1]
	}
	if start < 0 || end <= start || end > len(written) {
		return 0, 0, false
	}
	return at.Start.Byte + start, at.Start.Byte + end, true
}

// hclOffsets finds, for each byte of a rule, where in the written expression it begins
// and ends. Text from ${ } begins and ends where the ${ } does. It returns nil for an
// expression that is not text, such as a reference to a local.
func hclOffsets(written, rule string) (begins, ends []int) {
	// A heredoc ends with a line break.
	expr, diags := hclsyntax.ParseExpression([]byte(written+"\n"), "", hcl.Pos{Line: 1, Column: 1})
	if diags.HasErrors() {
		return nil, nil
	}
	text, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok {
		return nil, nil
	}
	m := &writtenText{begins: make([]int, len(rule)), ends: make([]int, len(rule))}
	literals := make([]string, len(text.Parts))
	first, last := len(text.Parts), -1 // of those that are not literals
	for i, part := range text.Parts {
		literals[i], ok = literal(part)
		if !ok {
			first, last = min(first, i), max(last, i)
		}
	}
	at := 0
	for i, part := range text.Parts[:first] {
		if !m.literal(written, part.Range(), rule, at, literals[i]) {
			return nil, nil
		}
		at += len(literals[i])
	}
	if last < 0 {
		return m.whole(at)
	}
	back := len(rule)
	for i := len(text.Parts) - 1; i > last; i-- {
		back -= len(literals[i])
		if back < at || !m.literal(written, text.Parts[i].Range(), rule, back, literals[i]) {
			return nil, nil
		}
	}
	// What is between ${ and } is not known letter by letter.
	open := max(0, strings.LastIndex(written[:text.Parts[first].Range().Start.Byte], "${"))
	shut := text.Parts[last].Range().End.Byte
	if n := strings.IndexByte(written[shut:], '}'); n >= 0 {
		shut += n + 1
	}
	for ; at < back; at++ {
		m.begins[at], m.ends[at] = open, shut
	}
	return m.begins, m.ends
}

func literal(part hclsyntax.Expression) (string, bool) {
	l, ok := part.(*hclsyntax.LiteralValueExpr)
	if !ok || l.Val.IsNull() || l.Val.Type() != cty.String {
		return "", false
	}
	return l.Val.AsString(), true
}

// writtenText is where the bytes of a text come from.
type writtenText struct{ begins, ends []int }

func (m *writtenText) whole(length int) (begins, ends []int) {
	if length != len(m.begins) {
		return nil, nil
	}
	return m.begins, m.ends
}

// literal follows one literal of a template through the text it is written as.
func (m *writtenText) literal(written string, r hcl.Range, rule string, at int, value string) bool {
	if r.Start.Byte < 0 || r.End.Byte > len(written) || !strings.HasPrefix(rule[min(at, len(rule)):], value) {
		return false
	}
	src, from := written[r.Start.Byte:r.End.Byte], r.Start.Byte
	quoted := strings.HasPrefix(written, `"`)
	i := 0
	for j := 0; j < len(value); {
		if !quoted && (j == 0 || value[j-1] == '\n') {
			// <<- removes indentation.
			i += max(0, indentation(src[i:])-indentation(value[j:]))
		}
		want, size := utf8.DecodeRuneInString(value[j:])
		got, width := utf8.DecodeRuneInString(src[i:])
		switch {
		case quoted && got == '\\':
			got, width = hclEscape(src[i:])
		case strings.HasPrefix(src[i:], "$${"), strings.HasPrefix(src[i:], "%%{"):
			width = 2
		case got == '\r' && want == '\n':
			got, width = '\n', 2
		}
		if got != want || width == 0 {
			return false
		}
		for b := range size {
			m.begins[at+j+b], m.ends[at+j+b] = from+i, from+i+width
		}
		i, j = i+width, j+size
	}
	return true
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// hclEscape reads an escape of a quoted text.
func hclEscape(src string) (r rune, width int) {
	if len(src) < 2 {
		return utf8.RuneError, 0
	}
	if plain, ok := map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\'}[src[1]]; ok {
		return plain, 2
	}
	digits := map[byte]int{'u': 4, 'U': 8}[src[1]]
	if digits == 0 || len(src) < 2+digits {
		return utf8.RuneError, 0
	}
	code, err := strconv.ParseUint(src[2:2+digits], 16, 32)
	if err != nil {
		return utf8.RuneError, 0
	}
	return rune(code), 2 + digits
}
