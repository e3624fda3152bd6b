package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// ref is a reference to a block of one of some types; nil where there is none.
func (f *body) ref(name string, blocks ...string) *ref {
	f.readReferences(name)
	v, ok := f.value(name)
	if !ok {
		return nil
	}
	r, ok := f.l.asRef(v, f.at(name), name, blocks...)
	if !ok {
		return nil
	}
	return &r
}

// refs is a list of references to blocks of one type, none of them twice.
func (f *body) refs(name, block string) []ref {
	f.readReferences(name)
	v, ok := f.value(name)
	if !ok {
		return nil
	}
	elems, ok := f.l.references(f.attrs[name].Expr, v)
	if !ok {
		f.wrongType(name, fmt.Sprintf("a list of references, such as [%s.name]", block), v)
		return nil
	}
	var list []ref
	seen := map[string]bool{}
	for _, e := range elems {
		r, ok := f.l.asRef(e.v, e.at, name, block)
		switch {
		case !ok:
		case seen[r.key]:
			f.l.fail(e.at, "Duplicate reference", "%s is in %s already. Remove one.", r, name)
		default:
			seen[r.key] = true
			list = append(list, r)
		}
	}
	return list
}

// references are the elements of a list of references. All that for_each or
// count have made of a block counts as so many elements, wherever one may stand.
func (l *evalScope) references(expr hcl.Expression, v cty.Value) ([]element, bool) {
	if ty := v.Type(); !v.IsNull() && (ty.IsObjectType() || ty.IsMapType()) && !ty.Equals(referenceType) {
		list, ok := references(v)
		var elems []element
		for _, r := range list {
			elems = append(elems, element{r, expr.Range()})
		}
		return elems, ok
	}
	elems, ok := l.elements(expr, v)
	var all []element
	for _, e := range elems {
		list, grouped := references(e.v)
		if !grouped {
			all = append(all, e) // what is wrong with it is said where it is read
			continue
		}
		for _, r := range list {
			all = append(all, element{r, e.at})
		}
	}
	return all, ok
}
