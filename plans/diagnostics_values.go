package plans

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// DiagnosticValue is something that a mistaken expression uses, and its value,
// shortened, as a person would write it.
type DiagnosticValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const (
	// maxShownValues and maxShownText keep a diagnostic from burying its point.
	maxShownValues = 8
	maxShownText   = 60
)

// sensitiveText stands for what must not be shown.
const sensitiveText = "(sensitive)"

// ValuesOf lists what the expression of a diagnostic uses. References to blocks
// are left out: they have no value that would help.
func ValuesOf(d *hcl.Diagnostic) (list []DiagnosticValue) {
	if d.Expression == nil || d.EvalContext == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, t := range d.Expression.Variables() {
		name, v, ok := lookUp(t, d.EvalContext)
		if !ok || seen[name] || len(list) == maxShownValues {
			continue
		}
		seen[name] = true
		if text, ok := shown(v); ok {
			list = append(list, DiagnosticValue{name, text})
		}
	}
	return list
}

// lookUp follows a traversal as far as there is something.
func lookUp(t hcl.Traversal, ctx *hcl.EvalContext) (string, cty.Value, bool) {
	least := 1
	switch t.RootName() {
	case "var", "local", "each", "count", "self":
		least = 2
	}
	for n := len(t); n >= least; n-- {
		v, diags := t[:n].TraverseAbs(ctx)
		if diags.HasErrors() {
			continue
		}
		return traversalText(t[:n]), v, true
	}
	return "", cty.NilVal, false
}

// traversalText is a traversal as it is written.
func traversalText(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(step.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + step.Name)
		case hcl.TraverseIndex:
			text, _ := shown(step.Key)
			b.WriteString("[" + text + "]")
		}
	}
	return b.String()
}

// shown is a value in a few words; false where it says nothing.
func shown(v cty.Value) (string, bool) {
	if v.IsMarked() {
		return sensitiveText, true
	}
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return "", false
	case v.IsNull():
		return "null", true
	case ty.Equals(referenceType):
		return "", false
	case ty == cty.String:
		return strconv.Quote(shorten(v.AsString(), maxShownText)), true
	case ty == cty.Number:
		return v.AsBigFloat().Text('g', 15), true
	case ty == cty.Bool:
		return strconv.FormatBool(v.True()), true
	case ty.IsObjectType(), ty.IsMapType():
		return shownMap(v)
	case ty.IsTupleType(), ty.IsListType(), ty.IsSetType():
		return shownList(v), true
	}
	return "", false
}

func shownList(v cty.Value) string {
	var words []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		text, ok := shown(e)
		if !ok || len(strings.Join(words, ", "))+len(text) > maxShownText {
			return fmt.Sprintf("a list of %d elements", v.LengthInt())
		}
		words = append(words, text)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// shownMap names the keys: values of a map are seldom what is wrong. A map of
// references to blocks says nothing at all.
func shownMap(v cty.Value) (string, bool) {
	var keys []string
	useful := v.LengthInt() == 0
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		_, ok := shown(e)
		useful = useful || ok
		keys = append(keys, k.AsString())
	}
	sort.Strings(keys)
	switch {
	case !useful:
		return "", false
	case len(keys) == 0:
		return "an empty map", true
	}
	return "a map with " + shorten(strings.Join(keys, ", "), maxShownText), true
}

func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// evaluated is an expression that used something, and in which scope.
type evaluated struct {
	expr hcl.Expression
	ctx  *hcl.EvalContext
}

// remember notes an expression, so that a mistake found in its value later can
// say what it was made of.
func (l *report) remember(expr hcl.Expression, ctx *hcl.EvalContext) {
	if l.evaluated == nil {
		l.evaluated = map[hcl.Range]evaluated{}
	}
	l.evaluated[expr.Range()] = evaluated{expr, ctx}
}

// explain adds to a diagnostic the expression that stands at its place.
func (l *report) explain(d *hcl.Diagnostic) {
	if d.Expression != nil || d.Subject == nil {
		return
	}
	if e, ok := l.evaluated[*d.Subject]; ok {
		d.Expression, d.EvalContext = e.expr, e.ctx
	}
}

// explainAll does so for diagnostics about a part of an expression, such as an
// element of a list or a name in a rule.
func (l *report) explainAll(diags hcl.Diagnostics) {
	ranges := make([]hcl.Range, 0, len(l.evaluated))
	for r := range l.evaluated {
		ranges = append(ranges, r)
	}
	sort.Slice(ranges, func(i, j int) bool { return before(ranges[i], ranges[j]) })
	for _, d := range diags {
		if d.Expression != nil || d.Subject == nil {
			continue
		}
		// Expressions of attributes do not overlap: the last that begins
		// before the place is the only one that can hold it.
		i := sort.Search(len(ranges), func(i int) bool { return before(*d.Subject, ranges[i]) }) - 1
		if i >= 0 && ranges[i].Filename == d.Subject.Filename && ranges[i].End.Byte >= d.Subject.End.Byte {
			e := l.evaluated[ranges[i]]
			d.Expression, d.EvalContext = e.expr, e.ctx
		}
	}
}

// before orders ranges by file and start.
func before(a, b hcl.Range) bool {
	if a.Filename != b.Filename {
		return a.Filename < b.Filename
	}
	return a.Start.Byte < b.Start.Byte
}
