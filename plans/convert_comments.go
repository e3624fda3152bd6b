package plans

import (
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

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

// hashed is a comment of any of HCL's forms in the one form of YAML.
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

// before takes the comments that stand before an offset and have not been taken.
func (w *yamlWriter) before(offset int) string {
	var lines []string
	for len(w.comments) > 0 && w.comments[0].at.Start.Byte < offset {
		lines = append(lines, w.comments[0].text)
		w.comments = w.comments[1:]
	}
	return strings.Join(lines, "\n")
}

// behind takes the comment that stands behind something on its last line.
func (w *yamlWriter) behind(end hcl.Pos) string {
	if len(w.comments) == 0 {
		return ""
	}
	c := w.comments[0]
	if c.at.Start.Line != end.Line || c.at.Start.Byte < end.Byte || strings.Contains(c.text, "\n") {
		return ""
	}
	if strings.Trim(string(w.src[end.Byte:c.at.Start.Byte]), " \t,") != "" {
		return "" // something else follows, and the comment is its own
	}
	w.comments = w.comments[1:]
	return c.text
}

// skip drops comments within text that is kept as it is, comments and all.
func (w *yamlWriter) skip(to int) { w.before(to) }
