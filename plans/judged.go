package plans

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans/redact"
)

// Judged is one thing that a plan sets, by its path.
type Judged struct {
	// Path is as in a Difference, Value as a plan would write it, sensitive parts marked.
	Path, Value string
	// At is its block.
	At Range
}

// Judged are all things that a plan sets and its digest covers, in the order of its
// blocks. Empty, zero and false values are left out.
func (p *Plan) Judged() []Judged {
	c := p.canonical()
	c.Decision = p.Decision // written out even if it is the usual one
	w := lister{hide: redact.Whole(p.Hidden)}
	w.value("", reflect.ValueOf(c), p.Range)
	return w.found
}

// lister walks a plan as differ does.
type lister struct {
	hide  *redact.Redactor
	found []Judged
}

func (w *lister) value(path string, v reflect.Value, at Range) {
	v = bare(v)
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.Struct:
		if own, ok := fieldOf(v, "Range").(Range); ok && own != (Range{}) {
			at = own
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == "-" || !field.IsExported() {
				continue
			}
			w.value(below(path, snake(field.Name)), v.Field(i), at)
		}
		return
	case v.Kind() == reflect.Map:
		w.named(path, entries(v), at)
		return
	case v.Kind() == reflect.Slice && blocks(v):
		w.named(path, listed(v), at)
		return
	case v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0:
		return
	}
	if v.IsValid() {
		w.found = append(w.found, Judged{path, w.hide.Text(written(v)), at})
	}
}

func (w *lister) named(path string, all map[string]reflect.Value, at Range) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path, v := below(path, name), bare(all[name])
		switch {
		case !v.IsValid():
			w.found = append(w.found, Judged{path, "null", at}) // it unsets, unlike an absent entry
		case v.IsZero() && v.Kind() != reflect.Struct:
			w.found = append(w.found, Judged{path, fmt.Sprintf("%q", fmt.Sprint(v.Interface())), at})
		default:
			// A block with nothing but its name counts too.
			n := len(w.found)
			w.value(path, v, at)
			if len(w.found) == n {
				w.found = append(w.found, Judged{path, written(v), at})
			}
		}
	}
}

func fieldOf(v reflect.Value, name string) any {
	if f := v.FieldByName(name); f.IsValid() && f.CanInterface() {
		return f.Interface()
	}
	return nil
}
