package eval

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestFunctionsRefuseWhatTheyCannotDo: what panics in a library ends in a sentence.
func TestFunctionsRefuseWhatTheyCannotDo(t *testing.T) {
	scope := NewScope("plan.hcl")
	for _, text := range []string{
		`log(-1, 2)`, `pow(-1, 0.5)`, `indent(-1, "a")`, `zipmap([tostring(null)], [1])`,
		`range(1/0, -1, -1/0)`,
	} {
		expr, diags := hclsyntax.ParseExpression([]byte(text), "plan.hcl", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		_, diags = expr.Value(scope.Context())
		if got := explained(diags).Error(); !diags.HasErrors() || strings.Contains(got, "panic") {
			t.Errorf("%s: %s", text, got)
		}
	}
}
