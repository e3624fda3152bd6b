package plans

import (
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// localOrder evaluates locals so that each comes after those it uses.
type localOrder struct {
	l      *loader
	attrs  map[string]*hcl.Attribute
	values map[string]cty.Value
	// path is the chain of locals in hand; done and open mark what has been
	// visited.
	path       []string
	done, open map[string]bool
}

// decodeLocals evaluates all locals, in whatever order they stand.
func (l *loader) decodeLocals(blocks hcl.Blocks) {
	o := &localOrder{
		l: l, attrs: map[string]*hcl.Attribute{}, values: map[string]cty.Value{},
		done: map[string]bool{}, open: map[string]bool{},
	}
	var all []*hcl.Attribute
	for _, b := range blocks {
		attrs, diags := b.Body.JustAttributes()
		l.diags = append(l.diags, diags...)
		for _, a := range attrs {
			all = append(all, a)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Range.Start.Byte < all[j].Range.Start.Byte })
	for _, a := range all {
		if l.declare("local", a.Name, nil, a.NameRange) {
			o.attrs[a.Name] = a
		}
	}
	for _, name := range l.symbols.of("local").order {
		o.visit(name)
	}
	l.eval.ctx.Variables["local"] = cty.ObjectVal(o.values)
}

func (o *localOrder) visit(name string) {
	if o.done[name] {
		return
	}
	o.open[name], o.path = true, append(o.path, name)
	defer func() {
		o.open[name], o.done[name] = false, true
		o.path = o.path[:len(o.path)-1]
	}()
	a := o.attrs[name]
	o.values[name] = cty.DynamicVal
	inScope := map[string]cty.Value{}
	for _, t := range a.Expr.Variables() {
		used, ok := stepName(t, 1)
		if t.RootName() != "local" || !ok || o.attrs[used] == nil {
			continue // reported when the expression is evaluated
		}
		if o.open[used] {
			o.cycle(used, t)
			return
		}
		o.visit(used)
		inScope[used] = o.values[used]
	}
	// Only what it uses is in scope, so that a plan of many locals does not
	// build the object of all of them for each.
	o.l.eval.ctx.Variables["local"] = cty.ObjectVal(inScope)
	v, _ := o.l.value(a.Expr)
	size, _ := sizeOf(v)
	o.values[name], o.l.eval.sizes["local."+name] = v, size
}

func (o *localOrder) cycle(used string, t hcl.Traversal) {
	from := 0
	for o.path[from] != used {
		from++
	}
	var words []string
	for _, n := range append(append([]string(nil), o.path[from:]...), used) {
		words = append(words, "local."+n)
	}
	o.l.fail(t.SourceRange(), "Cycle of locals", "A local cannot depend on itself: %s. Break the circle.", strings.Join(words, " → "))
}
