package plans

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// written is a value as a plan would write it, its further lines behind an
// indentation. References stand as the names of what they refer to.
func written(v cty.Value, indent string) string {
	if v.IsMarked() {
		return sensitiveText
	}
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty.Equals(referenceType):
		return referenceText(v)
	case ty.IsObjectType(), ty.IsMapType():
		var lines []string
		for it := v.ElementIterator(); it.Next(); {
			key, e := it.Element()
			name := key.AsString()
			if !hclsyntax.ValidIdentifier(name) {
				name = string(hclwrite.TokensForValue(key).Bytes())
			}
			lines = append(lines, name+" = "+written(e, indent+"  "))
		}
		return bracketed("{", lines, "}", "", indent)
	case ty.IsTupleType(), ty.IsListType(), ty.IsSetType():
		var items []string
		long := false
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			item := written(e, indent+"  ")
			items = append(items, item)
			long = long || strings.Contains(item, "\n")
		}
		if line := "[" + strings.Join(items, ", ") + "]"; !long && len(line) <= 80 {
			return line
		}
		return bracketed("[", items, "]", ",", indent)
	}
	return string(hclwrite.TokensForValue(v).Bytes())
}

func bracketed(open string, lines []string, shut, end, indent string) string {
	if len(lines) == 0 {
		return open + shut
	}
	var b strings.Builder
	b.WriteString(open + "\n")
	for _, line := range lines {
		b.WriteString(indent + "  " + line + end + "\n")
	}
	b.WriteString(indent + shut)
	return b.String()
}

func referenceText(v cty.Value) string {
	name := func(attr string) string { return v.GetAttr(attr).AsString() }
	var words []string
	for _, attr := range []string{"block", "type", "name"} {
		if word := name(attr); word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, ".")
}
