package plans

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2"
)

// unoffered are functions that people look for, and why there are none.
var unoffered = map[string]string{
	"timestamp":     "a plan that reads the clock would be another plan at every load, and nothing measured before could be kept",
	"plantimestamp": "a plan that reads the clock would be another plan at every load, and nothing measured before could be kept",
	"now":           "a plan that reads the clock would be another plan at every load, and nothing measured before could be kept",
	"uuid":          "a plan that is random would be another plan at every load, and nothing measured before could be kept",
	"bcrypt":        "its result is another one every time, and nothing measured before could be kept",
	"filesha256":    "sha256(file(path)) does the same for text files",
	"fileexists":    "try(file(path), …) gives what is to stand for a missing file",
	"getenv":        "it is called env: env(\"NAME\", \"default\")",
	"one":           "try(list[0], null) does the same",
}

var unknownFunction = regexp.MustCompile(`There is no function named "([^"]+)"`)

// explained adds to the evaluator's own messages what it does not know.
func explained(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		if m := unknownFunction.FindStringSubmatch(d.Detail); m != nil && unoffered[m[1]] != "" {
			d.Detail = fmt.Sprintf("There is no function %q: %s.", m[1], unoffered[m[1]])
		}
		if d.Summary == "Unsupported attribute" && shadowed(d) {
			d.Detail += " Within a dynamic block this name is its iterator, with key and value. Call the iterator something else: iterator = item."
		}
		if d.Subject == nil && d.Context != nil {
			d.Subject = d.Context
		}
	}
	return diags
}

// shadowed tells a mistake about a block's name that a dynamic block of that
// type has taken for its iterator.
func shadowed(d *hcl.Diagnostic) bool {
	if d.Expression == nil || d.EvalContext == nil || d.EvalContext.Parent() == nil {
		return false
	}
	for _, t := range d.Expression.Variables() {
		if _, inner := d.EvalContext.Variables[t.RootName()]; inner && isReferable(t.RootName()) {
			return true
		}
	}
	return false
}
