package plans

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mxflow/mxflow/plans/redact"
)

// Difference is one thing that differs between two versions of a plan.
type Difference struct {
	// Path is its place: "workload.chat.output_tokens", "feature.moe".
	Path string `json:"path"`
	// Was and Is are in the form that a plan would write; empty if it was absent before,
	// or is absent now. Sensitive values are marked.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
	// Measured means that launches depend on it, not only decisions.
	Measured bool `json:"measured,omitempty"`
}

// Differences are the differences of a plan from an earlier version, in the order of its
// blocks. Anything that does not change the digest is not a difference.
func (p *Plan) Differences(was *Plan) []Difference {
	d := differ{hide: redact.New(append(slices.Clone(p.Hidden), was.Hidden...))}
	d.value("", reflect.ValueOf(was.canonical()), reflect.ValueOf(p.canonical()))
	return d.found
}

type differ struct {
	hide  *redact.Redactor
	found []Difference
}

// blockNames are the plan's names for the model's lists of blocks; those with an empty
// name are listed directly under their block.
var blockNames = map[string]string{
	"engines": "engine", "knobs": "knob", "workloads": "workload", "suites": "suite", "protocols": "protocol", "targets": "target",
	"phases": "phase", "features": "feature", "criteria": "criterion", "rules": "rule", "values": "value", "levels": "level",
	"steps": "step", "alternatives": "alternative", "variables": "variable", "attrs": "", "parts": "", "summary": "summary",
}

func (d *differ) value(path string, was, is reflect.Value) {
	was, is = bare(was), bare(is)
	switch {
	case !was.IsValid() && !is.IsValid():
	case !was.IsValid() || !is.IsValid() || was.Type() != is.Type():
		d.add(path, was, is)
	case is.Kind() == reflect.Struct:
		for i := range is.NumField() {
			field := is.Type().Field(i)
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == "-" || !field.IsExported() {
				continue
			}
			d.value(below(path, snake(field.Name)), was.Field(i), is.Field(i))
		}
	case is.Kind() == reflect.Map:
		d.named(path, entries(was), entries(is))
	case is.Kind() == reflect.Slice && (blocks(was) || blocks(is)):
		d.named(path, listed(was), listed(is))
	case !reflect.DeepEqual(was.Interface(), is.Interface()):
		d.add(path, was, is)
	}
}

// named compares things that have names: blocks and map entries.
func (d *differ) named(path string, was, is map[string]reflect.Value) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d.value(below(path, name), was[name], is[name])
	}
}

func (d *differ) add(path string, was, is reflect.Value) {
	f := Difference{Path: path, Was: d.hide.Text(written(was)), Is: d.hide.Text(written(is)), Measured: measured(path)}
	if f.Was != f.Is {
		d.found = append(d.found, f)
	}
}

// measured reports whether launches depend on the value at a path.
func measured(path string) bool {
	parts := strings.Split(path, ".")
	switch last := parts[len(parts)-1]; parts[0] {
	case "engine", "knob", "suite":
		return last != "summary"
	case "workload":
		return last != "summary" && last != "coherence" && !strings.HasSuffix(last, "_timeout")
	case "baseline":
		return true
	case "phase":
		return slices.Contains(parts, "set") || slices.Contains(parts, "builds_on")
	}
	return false
}

func bare(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

func blocks(list reflect.Value) bool {
	return list.Len() > 0 && bare(list.Index(0)).Kind() == reflect.Struct
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

func entries(m reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for _, key := range m.MapKeys() {
		out[fmt.Sprint(key)] = m.MapIndex(key)
	}
	return out
}

// below is a path within another, in the words of plans. A phrase, as rules may be named
// by, is quoted.
func below(path, name string) string {
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
