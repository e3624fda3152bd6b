package plans

import (
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// misspelt is what the parsers say of a name that is nearly another one.
var misspelt = regexp.MustCompile(`"([^"]+)"[^"]* not expected here\. Did you mean "([^"]+)"\?`)

// meant reads blocks whose type is misspelt as what was meant. That was reported
// already, and a block left out is missed in every place that refers to it.
func (l *evalScope) meant(body hcl.Body, schema *hcl.BodySchema, content *hcl.BodyContent, said hcl.Diagnostics) *hcl.BodyContent {
	types := map[string]string{}
	wider := *schema
	wider.Blocks = slices.Clone(schema.Blocks)
	for _, d := range said {
		m := misspelt.FindStringSubmatch(d.Detail)
		if m == nil || types[m[1]] != "" {
			continue
		}
		for _, b := range schema.Blocks {
			if b.Type == m[2] {
				types[m[1]] = b.Type
				wider.Blocks = append(wider.Blocks, hcl.BlockHeaderSchema{Type: m[1], LabelNames: b.LabelNames})
			}
		}
	}
	if len(types) == 0 {
		l.doubtMissing(schema, content, said)
		return content
	}
	again, _ := body.Content(&wider)
	for _, b := range again.Blocks {
		if t := types[b.Type]; t != "" {
			b.Type = t
		}
	}
	return again
}

// doubtMissing notes that a block of an unknown type may be one of those that a plan
// has none of.
func (l *evalScope) doubtMissing(schema *hcl.BodySchema, content *hcl.BodyContent, said hcl.Diagnostics) {
	unknown := slices.ContainsFunc(said, func(d *hcl.Diagnostic) bool { return d.Summary == "Unsupported block type" })
	if !unknown || schema != l.whole {
		return
	}
	have := content.Blocks.ByType()
	for _, b := range schema.Blocks {
		if len(have[b.Type]) == 0 && len(b.LabelNames) > 0 {
			l.doubt(b.Type)
		}
	}
}
