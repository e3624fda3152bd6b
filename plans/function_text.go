package plans

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// onText is a function of one text to another.
func onText(doc string, do func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Description: doc,
		Params:      []function.Parameter{{Name: "text", Type: cty.String}},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := do(args[0].AsString())
			return cty.StringVal(s), err
		},
	})
}

// onTexts is a yes or no about two texts.
func onTexts(doc, second string, do func(a, b string) bool) function.Function {
	return function.New(&function.Spec{
		Description: doc,
		Params:      []function.Parameter{{Name: "text", Type: cty.String}, {Name: second, Type: cty.String}},
		Type:        function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(do(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

var (
	startsWithFunc = onTexts("Whether a text begins with another.", "prefix", strings.HasPrefix)
	endsWithFunc   = onTexts("Whether a text ends with another.", "suffix", strings.HasSuffix)

	base64EncodeFunc = onText("A text in base64.", func(s string) (string, error) {
		return base64.StdEncoding.EncodeToString([]byte(s)), nil
	})
	base64DecodeFunc = onText("The text that is written in base64.", func(s string) (string, error) {
		b, err := base64.StdEncoding.DecodeString(s)
		if err == nil && !utf8.Valid(b) {
			err = errors.New("the result is no text")
		}
		return string(b), err
	})
	sha256Func = onText("The SHA-256 of a text, in hex.", func(s string) (string, error) {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:]), nil
	})
	urlEncodeFunc = onText("A text as part of a URL's query.", func(s string) (string, error) {
		return url.QueryEscape(s), nil
	})
)

// replaceFunc replaces a text, or what /…/ matches.
var replaceFunc = function.New(&function.Spec{
	Description: "Replaces each occurrence of a text, or of a regular expression between slashes.",
	Params: []function.Parameter{
		{Name: "text", Type: cty.String}, {Name: "old", Type: cty.String}, {Name: "new", Type: cty.String},
	},
	Type: function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		old := args[1].AsString()
		if len(old) > 2 && strings.HasPrefix(old, "/") && strings.HasSuffix(old, "/") {
			matches := len(args[0].AsString()) + 1
			if matches*len(args[2].AsString()) > 16*maxValue {
				return cty.NilVal, errors.New("the result could be too large")
			}
			return stdlib.RegexReplace(args[0], cty.StringVal(old[1:len(old)-1]), args[2])
		}
		return cty.StringVal(strings.ReplaceAll(args[0].AsString(), old, args[2].AsString())), nil
	},
})

// lengthFunc is the length of a list or map, or of a text in characters.
var lengthFunc = function.New(&function.Spec{
	Description: "How many elements a list or map has, or characters a text.",
	Params:      []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
	Type:        function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch v := args[0]; {
		case v.Type() == cty.String:
			return stdlib.Strlen(v)
		case v.Type().IsObjectType() || v.Type().IsTupleType() || v.Type().IsCollectionType():
			return cty.NumberIntVal(int64(v.LengthInt())), nil
		default:
			return cty.NilVal, function.NewArgErrorf(0, "%s has no length; length takes a list, a map or text", describe(v))
		}
	},
})

var sumFunc = function.New(&function.Spec{
	Description: "The sum of a list of numbers.",
	Params:      []function.Parameter{{Name: "numbers", Type: cty.List(cty.Number)}},
	Type:        function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if args[0].LengthInt() == 0 {
			return cty.NilVal, errors.New("an empty list has no sum")
		}
		sum := new(big.Float)
		for _, v := range args[0].AsValueSlice() {
			if v.IsNull() || v.AsBigFloat().IsInf() {
				return cty.NilVal, errors.New("an element is null or infinite")
			}
			sum.Add(sum, v.AsBigFloat())
		}
		return cty.NumberVal(sum), nil
	},
})

var (
	allTrueFunc = overBools("Whether all elements of a list are true.", true)
	anyTrueFunc = overBools("Whether any element of a list is true.", false)
)

func overBools(doc string, all bool) function.Function {
	return function.New(&function.Spec{
		Description: doc,
		Params:      []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:        function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			result := all
			for i, v := range args[0].AsValueSlice() {
				if v.IsNull() {
					return cty.NilVal, fmt.Errorf("element %d is null", i)
				}
				if all {
					result = result && v.True()
				} else {
					result = result || v.True()
				}
			}
			return cty.BoolVal(result), nil
		},
	})
}
