package plans

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// diagnostic points into the plan file where the rule stands there letter by
// letter, and at the whole expression where escapes, ${ } or the stripped
// indentation of a heredoc are in between.
func (e *ruleError) diagnostic(at Range, src string, files map[string]*hcl.File) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: e.summary, Detail: e.detail}
	d.Subject = &hcl.Range{
		Filename: at.File,
		Start:    hcl.Pos{Line: at.Start.Line, Column: at.Start.Column, Byte: at.Start.Byte},
		End:      hcl.Pos{Line: at.End.Line, Column: at.End.Column, Byte: at.End.Byte},
	}
	f := files[at.File]
	if f == nil || e.at < 0 || at.Start.Byte > at.End.Byte || at.End.Byte > len(f.Bytes) {
		return d
	}
	text := string(f.Bytes[at.Start.Byte:at.End.Byte])
	before := 1 // the quotation mark
	if strings.HasPrefix(text, "<<") {
		before = strings.IndexByte(text, '\n') + 1
	} else if text != `"`+src+`"` {
		return d
	}
	if !strings.HasPrefix(text[before:], src) {
		return d
	}
	from, to := byteOffset(src, e.at), byteOffset(src, e.at+e.length)
	d.Subject.Start = position(f.Bytes, at.Start, at.Start.Byte+before+from)
	d.Subject.End = position(f.Bytes, at.Start, at.Start.Byte+before+max(from+1, to))
	return d
}

// position is the line and column of an offset after start, in characters as
// carets are.
func position(src []byte, start Pos, offset int) hcl.Pos {
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
