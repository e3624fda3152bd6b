package plans

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/internal/sorted"
)

// Field is a field of a block's struct whose tags declare an attribute or a label.
type Field struct {
	Attr
	// Index is the field's; Label means that it holds a label.
	Index int
	Label bool
	// Kinds are the first labels whose blocks have it; nil if all do.
	Kinds []string
	group string
}

// Fields reads the tags of a block's struct, the one place where an attribute is
// described:
//
//	hcl:"depth,optional"   its name, and that it may be absent; or "name,label"
//	doc:"…"                its text in manual and JSON Schema, with 'word' for `word`
//	needs:"…"              what it is for, in the message that says that it is missing
//	type:"…"               its AttrType, where the type of the field does not tell
//	default, unit, min, max, oneof:"a|b", ref:"block", program:"true", note:"true",
//	filled:"true", unique:"true"   see Attr
//	group:"…"              attributes of a group are described together
//	kinds:"a|b"            the first labels whose blocks have it, if not all do
//	excludes:"a|b=x"       what it contradicts: attribute a, block a, or attribute b of value x
//	requires:"a|b=x"       without any of which it has no effect
//	unless:"a|b=x"         without any of which it is required
//
// A field "_" declares an attribute that the block's decoder reads itself.
func Fields(of reflect.Type) []Field {
	if known, ok := fieldsOf.Load(of); ok {
		return known.([]Field)
	}
	var all []Field
	var groups []string
	for i := range of.NumField() {
		f := of.Field(i)
		name, kind, _ := strings.Cut(f.Tag.Get("hcl"), ",")
		if name == "" {
			continue
		}
		field := Field{Attr: attrOf(f), Index: i, Label: kind == "label", group: f.Tag.Get("group")}
		field.Name, field.Required = name, kind == ""
		if kinds := f.Tag.Get("kinds"); kinds != "" {
			field.Kinds = strings.Split(kinds, "|")
		}
		if !slices.Contains(groups, field.group) {
			groups = append(groups, field.group)
		}
		all = append(all, field)
	}
	slices.SortStableFunc(all, func(a, b Field) int {
		return slices.Index(groups, a.group) - slices.Index(groups, b.group)
	})
	fieldsOf.Store(of, all)
	return all
}

var fieldsOf sync.Map

// Attrs are the attributes that the tags of a struct declare.
func Attrs(block any) (attrs []Attr) {
	for _, f := range Fields(reflect.TypeOf(block)) {
		if !f.Label {
			attrs = append(attrs, f.Attr)
		}
	}
	return attrs
}

// goTypes are the attributes that fields of these types hold unless a tag tells otherwise.
var goTypes = map[reflect.Type]AttrType{
	reflect.TypeFor[string]():            String,
	reflect.TypeFor[bool]():              Bool,
	reflect.TypeFor[float64]():           Number,
	reflect.TypeFor[int]():               Int,
	reflect.TypeFor[time.Duration]():     Duration,
	reflect.TypeFor[Dur]():               Duration,
	reflect.TypeFor[[]string]():          Strings,
	reflect.TypeFor[[]int]():             Ints,
	reflect.TypeFor[[]float64]():         Numbers,
	reflect.TypeFor[map[string]string](): Map,
	reflect.TypeFor[map[string]any]():    Values,
}

// quoted is a word in quotes; an apostrophe follows a letter.
var quoted = regexp.MustCompile(`(^|[^\pL\pN])'([^']+)'`)

func attrOf(f reflect.StructField) Attr {
	tag := f.Tag.Get
	a := Attr{
		Type: AttrType(tag("type")), Unit: tag("unit"), Ref: tag("ref"), Program: tag("program") == "true",
		Note: tag("note") == "true", Needs: tag("needs"),
		Doc: quoted.ReplaceAllString(tag("doc"), "$1`$2`"),
	}
	a.Filled, a.Unique = tag("filled") == "true", tag("unique") == "true"
	words := func(key string) []string {
		if tag(key) == "" {
			return nil
		}
		return strings.Split(tag(key), "|")
	}
	a.OneOf, a.Excludes, a.Requires, a.Unless = words("oneof"), words("excludes"), words("requires"), words("unless")
	number := func(key string) float64 {
		n, err := strconv.ParseFloat(tag(key), 64)
		if tag(key) != "" && err != nil {
			panic(fmt.Sprintf("plans: tag %s of field %s: %v", key, f.Name, err))
		}
		return n
	}
	_, a.MinSet = f.Tag.Lookup("min")
	a.Min, a.Max = number("min"), number("max")
	switch {
	case a.Type != "":
	case a.Ref != "" && f.Type.Kind() == reflect.Slice:
		a.Type = Refs
	case a.Ref != "":
		a.Type = Reference
	case f.Type.Kind() == reflect.Pointer:
		a.Type = goTypes[f.Type.Elem()]
	default:
		a.Type = goTypes[f.Type]
	}
	switch text, has := f.Tag.Lookup("default"); {
	case !has:
	case a.Type == String || a.Type == Duration:
		a.Default = text
	default:
		if err := json.Unmarshal([]byte(text), &a.Default); err != nil {
			panic(fmt.Sprintf("plans: tag default of field %s: %v", f.Name, err))
		}
	}
	return a
}

// fill sets the fields of a block's struct to the defaults in their tags.
func fill(block any) {
	v := reflect.ValueOf(block).Elem()
	for _, f := range Fields(v.Type()) {
		if v.Field(f.Index).CanSet() { // not "_"
			Set(v.Field(f.Index), f.Default)
		}
	}
}

// Set puts the value of an attribute, as plain data, into a field. Nothing and an empty
// list leave the field as it is.
func Set(to reflect.Value, value any) {
	switch v := value.(type) {
	case bool:
		to.SetBool(v)
	case string:
		switch {
		case to.Kind() == reflect.Pointer:
			to.Set(reflect.ValueOf(&v))
		case to.Type() == reflect.TypeFor[time.Duration]():
			d, _ := time.ParseDuration(v)
			to.SetInt(int64(d))
		default:
			to.SetString(v)
		}
	case float64:
		switch to.Kind() {
		case reflect.Slice:
			Set(to, []any{v})
		case reflect.Int:
			to.SetInt(int64(v))
		default:
			to.SetFloat(v)
		}
	case []any:
		for _, e := range v {
			element := reflect.New(to.Type().Elem()).Elem()
			Set(element, e)
			to.Set(reflect.Append(to, element))
		}
	case map[string]any:
		for key, e := range sorted.All(v) {
			if to.IsNil() {
				to.Set(reflect.MakeMap(to.Type()))
			}
			element := reflect.New(to.Type().Elem()).Elem()
			Set(element, e)
			to.SetMapIndex(reflect.ValueOf(key), element)
		}
	}
}

// Example is the first block of some HCL that starts with these words: what the manual
// shows of it.
func Example(of, words string) string {
	_, text, _ := strings.Cut("\n\n"+of, "\n\n"+words)
	text, _, _ = strings.Cut(text, "\n}\n")
	return words + text + "\n}"
}
