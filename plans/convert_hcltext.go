package plans

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// separated is the comma behind an element; that behind a heredoc has to stand
// on the next line.
func separated(text string) string {
	if strings.HasSuffix(text, "\n") {
		return ","
	}
	if heredocEnd(text) {
		return "\n,"
	}
	return ","
}

// heredocEnd reports whether a text ends with the mark of a heredoc, behind
// which nothing may follow on its line.
func heredocEnd(text string) bool {
	return strings.HasPrefix(text, "<<") && strings.Contains(text, "\n")
}

// template is the text of a template as a heredoc, where it is whole lines, and
// in quotes otherwise.
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

// plainLines reports whether a text can stand in a heredoc, where nothing is
// escaped.
func plainLines(text string) bool {
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// quotedTemplate is the text of a template in quotes: its sequences stay, what
// is between them is escaped.
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

// escaped is text as it stands in quotes in HCL.
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
