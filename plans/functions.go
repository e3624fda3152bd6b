package plans

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// pure are the functions that follow from their arguments alone.
var pure = map[string]function.Function{
	// Numbers.
	"abs":      stdlib.AbsoluteFunc,
	"ceil":     stdlib.CeilFunc,
	"floor":    stdlib.FloorFunc,
	"log":      stdlib.LogFunc,
	"max":      stdlib.MaxFunc,
	"min":      stdlib.MinFunc,
	"parseint": stdlib.ParseIntFunc,
	"pow":      stdlib.PowFunc,
	"signum":   stdlib.SignumFunc,
	"sum":      sumFunc,

	// Text.
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

	// Lists, maps and sets.
	"alltrue":         allTrueFunc,
	"anytrue":         anyTrueFunc,
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

	// Types and encodings.
	"base64decode": base64DecodeFunc,
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

// functions are what expressions of this load may call: each under the limits
// of the plan.
func (l *evalScope) functions() map[string]function.Function {
	all := map[string]function.Function{"try": tryFunc, "can": canFunc}
	add := func(name string, f function.Function) { all[name] = l.limited(name, f) }
	for name, f := range pure {
		add(name, f)
	}
	add("env", l.envFunc())
	add("file", l.fileFunc())
	add("templatefile", l.templateFileFunc())
	add("sensitive", l.sensitiveFunc())
	add("nonsensitive", nonsensitiveFunc)
	return all
}

// FunctionNames are the functions that expressions may call, sorted.
func FunctionNames() []string {
	l := &evalScope{}
	return keysOf(l.functions())
}
