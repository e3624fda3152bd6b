package eval

import (
	"reflect"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Read opens a block and decodes it into a struct by the tags of its fields (see
// plans.Fields): labels, attributes and its place. All mistakes are reported; what is
// absent or wrong has its default. A field whose type no attribute fills is left to the
// caller.
func (l *Scope) Read(b *hcl.Block, doc *lang.BlockDoc, into any) *Body {
	f := l.Fields(b, doc)
	block := reflect.ValueOf(into).Elem()
	if at := block.FieldByName("Range"); at.IsValid() {
		at.Set(reflect.ValueOf(lang.RangeOf(b.DefRange)))
	}
	label := 0
	for _, field := range plans.Fields(block.Type()) {
		v := block.Field(field.Index)
		switch {
		case field.Label:
			v.SetString(b.Labels[label])
			label++
		case v.CanSet() && f.doc.Attr(field.Name) != nil: // not "_", nor one of another kind
			f.read(field.Attr, v)
		}
	}
	f.Together(f.doc.Attrs)
	return f
}

func (f *Body) read(a plans.Attr, to reflect.Value) {
	if why := f.Scope.Needs(a); a.Required && a.Type == plans.String {
		f.needText(a.Name, why)
	} else if a.Required {
		f.Required(a.Name, why)
	}
	switch a.Type {
	case plans.Reference:
		if to.Kind() != reflect.String {
			return
		}
	case plans.Strings, plans.Ints, plans.Numbers, plans.Refs, plans.Map, plans.Overrides:
	default:
		if _, isScalar := scalars[a.Type]; !isScalar {
			return
		}
	}
	if a.Type == plans.Refs || a.Type == plans.Reference {
		f.ReadReferences(a.Name)
	}
	decoded := a.Default
	if v, ok := f.Value(a.Name); ok {
		if v, _ := f.Scope.Decode(a, v, f.Attrs[a.Name].Expr); v != nil {
			decoded = v
		}
	}
	plans.Set(to, decoded)
}

// Text is an attribute of one text; empty if it is absent or wrong.
func (f *Body) Text(name string) (text string) {
	a := *f.attr(name)
	a.Required = false
	f.read(a, reflect.ValueOf(&text).Elem())
	return text
}

// needText reports a required text that is absent or blank.
func (f *Body) needText(name, why string) {
	f.Required(name, why)
	if v, ok := f.Value(name); ok && v.Type() == cty.String && strings.TrimSpace(v.AsString()) == "" {
		code := "empty-value"
		if name == "rule" {
			code = "empty-rule"
		}
		f.Scope.Fail(f.At(name), code, "Empty "+name, "%s needs %s: %s", f.What, name, why)
	}
}

// HasErrors reports whether a mistake was found since the block was opened.
func (f *Body) HasErrors() bool { return len(f.Scope.Diags) > f.before }
