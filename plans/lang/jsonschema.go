package lang

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
)

// schemaDialect is the version of JSON Schema that is written.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// Object is a JSON object; its keys are written in alphabetical order.
type Object map[string]any

// JSONSchema is the schema of a language, including all definitions that it needs.
func JSONSchema(d *BlockDoc, title string) Object {
	w := &schemaWriter{defs: Object{
		"template": Object{
			"type": "string", "pattern": `[$%]\{`,
			"description": "A template with ${ }. If it is nothing but one ${ }, it may have any type.",
		},
	}}
	root := w.body("", d)
	root["$schema"] = schemaDialect
	root["title"] = title
	root["$defs"] = w.defs
	return root
}

type schemaWriter struct{ defs Object }

func refTo(name string) Object { return Object{"$ref": "#/$defs/" + name} }

func (w *schemaWriter) body(path string, d *BlockDoc) Object {
	properties, required := Object{}, []string{}
	for _, a := range d.Attrs {
		properties[a.Name] = w.attr(a, d)
		if a.Required {
			required = append(required, a.Name)
		}
	}
	for _, b := range d.Blocks {
		properties[b.Type] = w.block(join(path, b.Type), b)
		if b.Times == plans.Once || b.Times == plans.AtLeast1 {
			required = append(required, b.Type)
		}
	}
	for _, a := range d.RepeatAttrs() {
		properties[a.Name] = w.attr(a, d)
	}
	if path == "" || len(d.Blocks) > 0 {
		properties[DynamicType] = Object{"type": []string{"object", "array"}, "description": dynamicText}
		// A dynamic block may make a block that would be missing.
		required = slices.DeleteFunc(required, func(name string) bool { return d.Attr(name) == nil })
	}
	s := Object{"type": "object", "description": d.Doc, "properties": properties, "additionalProperties": false}
	if d.Open != nil {
		s["additionalProperties"] = w.attr(*d.Open, d)
	}
	switch {
	case len(required) > 0:
		s["required"] = required
	case path != "":
		s["type"] = []string{"object", "null"} // an empty body may be left out
	}
	if a := d.Attr("settings"); a != nil && d.Settings != nil {
		s["properties"].(Object)[a.Name] = Object{
			"description": attrText(*a),
			"anyOf":       []any{w.settings(d.Settings), refTo("template"), Object{"type": "null"}},
		}
	}
	return s
}

// block is the schema of all blocks of a type: a level of keys for each label
// around the body.
func (w *schemaWriter) block(path string, d *BlockDoc) Object {
	labels := d.Labels
	var s Object
	if d.Kinds == nil {
		w.defs[path] = w.body(path, d)
		s = oneOrMore(refTo(path))
	} else {
		// The first label chooses the body.
		kinds := Object{}
		for _, kind := range KeysOf(d.Kinds) {
			body := d.Kinds[kind]
			name := join(path, kind)
			w.defs[name] = w.body(path, body)
			kinds[kind] = labelled(oneOrMore(refTo(name)), body.Labels[1:])
			kinds[kind].(Object)["description"] = body.Doc
		}
		s = oneOrMore(Object{
			"type": "object", "properties": kinds, "additionalProperties": false,
			"description": labels[0].Doc,
		})
		labels = nil
	}
	s = labelled(s, labels)
	s["description"] = d.Doc
	return s
}

// labelled wraps a body in a level of keys for each label.
func labelled(s Object, labels []Label) Object {
	for i := len(labels) - 1; i >= 0; i-- {
		s = oneOrMore(Object{"type": "object", "additionalProperties": s, "description": labels[i].Doc})
	}
	return s
}

// oneOrMore lets a list stand for several.
func oneOrMore(s Object) Object {
	return Object{"anyOf": []any{s, Object{"type": "array", "items": s}}}
}

func join(path, name string) string {
	return strings.TrimPrefix(path+"."+name, ".")
}

// attr is the schema of an attribute: its type, a template, or null, which
// counts as not written.
func (w *schemaWriter) attr(a plans.Attr, d *BlockDoc) Object {
	options := valueSchemas(a)
	if a.Name == "settings" && d.Settings != nil {
		options = []any{w.settings(d.Settings)}
	}
	if options == nil {
		return Object{"description": attrText(a)}
	}
	options = append(options, refTo("template"), Object{"type": "null"})
	s := Object{"anyOf": options, "description": attrText(a)}
	if a.Default != nil {
		s["default"] = a.Default
	}
	return s
}

// valueSchemas are the forms in which the value of an attribute can be written out; nil
// if it can be anything.
func valueSchemas(a plans.Attr) []any {
	text, number := Object{"type": "string"}, Object{"type": "number"}
	if a.MinSet {
		number["minimum"] = a.Min
	}
	if a.Max != 0 {
		number["maximum"] = a.Max
	}
	if len(a.OneOf) > 0 {
		text["enum"] = a.OneOf
	}
	if a.Type == plans.Int || a.Type == plans.Ints || a.Type == plans.Bounds {
		number["type"] = "integer"
	}
	mapOf := func(values ...any) Object {
		return Object{"type": "object", "additionalProperties": Object{"anyOf": values}}
	}
	template := refTo("template")
	listOf := func(element Object) Object {
		return Object{"type": "array", "items": Object{"anyOf": []any{element, template}}}
	}
	switch a.Type {
	case plans.String, plans.RuleText, plans.TypeExpr:
		return []any{text}
	case plans.Bool, plans.Condition:
		return []any{Object{"type": "boolean"}}
	case plans.Number, plans.Int:
		return []any{number}
	case plans.Numbers, plans.Ints:
		return []any{number, listOf(number)}
	case plans.Bounds:
		bound := Object{"anyOf": []any{number, template}}
		return []any{Object{
			"type": "object", "properties": Object{"min": bound, "max": bound},
			"additionalProperties": false,
		}}
	case plans.Duration:
		return []any{Object{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}}
	case plans.Strings:
		return []any{listOf(text)}
	case plans.Columns:
		text := Object{"anyOf": []any{text, template}}
		return []any{listOf(Object{"anyOf": []any{text, Object{
			"type": "object", "properties": Object{"column": text, "heading": text}, "required": []string{"column"},
			"additionalProperties": false,
		}}})}
	case plans.Refs:
		return []any{listOf(referenceSchema(a)), referenceSchema(a)} // or the name of a list
	case plans.Reference:
		return []any{referenceSchema(a)}
	case plans.Map, plans.Choices:
		return []any{mapOf(Object{"type": "string"})}
	case plans.Alternatives:
		return []any{mapOf(listOf(Object{"type": "string"}), template)}
	case plans.Overrides:
		return []any{mapOf(Object{"type": "string"}, Object{"type": "null"})}
	case plans.Factors:
		return []any{mapOf(number, template)}
	case plans.Values:
		return []any{Object{"type": "object"}}
	case plans.Beaten:
		return []any{mapOf(mapOf(number, template), template)}
	}
	return nil
}

// referenceSchema is a reference, which needs no ${ } in YAML.
func referenceSchema(a plans.Attr) Object {
	pattern := "^(" + a.Ref + "|local|var|each)[.[]"
	for _, word := range a.OneOf {
		pattern += "|^" + word + "$"
	}
	return Object{"type": "string", "pattern": pattern}
}

// attrText is what an editor shows about an attribute.
func attrText(a plans.Attr) string {
	notes := a.TypeText()
	if a.Required {
		notes += "; required"
	}
	if a.Default != nil {
		notes += "; default " + plans.Written(a.Default)
	}
	return a.Doc + " (" + notes + ")"
}

// settings are the options of an engine kind.
func (w *schemaWriter) settings(list []plans.Attr) Object {
	properties := Object{}
	for _, a := range list {
		properties[a.Name] = w.attr(a, &BlockDoc{})
	}
	return Object{"type": "object", "properties": properties, "additionalProperties": false}
}
