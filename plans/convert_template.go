package plans

import (
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// escapeTemplate is text in which nothing is a template.
func escapeTemplate(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "${", "$${"), "%{", "%%{")
}

// template is a quoted text or heredoc as the text of a template: with its
// sequences as they are, and without the quoting around and in it.
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

// tokensOf are the tokens in a range. They come from those of the whole file,
// since a heredoc ends with the line, which is not part of it.
func (w *yamlWriter) tokensOf(r hcl.Range) hclsyntax.Tokens {
	from := sort.Search(len(w.tokens), func(i int) bool { return w.tokens[i].Range.Start.Byte >= r.Start.Byte })
	to := sort.Search(len(w.tokens), func(i int) bool { return w.tokens[i].Range.Start.Byte >= r.End.Byte })
	return w.tokens[from:max(from, to)]
}

// piece is literal text, or a ${…} or %{…} sequence, of a template. Literal
// text of several lines is a piece for each of them.
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

// dedent takes from each line of a heredoc the white space that all lines have.
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

// unquoted undoes the backslashes of literal text in quotes. $${ and %%{ stay:
// they are read by the template.
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
