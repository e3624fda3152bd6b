package yamlbody

import (
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"
)

func (b *builder) scalar(n *Node, y *yaml.Node, from int) {
	n.Text, n.IsText = y.Value, true
	switch {
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		n.Style = Block
	case y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		n.Style = Quoted
	}
	start, end := b.source.scalar(from, y.Value, n.Style)
	n.Range = b.span(start, end)
	n.weight.bytes = len(y.Value) + 1
	if n.Style == Plain && b.plain(n, y) {
		return
	}
	n.value = cty.StringVal(n.Text)
	if !strings.Contains(n.Text, "${") && !strings.Contains(n.Text, "%{") {
		return
	}
	if strings.Contains(strings.ReplaceAll(n.Text, "\r\n", ""), "\r") {
		// HCL's scanner reads everything after one as text, including sequences.
		b.fail(n.Range, "invalid-yaml", "Carriage return in template", `A text with ${ } or %%{ } cannot contain a raw carriage return. Write it as ${"\r"}.`)
		return
	}
	if refused := b.guard(n.Text, TemplateText); refused != nil {
		at := b.placingOf(n)(hcl.Range{Start: hcl.Pos{Byte: refused.From}, End: hcl.Pos{Byte: refused.To}})
		b.fail(at, refused.Code, refused.Summary, "%s", refused.Detail)
		return
	}
	t, diags := b.newTemplate(n)
	b.diags = append(b.diags, diags...)
	if !diags.HasErrors() {
		n.template = t
	}
}

// decimal is the one form of number that YAML 1.1, YAML 1.2 and HCL agree about.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// plain reads an unquoted scalar; false if it is text.
func (b *builder) plain(n *Node, y *yaml.Node) bool {
	switch y.Tag {
	case "!!null":
		n.IsText = false
	case "!!bool":
		n.IsText, n.value = false, cty.BoolVal(strings.EqualFold(y.Value, "true"))
	case "!!int", "!!float":
		n.IsText = false
		b.number(n)
	default:
		// YAML 1.2 has no dates; what looks like one is text. A number that no float
		// holds is still meant as a number.
		if !decimal.MatchString(y.Value) {
			return false
		}
		n.IsText = false
		b.number(n)
	}
	return true
}

func (b *builder) number(n *Node) {
	_, exponent, _ := strings.Cut(strings.ToLower(n.Text), "e")
	if len(n.Text) > maxNumber || len(strings.TrimLeft(exponent, "+-")) > 3 {
		b.fail(n.Range, "invalid-value", "Number too large", "A number may have up to %d characters and an exponent of up to three digits. If it is meant as text, put it in quotes.", maxNumber)
		return
	}
	if !decimal.MatchString(n.Text) {
		b.fail(n.Range, "yaml-value", "Ambiguous number", "YAML parsers disagree on what %s is. Write a decimal number, such as 8, -0.5 or 1e6; if it is meant as text, put it in quotes: %q.", n.Text, n.Text)
		return
	}
	v, err := cty.ParseNumberVal(n.Text)
	if err != nil {
		b.fail(n.Range, "yaml-value", "Invalid number", "%s is not a valid number. If it is meant as text, put it in quotes.", n.Text)
		return
	}
	n.value = v
}
