package lang

import (
	"regexp"
	"strings"

	"github.com/mxflow/mxflow/plans/yamlbody"
)

// remedy is a piece of a plan in the text of a message, in HCL: ‹criterion "decode" { … }›.
var remedy = regexp.MustCompile(`‹([^‹›]*)›`)

// inSyntax is the text of a message with its pieces of a plan as the file is written that it
// is about: what is in YAML is told what to add in YAML.
func inSyntax(filename, text string) string {
	return remedy.ReplaceAllStringFunc(text, func(piece string) string {
		piece = strings.TrimSuffix(strings.TrimPrefix(piece, "‹"), "›")
		if IsYAML(filename) {
			return yamlbody.Inline(piece)
		}
		if !strings.Contains(piece, "\n") {
			return piece
		}
		return strings.NewReplacer("{\n", "{ ", "\n}", " }", "\n", ", ").Replace(piece) + ", each on its own line"
	})
}
