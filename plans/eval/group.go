package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans/lang"
)

// Group is the meaning of one name in a plan: one block, or all blocks that for_each
// makes of it.
type Group struct {
	Kind string
	// Key is the label; "kind.name" for an engine.
	Key       string
	Block     *hcl.Block
	Instances []*Instance
	ForEach   bool
}

// groups are the groups by block type, in order, and by name.
type groups struct {
	Of   map[string][]*Group
	keys map[string]*Group
	// Names are the instances by "type.name"; filled as they are made.
	Names map[string]bool
}

func (gs groups) Add(g *Group) {
	gs.Of[g.Kind] = append(gs.Of[g.Kind], g)
	gs.keys[g.Node()] = g
}

func (g *Group) Node() string { return g.Kind + "." + g.Key }

// Repeated reports whether the block is made by for_each, its own or its phase's.
func (g *Group) Repeated() bool {
	return g.ForEach || len(g.Instances) > 0 && len(g.Instances[0].Keys) > 0
}

func (gs groups) ByKey(kind, key string) *Group { return gs.keys[kind+"."+key] }

func (g *Group) reference(b *hcl.Block) cty.Value {
	if g.Kind == "engine" {
		return lang.Reference(g.Kind, b.Labels[0], b.Labels[1])
	}
	return lang.Reference(g.Kind, "", b.Labels[0])
}

// tree arranges instances by their keys from level on.
func (g *Group) tree(list []*Instance, level int) cty.Value {
	switch {
	case len(list) == 0:
		return cty.MapValEmpty(lang.ReferenceType)
	case level == len(list[0].Keys):
		return g.reference(list[0].Block)
	}
	below := map[string][]*Instance{}
	for _, i := range list {
		below[i.Keys[level]] = append(below[i.Keys[level]], i)
	}
	attrs := map[string]cty.Value{}
	for key, sub := range below {
		attrs[key] = g.tree(sub, level+1)
	}
	return cty.ObjectVal(attrs)
}

// Object is the value of a block type's name in expressions: the groups of some keys, or
// all of them, and each instance also by its own name.
func (gs groups) Object(kind string, keys []string, all bool) cty.Value {
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
	list := gs.Of[kind]
	if !all {
		list = nil
		for _, key := range keys {
			list = append(list, gs.ByKey(kind, key))
		}
	}
	for _, g := range list {
		for _, i := range g.Instances {
			put(i.Block.Labels, g.reference(i.Block))
		}
	}
	for _, g := range list { // a name in the plan comes before that of an instance
		if g.Repeated() {
			put(g.Block.Labels, g.tree(g.Instances, 0))
		} else {
			put(g.Block.Labels, g.reference(g.Block))
		}
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
	case ty.Equals(lang.ReferenceType):
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

// Instance is one block of the plan: as written, or made by for_each.
type Instance struct {
	// Block has the instance's own name as its last label.
	Block *hcl.Block
	// Keys lead from the name in the plan to the instance: none, one, or the
	// key of the phase and then the feature's own.
	Keys []string
	// Each is the meaning of each in it; cty.NilVal if it has none.
	Each cty.Value
}
