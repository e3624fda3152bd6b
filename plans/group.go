package plans

import (
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// group is what one name in a plan stands for: one block, or all that for_each
// or count make of it.
type group struct {
	kind string
	// key is the label; "kind.name" for an engine.
	key       string
	block     *hcl.Block
	instances []*instance
	// empty is what a reference is when nothing was made; cty.NilVal for a block
	// that is not repeated.
	empty cty.Value
}

// groups are the groups by block type, in order, and by name.
type groups struct {
	of   map[string][]*group
	keys map[string]*group
	// names are the instances by "type.name"; filled as they are made.
	names map[string]bool
}

func newGroups() groups {
	return groups{map[string][]*group{}, map[string]*group{}, map[string]bool{}}
}

func (gs groups) add(g *group) {
	gs.of[g.kind] = append(gs.of[g.kind], g)
	gs.keys[g.node()] = g
}

func (g *group) node() string { return g.kind + "." + g.key }

// repeated reports whether the block is made by for_each or count.
func (g *group) repeated() bool {
	return g.empty != cty.NilVal || len(g.instances) > 0 && len(g.instances[0].keys) > 0
}

// newGroup notes a block that others may refer to; nil for any other. A second
// block of a name has no node of its own, and is reported when it is declared.
func (l *loader) newGroup(b *hcl.Block) *group {
	if !isReferable(b.Type) || b.Type == "feature" {
		return nil
	}
	g := &group{kind: b.Type, key: strings.Join(b.Labels, "."), block: b}
	if l.groups.byKey(b.Type, g.key) != nil {
		g.instances = []*instance{l.opened(&instance{block: b})}
		if b.Type == "phase" {
			l.openPhase(g.instances[0])
		}
		return g
	}
	l.groups.add(g)
	return g
}

func (gs groups) byKey(kind, key string) *group { return gs.keys[kind+"."+key] }

// value is what a reference to the group evaluates to: one reference, or a map
// or list of them.
func (g *group) value() cty.Value {
	if !g.repeated() {
		return g.reference(g.block)
	}
	return g.tree(g.instances, 0)
}

func (g *group) reference(b *hcl.Block) cty.Value {
	if g.kind == "engine" {
		return reference(g.kind, b.Labels[0], b.Labels[1])
	}
	return reference(g.kind, "", b.Labels[0])
}

// tree arranges instances by their keys from level on.
func (g *group) tree(list []*instance, level int) cty.Value {
	switch {
	case len(list) == 0:
		return g.empty
	case level == len(list[0].keys):
		return g.reference(list[0].block)
	}
	below := map[string][]*instance{}
	var order []string
	for _, i := range list {
		key := keyText(i.keys[level])
		if below[key] == nil {
			order = append(order, key)
		}
		below[key] = append(below[key], i)
	}
	if list[0].keys[level].Type() == cty.Number {
		var elems []cty.Value
		for _, key := range order {
			elems = append(elems, g.tree(below[key], level+1))
		}
		return cty.TupleVal(elems)
	}
	attrs := map[string]cty.Value{}
	for key, sub := range below {
		attrs[key] = g.tree(sub, level+1)
	}
	return cty.ObjectVal(attrs)
}

// object is the value of a block type's name in expressions: the groups of some
// keys, or all of them, and what was made also by its own name.
func (gs groups) object(kind string, keys []string, all bool) cty.Value {
	list := gs.of[kind]
	if !all {
		list = nil
		for _, key := range keys {
			list = append(list, gs.byKey(kind, key))
		}
	}
	byName := map[string]cty.Value{}
	byKind := map[string]map[string]cty.Value{}
	put := func(labels []string, v cty.Value) {
		if kind != "engine" {
			byName[labels[0]] = v
			return
		}
		if byKind[labels[0]] == nil {
			byKind[labels[0]] = map[string]cty.Value{}
		}
		byKind[labels[0]][labels[1]] = v
	}
	for _, g := range list {
		if g.repeated() {
			for _, i := range g.instances {
				put(i.block.Labels, g.reference(i.block))
			}
		}
	}
	for _, g := range list {
		put(g.block.Labels, g.value())
	}
	for engine, names := range byKind {
		byName[engine] = cty.ObjectVal(names)
	}
	return cty.ObjectVal(byName)
}

// references are the references in a value, however they are grouped.
func references(v cty.Value) (list []cty.Value, ok bool) {
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil, false
	case ty.Equals(referenceType):
		return []cty.Value{v}, true
	case !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() && !ty.IsObjectType() && !ty.IsMapType():
		return nil, false
	}
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		below, ok := references(e)
		if !ok {
			return nil, false
		}
		list = append(list, below...)
	}
	return list, true
}

// instanceNames are the names that a repeated block of the plan has made.
func (gs groups) instanceNames(kind, key string) []string {
	g := gs.byKey(kind, key)
	if g == nil || !g.repeated() {
		return nil
	}
	var names []string
	for _, i := range g.instances {
		var path []string
		for _, k := range i.keys {
			if k.Type() == cty.Number {
				path = append(path, "["+keyText(k)+"]")
			} else {
				path = append(path, `["`+keyText(k)+`"]`)
			}
		}
		names = append(names, kind+"."+key+strings.Join(path, ""))
	}
	sort.Strings(names)
	return names
}
