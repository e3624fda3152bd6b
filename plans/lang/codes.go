package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Coded is the Extra of a diagnostic that was made here: its code, a stable name for one
// kind of mistake, in lower case with words joined by hyphens. Programs read it. Summaries may be reworded; codes stay.
type Coded string

// DiagnosticCode is the code.
func (c Coded) DiagnosticCode() string { return string(c) }

// OtherCode is the code of parser findings that are not in the table below.
const OtherCode = "other"

// CodeOf is the code of a diagnostic.
func CodeOf(d *hcl.Diagnostic) string {
	if coded, ok := hcl.DiagnosticExtra[interface{ DiagnosticCode() string }](d); ok {
		return OrElse(coded.DiagnosticCode(), OtherCode)
	}
	if code, ok := parserCodes[d.Summary]; ok {
		return code
	}
	for _, p := range parserPrefixes {
		if strings.HasPrefix(d.Summary, p.prefix) {
			return p.code
		}
	}
	return OtherCode
}

// parserCodes are the codes of what HCL's parsers and evaluator report, by its summary:
// they give it none.
var parserCodes = func() map[string]string {
	codes := map[string]string{}
	for code, summaries := range map[string][]string{
		"plan-not-text": {"Invalid character encoding"},
		"unclosed": {
			"Unbalanced parentheses", "Missing closing parenthesis", "Missing close bracket on splat index",
			"Missing close bracket on index", "Unexpected end of template",
		},
		"invalid-text": {"Invalid escape sequence", "Invalid string literal", "Invalid multi-line string", "Invalid character", "Invalid number literal"},
		"invalid-template": {
			"Extra characters after interpolation expression", "Unexpected else directive", "Invalid 'for' directive",
		},
		"invalid-definition": {
			"Argument or block definition required", "Invalid block definition", "Invalid single-argument block definition",
			"Missing newline after block definition", "Missing newline after argument", "Invalid argument name", "Argument definition required",
			"Attribute name required", "Invalid attribute name",
		},
		"invalid-expression": {
			"Invalid expression", "Missing expression", "Missing item separator", "Missing attribute separator", "Missing argument separator",
			"Missing key/value separator", "Missing attribute value", "Missing false expression in conditional", "Missing open parenthesis",
			"Missing function name", "Invalid 'for' expression", "Invalid legacy index syntax", "Extra characters after expression",
			"Variable name required", "Nested splat expression not allowed", "Invalid nested splat expressions", "Ambiguous attribute key",
			"Invalid path step", "Index value required",
		},
		"attribute-twice":   {"Attribute redefined", "Duplicate argument", "Duplicate object key"},
		"unknown-reference": {"Unknown variable"},
		"unknown-block":     {"Unsupported block type"},
		"unknown-attribute": {"Unsupported argument"},
		"call-failed": {
			"Call to unknown function", "Error in function call", "Invalid function argument", "Too many function arguments",
			"Not enough function arguments", "Function calls not allowed", "Invalid expanding argument value",
		},
		"no-such-member": {
			"Unsupported attribute", "Invalid index", "Missing map element", "Attempt to index null value",
			"Attempt to get attribute from null value", "Incorrect key type", "Null value as key", "Splat of null value", "Invalid object key",
		},
		"invalid-operand": {
			"Invalid operand", "Unsupported operator", "Operation failed", "Inconsistent conditional result types", "Incorrect condition type",
			"Null condition", "Condition is null", "Invalid 'for' condition", "Iteration over null value", "Iteration over non-iterable value",
		},
		"not-constant": {"Variables not allowed"},
		"invalid-type": {"Invalid type specification", "Invalid default value for optional attribute"},
	} {
		for _, s := range summaries {
			codes[s] = code
		}
	}
	return codes
}()

// parserPrefixes are the codes of summaries that the parsers compose, by their
// beginnings; the first that fits counts.
var parserPrefixes = []struct{ prefix, code string }{
	{"Unclosed ", "unclosed"},
	{"Unterminated ", "unclosed"},
	{"Invalid template ", "invalid-template"},
	{"Extra characters in ", "invalid-template"},
	{"Unexpected ", "invalid-template"},
	{"Extraneous label for ", "wrong-labels"},
	{"Missing name for ", "wrong-labels"},
	{"Missing kind for ", "wrong-labels"},
	{"Missing ", "missing-attribute"},
	{"Invalid ", "invalid-value"},
}
