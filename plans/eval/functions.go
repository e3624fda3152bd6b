package eval

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/mxflow/mxflow/plans/lang"
)

// pure are the functions that depend on their arguments alone.
var pure = map[string]function.Function{
	"abs":      stdlib.AbsoluteFunc,
	"ceil":     stdlib.CeilFunc,
	"floor":    stdlib.FloorFunc,
	"log":      stdlib.LogFunc,
	"max":      stdlib.MaxFunc,
	"min":      stdlib.MinFunc,
	"parseint": stdlib.ParseIntFunc,
	"pow":      stdlib.PowFunc,
	"signum":   stdlib.SignumFunc,

	"chomp":      stdlib.ChompFunc,
	"endswith":   endsWithFunc,
	"format":     stdlib.FormatFunc,
	"formatlist": stdlib.FormatListFunc,
	"indent":     stdlib.IndentFunc,
	"join":       stdlib.JoinFunc,
	"lower":      stdlib.LowerFunc,
	"regex":      stdlib.RegexFunc,
	"regexall":   stdlib.RegexAllFunc,
	"replace":    replaceFunc,
	"split":      stdlib.SplitFunc,
	"startswith": startsWithFunc,
	"strlen":     stdlib.StrlenFunc,
	"strrev":     stdlib.ReverseFunc,
	"substr":     stdlib.SubstrFunc,
	"title":      stdlib.TitleFunc,
	"trim":       stdlib.TrimFunc,
	"trimprefix": stdlib.TrimPrefixFunc,
	"trimspace":  stdlib.TrimSpaceFunc,
	"trimsuffix": stdlib.TrimSuffixFunc,
	"upper":      stdlib.UpperFunc,

	"chunklist":       stdlib.ChunklistFunc,
	"coalesce":        stdlib.CoalesceFunc,
	"coalescelist":    stdlib.CoalesceListFunc,
	"compact":         stdlib.CompactFunc,
	"concat":          stdlib.ConcatFunc,
	"contains":        stdlib.ContainsFunc,
	"distinct":        stdlib.DistinctFunc,
	"element":         stdlib.ElementFunc,
	"flatten":         stdlib.FlattenFunc,
	"keys":            stdlib.KeysFunc,
	"length":          lengthFunc,
	"lookup":          stdlib.LookupFunc,
	"merge":           stdlib.MergeFunc,
	"range":           stdlib.RangeFunc,
	"reverse":         stdlib.ReverseListFunc,
	"setintersection": stdlib.SetIntersectionFunc,
	"setproduct":      stdlib.SetProductFunc,
	"setsubtract":     stdlib.SetSubtractFunc,
	"setunion":        stdlib.SetUnionFunc,
	"slice":           stdlib.SliceFunc,
	"sort":            stdlib.SortFunc,
	"values":          stdlib.ValuesFunc,
	"zipmap":          stdlib.ZipmapFunc,

	"base64encode": base64EncodeFunc,
	"csvdecode":    stdlib.CSVDecodeFunc,
	"jsondecode":   stdlib.JSONDecodeFunc,
	"jsonencode":   stdlib.JSONEncodeFunc,
	"sha256":       sha256Func,
	"tobool":       stdlib.MakeToFunc(cty.Bool),
	"tolist":       stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
	"tomap":        stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
	"tonumber":     stdlib.MakeToFunc(cty.Number),
	"toset":        stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tostring":     stdlib.MakeToFunc(cty.String),
	"urlencode":    urlEncodeFunc,

	// Dates, as text that the plan holds: there is no "now".
	"formatdate": stdlib.FormatDateFunc,
	"timeadd":    stdlib.TimeAddFunc,
}

// Functions are what expressions of this load may call.
func (l *Scope) Functions() map[string]function.Function {
	all := maps.Clone(pure)
	all["try"] = tryfunc.TryFunc.WithNewDescriptions("The first argument that can be evaluated.", []string{""})
	all["can"] = tryfunc.CanFunc.WithNewDescriptions("Whether an expression can be evaluated.", []string{""})
	all["env"] = l.Inputs.envFunc()
	all["file"] = onTexts("The text of a file below the plan's folder.", cty.String, []string{"path"},
		func(a []string) (cty.Value, error) {
			text, err := l.Inputs.readBelow(a[0])
			return cty.StringVal(text), err
		})
	all["sensitive"] = onValue("Marks a value as secret: it is never shown or recorded.", func(v cty.Value) cty.Value {
		l.Secrets.Marked = true
		v = v.Mark(Sensitive)
		l.Secrets.Collect(v)
		return v
	})
	all["nonsensitive"] = onValue("Declares that a value computed from a secret is not secret.",
		func(v cty.Value) cty.Value {
			v, _ = v.UnmarkDeep()
			return v
		})
	return all
}

func onTexts(doc string, result cty.Type, params []string,
	do func(args []string) (cty.Value, error),
) function.Function {
	spec := &function.Spec{Description: doc, Type: function.StaticReturnType(result)}
	for _, name := range params {
		spec.Params = append(spec.Params, function.Parameter{Name: name, Type: cty.String})
	}
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var texts []string
		for _, a := range args {
			texts = append(texts, a.AsString())
		}
		return do(texts)
	}
	return function.New(spec)
}

var (
	startsWithFunc = onTexts("Whether a text starts with another.", cty.Bool, []string{"text", "prefix"},
		func(a []string) (cty.Value, error) {
			return cty.BoolVal(strings.HasPrefix(a[0], a[1])), nil
		})
	endsWithFunc = onTexts("Whether a text ends with another.", cty.Bool, []string{"text", "suffix"},
		func(a []string) (cty.Value, error) {
			return cty.BoolVal(strings.HasSuffix(a[0], a[1])), nil
		})
	base64EncodeFunc = onTexts("Encodes a text in base64.", cty.String, []string{"text"},
		func(a []string) (cty.Value, error) {
			return cty.StringVal(base64.StdEncoding.EncodeToString([]byte(a[0]))), nil
		})
	sha256Func = onTexts("The SHA-256 of a text, in hex.", cty.String, []string{"text"},
		func(a []string) (cty.Value, error) {
			sum := sha256.Sum256([]byte(a[0]))
			return cty.StringVal(hex.EncodeToString(sum[:])), nil
		})
	urlEncodeFunc = onTexts("Escapes a text for a URL's query.", cty.String, []string{"text"},
		func(a []string) (cty.Value, error) {
			return cty.StringVal(url.QueryEscape(a[0])), nil
		})
	replaceFunc = onTexts("Replaces each occurrence of a text, or of a regular expression between slashes.",
		cty.String, []string{"text", "old", "new"}, func(a []string) (cty.Value, error) {
			if old := a[1]; len(old) > 2 && strings.HasPrefix(old, "/") && strings.HasSuffix(old, "/") {
				return stdlib.RegexReplace(cty.StringVal(a[0]), cty.StringVal(old[1:len(old)-1]), cty.StringVal(a[2]))
			}
			return cty.StringVal(strings.ReplaceAll(a[0], a[1], a[2])), nil
		})
)

// lengthFunc is the length of a list or map, or of a text in characters.
var lengthFunc = function.New(&function.Spec{
	Description: "The number of elements of a list or map, or of characters of a text.",
	Params:      []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
	Type:        function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch v := args[0]; {
		case v.Type() == cty.String:
			return stdlib.Strlen(v)
		case v.Type().IsObjectType() || v.Type().IsTupleType() || v.Type().IsCollectionType():
			return cty.NumberIntVal(int64(v.LengthInt())), nil
		default:
			return cty.NilVal,
				function.NewArgErrorf(0, "%s has no length; length takes a list, a map or text", lang.Describe(v))
		}
	},
})

// onValue is a function of one value of any type, which it keeps.
func onValue(doc string, do func(cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Description: doc,
		Params: []function.Parameter{{
			Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true, AllowMarked: true,
		}},
		Type: func(args []cty.Value) (cty.Type, error) {
			v, _ := args[0].UnmarkDeep()
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return do(args[0]), nil },
	})
}

// unoffered are functions that people look for, and why there are none.
var unoffered = map[string]string{
	"timestamp": "a plan that reads the clock would differ at every load, and no earlier measurement could be " +
		"reused",
	"plantimestamp": "a plan that reads the clock would differ at every load, and no earlier measurement could be " +
		"reused",
	"now": "a plan that reads the clock would differ at every load, and no earlier measurement could be " +
		"reused",
	"uuid":         "a random plan would differ at every load, and no earlier measurement could be reused",
	"bcrypt":       "its result differs every time, and no earlier measurement could be reused",
	"filesha256":   "use sha256(file(path)) for text files",
	"fileexists":   "use try(file(path), …) with a fallback for a missing file",
	"templatefile": "use a heredoc with ${ }, or replace(file(path), …)",
	"alltrue":      "use !contains(list, false)",
	"anytrue":      "use contains(list, true)",
	"getenv":       "use env(\"NAME\", \"default\")",
	"one":          "use try(list[0], null)",
}

// explained adds to the evaluator's own messages what it does not know.
func explained(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok &&
			unoffered[call.CalledFunctionName()] != "" {
			d.Detail = fmt.Sprintf("There is no function %q: %s.", call.CalledFunctionName(),
				unoffered[call.CalledFunctionName()])
		}
		call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
		// Several functions of cty panic at what they do not expect, such as null keys, or the
		// logarithm of a negative number.
		if panicked := (function.PanicError{}); ok && errors.As(call.FunctionCallError(), &panicked) {
			d.Detail = fmt.Sprintf("Call to function %q failed: it has no result for these arguments. Check them for "+
				"null, and for numbers that it cannot take.", call.CalledFunctionName())
		}
		if d.Subject == nil && d.Context != nil {
			d.Subject = d.Context
		}
	}
	return diags
}
