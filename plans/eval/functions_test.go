package eval

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestFunctionsRefuseWhatTheyCannotDo: whatever a function is called with, it ends in a
// value or in a sentence, never in what a panic leaves.
func TestFunctionsRefuseWhatTheyCannotDo(t *testing.T) {
	odd := []cty.Value{
		cty.NumberIntVal(-1), cty.Zero, cty.NumberIntVal(3), cty.NumberFloatVal(0.5), cty.NumberFloatVal(1e300), cty.NumberFloatVal(-1e300),
		cty.PositiveInfinity, cty.NegativeInfinity,
		cty.StringVal(""), cty.StringVal("a\nb"), cty.StringVal("%"), cty.StringVal("%[-1]d %*d"), cty.StringVal("/(/"), cty.StringVal("2020-01-01T00:00:00Z"), cty.StringVal("-99999999h"),
		cty.NullVal(cty.DynamicPseudoType), cty.NullVal(cty.String), cty.NullVal(cty.Number), cty.True,
		cty.EmptyTupleVal, cty.EmptyObjectVal, cty.ListValEmpty(cty.String), cty.MapValEmpty(cty.String), cty.SetValEmpty(cty.Number),
		cty.TupleVal([]cty.Value{cty.NullVal(cty.DynamicPseudoType)}), cty.ListVal([]cty.Value{cty.NullVal(cty.String)}), cty.ListVal([]cty.Value{cty.NullVal(cty.Number)}),
		cty.TupleVal([]cty.Value{cty.Zero, cty.StringVal("a")}), cty.SetVal([]cty.Value{cty.NullVal(cty.String), cty.StringVal("a")}),
		cty.ObjectVal(map[string]cty.Value{"a": cty.NullVal(cty.DynamicPseudoType)}), cty.MapVal(map[string]cty.Value{"a": cty.NullVal(cty.String)}),
		cty.TupleVal([]cty.Value{cty.EmptyTupleVal, cty.NullVal(cty.DynamicPseudoType)}),
	}
	scope := NewScope("plan.hcl")
	scope.Inputs.Lookup = func(string) (string, bool) { return "", false }
	all := scope.Functions()
	reported := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "try" || name == "can" {
			continue // they take expressions
		}
		var call func(args []cty.Value, more int)
		call = func(args []cty.Value, more int) {
			if len(args) > 0 {
				if _, err := all[name].Call(args); err != nil && strings.Contains(err.Error(), "panic") && !reported[name] {
					reported[name] = true
					first, _, _ := strings.Cut(err.Error(), "\n")
					t.Errorf("%s%#v: %s", name, args, first)
				}
			}
			if more == 0 {
				return
			}
			for _, v := range odd {
				call(append(args[:len(args):len(args)], v), more-1)
			}
		}
		call(nil, 3)
	}
}
