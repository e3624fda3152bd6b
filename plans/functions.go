package plans

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are what expressions may call. Each gives back no more than it was
// given, or says how it is bounded: a plan cannot make the machine work for it.
var functions = map[string]function.Function{
	"abs":       stdlib.AbsoluteFunc,
	"ceil":      stdlib.CeilFunc,
	"coalesce":  stdlib.CoalesceFunc,
	"concat":    stdlib.ConcatFunc,
	"floor":     stdlib.FloorFunc,
	"join":      joinFunc,
	"keys":      stdlib.KeysFunc,
	"length":    stdlib.LengthFunc,
	"lookup":    stdlib.LookupFunc,
	"lower":     stdlib.LowerFunc,
	"max":       stdlib.MaxFunc,
	"merge":     stdlib.MergeFunc,
	"min":       stdlib.MinFunc,
	"split":     stdlib.SplitFunc,
	"tonumber":  stdlib.MakeToFunc(cty.Number),
	"tostring":  stdlib.MakeToFunc(cty.String),
	"trimspace": stdlib.TrimSpaceFunc,
	"upper":     stdlib.UpperFunc,
	"values":    stdlib.ValuesFunc,
}

// joinFunc is the standard join for one list, with a bound on its result: a
// long separator between many elements multiplies.
var joinFunc = function.New(&function.Spec{
	Description: "Joins the strings of a list with a separator.",
	Params: []function.Parameter{
		{Name: "separator", Type: cty.String},
		{Name: "list", Type: cty.List(cty.String)},
	},
	Type: function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		separator := args[0].AsString()
		var parts []string
		size := 0
		for it := args[1].ElementIterator(); it.Next(); {
			_, v := it.Element()
			if v.IsNull() {
				return cty.NilVal, fmt.Errorf("element %d is null, which cannot be joined", len(parts))
			}
			if !v.IsKnown() {
				return cty.UnknownVal(cty.String), nil
			}
			parts = append(parts, v.AsString())
			if size += len(separator) + len(v.AsString()); size > maxValue {
				return cty.NilVal, fmt.Errorf("the result would be larger than %d bytes", maxValue)
			}
		}
		return cty.StringVal(strings.Join(parts, separator)), nil
	},
})
