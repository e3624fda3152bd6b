package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Plain is a value as plain data: string, bool, float64, []any, map[string]any
// or nil.
func Plain(v cty.Value) any {
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
			list = append(list, Plain(e))
		}
		return list
	case ty.IsObjectType(), ty.IsMapType():
		m := make(map[string]any, v.LengthInt())
		for k, e := range v.AsValueMap() {
			m[k] = Plain(e)
		}
		return m
	default:
		return nil
	}
}

// Describe names a value's type for a message.
func Describe(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty.Equals(ReferenceType) && v.IsWhollyKnown():
		return "a reference"
	case ty == cty.String:
		return "text"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "true or false"
	case ty.IsTupleType(), ty.IsListType(), ty.IsSetType():
		return "a list"
	default:
		return "a map"
	}
}

// Reference is the value of an expression that names a block. It has one type for every
// block, so a conditional may choose between blocks.
func Reference(block, kind, name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"block": cty.StringVal(block), "type": cty.StringVal(kind), "name": cty.StringVal(name),
	})
}

var ReferenceType = Reference("", "", "").Type()

// StepName is the name in a step of a traversal: .name or ["name"].
func StepName(t hcl.Traversal, i int) (string, bool) {
	if i >= len(t) {
		return "", false
	}
	switch step := t[i].(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsString(), true
		}
	}
	return "", false
}
