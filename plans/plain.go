package plans

import "github.com/zclconf/go-cty/cty"

// plain is a value as plain data: string, bool, float64, []any, map[string]any
// or nil.
func plain(v cty.Value) any {
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		f, _ := v.AsBigFloat().Float64()
		return f
	case ty.IsTupleType(), ty.IsListType(), ty.IsSetType():
		list := make([]any, 0, v.LengthInt())
		for _, e := range v.AsValueSlice() {
			list = append(list, plain(e))
		}
		return list
	case ty.IsObjectType(), ty.IsMapType():
		m := make(map[string]any, v.LengthInt())
		for k, e := range v.AsValueMap() {
			m[k] = plain(e)
		}
		return m
	default:
		return nil
	}
}
