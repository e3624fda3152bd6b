package plans

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mxflow/mxflow/internal/redact"
)

// Setting is one thing that a plan sets, by its path.
type Setting struct {
	// Path is its place: "workload.chat.output_tokens". Value is as a plan would write it,
	// sensitive parts marked.
	Path, Value string
	// At is its block.
	At Range
}

// Settings are all things that a plan sets and its digest covers, in the order of its
// blocks. Empty, zero and false values are left out.
func (p *Plan) Settings() []Setting {
	w := lister{hide: redact.OnlyWhole(p.Hidden)}
	return w.list(p)
}

// Difference is one thing that differs between two versions of a plan.
type Difference struct {
	// Path is its place: "workload.chat.output_tokens", "feature.moe".
	Path string `json:"path"`
	// Was and Is are in the form that a plan would write; empty if it was absent before,
	// or is absent now. Sensitive values are marked.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
}

// Differences lists the differences of a plan from an earlier version: new and changed
// settings, then removed ones. A block that only one of them has is one difference.
// Anything that does not change the digest is not a difference.
func (p *Plan) Differences(was *Plan) (all []Difference) {
	w := lister{hide: redact.New(append(slices.Clone(p.Hidden), was.Hidden...)), blocks: true}
	before, now := w.list(was), w.list(p)
	// each calls difference for what of a list another has not, or otherwise.
	each := func(list, other []Setting, difference func(j Setting, others string, gone bool)) {
		values, block := map[string]string{}, ""
		for _, j := range other {
			values[j.Path] = j.Value
		}
		for _, j := range list {
			value, there := values[j.Path]
			if value == j.Value || block != "" && strings.HasPrefix(j.Path, block+".") {
				continue
			}
			if block = ""; !there {
				block = j.Path
			}
			difference(j, value, !there)
		}
	}
	each(now, before, func(j Setting, was string, _ bool) { all = append(all, Difference{j.Path, was, j.Value}) })
	each(before, now, func(j Setting, _ string, gone bool) {
		if gone {
			all = append(all, Difference{j.Path, j.Value, ""})
		}
	})
	return all
}

// blockNames are the plan's names for the model's lists of blocks; those with an empty
// name are listed directly under their block.
var blockNames = map[string]string{
	"engines": "engine", "knobs": "knob", "workloads": "workload", "suites": "suite", "protocols": "protocol",
	"targets": "target",
	"phases":  "phase", "features": "feature", "criteria": "criterion", "rules": "rule", "values": "value",
	"levels": "level",
	"steps":  "step", "alternatives": "alternative", "variables": "variable", "attrs": "", "parts": "",
	"summary": "summary",
}

// lister walks a plan; with blocks it lists each of them before what is in it.
type lister struct {
	hide   *redact.Redactor
	blocks bool
	found  []Setting
}

func (w *lister) list(p *Plan) []Setting {
	c := p.canonical()
	c.Decision, w.found = p.Decision, nil // written out even if it is the usual one
	w.value("", reflect.ValueOf(c), p.Range)
	return w.found
}

func (w *lister) value(path string, v reflect.Value, at Range) {
	v = bare(v)
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.Struct:
		if own := v.FieldByName("Range"); own.IsValid() && !own.IsZero() {
			at = own.Interface().(Range)
		}
		if w.blocks && path != "" {
			w.found = append(w.found, Setting{path, "{…}", at})
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == "-" || !field.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("hcl"), ",")
			w.value(subPath(path, cmp.Or(name, snake(field.Name))), v.Field(i), at)
		}
		return
	case v.Kind() == reflect.Map:
		all := map[string]reflect.Value{}
		for _, key := range v.MapKeys() {
			all[fmt.Sprint(key)] = v.MapIndex(key)
		}
		w.named(path, all, at)
		return
	case v.Kind() == reflect.Slice && v.Len() > 0 && bare(v.Index(0)).Kind() == reflect.Struct:
		w.named(path, listed(v), at)
		return
	case v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0:
		return
	}
	if v.IsValid() {
		w.found = append(w.found, Setting{path, w.hide.Text(written(v)), at})
	}
}

func (w *lister) named(path string, all map[string]reflect.Value, at Range) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path, v := subPath(path, name), bare(all[name])
		switch {
		case !v.IsValid():
			w.found = append(w.found, Setting{path, "null", at}) // it unsets, unlike an absent entry
		case v.IsZero() && v.Kind() != reflect.Struct:
			w.found = append(w.found, Setting{path, fmt.Sprintf("%q", fmt.Sprint(v.Interface())), at})
		default:
			// A block with nothing but its name counts too.
			n := len(w.found)
			w.value(path, v, at)
			if len(w.found) == n {
				w.found = append(w.found, Setting{path, written(v), at})
			}
		}
	}
}

func bare(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

// listed are blocks by name; those without a name by position.
func listed(list reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for i := range list.Len() {
		v := bare(list.Index(i))
		var words []string
		for _, field := range []string{"Kind", "Name"} {
			if f := v.FieldByName(field); f.IsValid() && f.Kind() == reflect.String && f.String() != "" {
				words = append(words, f.String())
			}
		}
		name := strings.Join(words, ".")
		if _, taken := out[name]; name == "" || taken {
			name = strings.TrimPrefix(fmt.Sprintf("%s[%d]", name, i), ".")
		}
		out[name] = v
	}
	return out
}

// subPath is a path within another, in the words of plans. A phrase, as rules may be named
// by, is quoted.
func subPath(path, name string) string {
	if strings.ContainsAny(name, " \"") {
		return fmt.Sprintf("%s[%q]", path, name)
	}
	if word, ok := blockNames[name]; ok {
		name = word
	}
	return strings.Trim(path+"."+name, ".")
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// written is a value in a plan's notation: a list of one as its element, and a block as
// "{…}".
func written(v reflect.Value) string {
	v = bare(v)
	if !v.IsValid() {
		return ""
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map:
		return "{…}"
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	case reflect.Slice:
		if v.Len() == 1 {
			return written(v.Index(0))
		}
		var parts []string
		for i := range v.Len() {
			parts = append(parts, written(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return fmt.Sprintf("%q", d)
	}
	return fmt.Sprint(v.Interface())
}
