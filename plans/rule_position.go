package plans

import (
	"bytes"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// diagnostic points into the plan file: at the very words where it can be told
// which words of the file became them, else at the whole text of the rule.
func (e *ruleError) diagnostic(at Range, src string, files map[string]*hcl.File) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: e.summary, Detail: e.detail}
	d.Subject = at.hcl().Ptr()
	f := files[at.File]
	if f == nil || e.at < 0 || at.Start.Byte > at.End.Byte || at.End.Byte > len(f.Bytes) {
		return d
	}
	from := byteOffset(src, e.at)
	to := max(from+1, byteOffset(src, e.at+e.length))
	start, end, ok := whereWritten(f.Bytes, at, src, from, to)
	if !ok {
		return d
	}
	d.Subject.Start = position(f.Bytes, at.Start, start)
	d.Subject.End = position(f.Bytes, at.Start, end)
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
