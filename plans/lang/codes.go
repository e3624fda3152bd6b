package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/internal/sorted"
)

// Coded is the Extra of a diagnostic that was made here: its code, a stable name for one
// kind of mistake, in lower case with words joined by hyphens. Programs read it. Summaries
// may be reworded; codes stay.
type Coded string

func (c Coded) DiagnosticCode() string { return string(c) }

// CodeOf is the code of a diagnostic. HCL gives its own none: those of mistakes that are
// ours as well are told by their summaries, all others are invalid-syntax, or
// invalid-expression if found by evaluation.
func CodeOf(d *hcl.Diagnostic) string {
	if coded, ok := hcl.DiagnosticExtra[interface{ DiagnosticCode() string }](d); ok {
		return coded.DiagnosticCode()
	}
	for beginning, code := range sorted.All(map[string]string{
		"Unsupported block type": "unknown-block",
		"Unsupported argument":   "unknown-attribute",
		"Attribute redefined":    "attribute-twice",
		"Duplicate argument":     "attribute-twice",
		"Extraneous label for ":  "wrong-labels",
		"Missing name for ":      "wrong-labels",
		"Missing kind for ":      "wrong-labels",
	}) {
		if strings.HasPrefix(d.Summary, beginning) {
			return code
		}
	}
	if d.Expression != nil {
		return "invalid-expression"
	}
	return "invalid-syntax"
}
