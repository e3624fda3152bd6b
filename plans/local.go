package plans

import (
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

var localsDoc = &BlockDoc{
	Type: "locals", Times: AnyTimes,
	Doc:  "Named values, read as `local.<name>`. They may stand in any order and refer to each other, but not in a circle.",
	Open: &Attr{Name: "name", Type: Anything, Doc: "Any expression."},
	Example: `locals {
  lengths = [512, 2048]
  longest = max(local.lengths...)
}`,
}

// declareLocals declares all locals, in whatever order they stand.
func (l *loader) declareLocals(all hcl.Blocks) map[string]*hcl.Attribute {
	locals := map[string]*hcl.Attribute{}
	for _, b := range all.OfType("locals") {
		attrs, diags := b.Body.JustAttributes()
		l.diags = append(l.diags, diags...)
		var list []*hcl.Attribute
		for _, a := range attrs {
			list = append(list, a)
		}
		sort.Slice(list, func(i, j int) bool { return list[i].Range.Start.Byte < list[j].Range.Start.Byte })
		for _, a := range list {
			if l.declare("local", a.Name, nil, a.NameRange) {
				locals[a.Name] = a
			}
		}
	}
	return locals
}

// local evaluates one local. It keeps the marks of what it is computed from.
func (s *settling) local(name string) {
	a := s.locals[name]
	s.values[name] = cty.DynamicVal
	s.l.at("local."+name, a.Range)
	v, _ := s.l.marked(a.Expr)
	size, _ := sizeOf(v)
	s.values[name], s.l.sizes["local."+name] = v, size
}
