package plans

import (
	"regexp"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// ambiguousNumber is text that our reader takes for a number and the encoder
// does not.
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

// blockText reports whether a text can stand as it is, below a | if it has
// several lines: the encoder is not to be trusted with characters that cannot be
// seen, nor with white space at the edges.
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
