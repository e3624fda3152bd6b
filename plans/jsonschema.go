package plans

import (
	"encoding/json"
	"strings"
)

// schemaDialect is the version of JSON Schema that is written.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// object is a JSON object; its keys are written in alphabetical order.
type object map[string]any

// JSONSchema describes plans in YAML for editors, made of the same description
// as decoders and manual. Block types are keys, labels the keys below them, and
// at each level a list may stand for several; a text with ${ } or %{ } may stand
// wherever a value may.
func JSONSchema(reg *Registry) ([]byte, error) {
	return json.MarshalIndent(schemaOf(Describe(reg), "mxflow plan"), "", "  ")
}

// schemaOf is the schema of a language with all definitions that it needs.
func schemaOf(d *BlockDoc, title string) object {
	w := &schemaWriter{defs: object{
		"template": object{
			"type": "string", "pattern": `[$%]\{`,
			"description": "A text with ${ } in it, which is evaluated. One that is nothing but ${ } may have any type.",
		},
	}}
	root := w.body("", d)
	root["$schema"] = schemaDialect
	root["title"] = title
	root["$defs"] = w.defs
	return root
}

// schemaWriter collects the definitions of all blocks.
type schemaWriter struct{ defs object }

func refTo(name string) object { return object{"$ref": "#/$defs/" + name} }

// body is the schema of what stands in a block.
func (w *schemaWriter) body(path string, d *BlockDoc) object {
	properties, required := object{}, []string{}
	for _, a := range d.Attrs {
		properties[a.Name] = w.attr(a, d)
		if a.Required {
			required = append(required, a.Name)
		}
	}
	for _, b := range d.Blocks {
		properties[b.Type] = w.block(join(path, b.Type), b)
		if b.Times == Once || b.Times == AtLeast1 {
			required = append(required, b.Type)
		}
	}
	for _, a := range d.RepeatAttrs() {
		properties[a.Name] = w.attr(a, d)
	}
	if path != "" && len(d.Blocks) > 0 || path == "" {
		properties["dynamic"] = object{"type": []string{"object", "array"}, "description": dynamicText}
		// A dynamic block may make what would be missing.
		required = onlyAttrs(required, d)
	}
	s := object{"type": "object", "description": d.Doc, "properties": properties, "additionalProperties": false}
	if d.Open != nil {
		s["additionalProperties"] = w.attr(*d.Open, d)
	}
	switch {
	case len(required) > 0:
		s["required"] = required
	case path != "":
		s["type"] = []string{"object", "null"} // an empty body may be left out
	}
	w.chooseSettings(s, d)
	return s
}

// onlyAttrs keeps those names that are attributes.
func onlyAttrs(names []string, d *BlockDoc) (kept []string) {
	for _, name := range names {
		if d.Attr(name) != nil {
			kept = append(kept, name)
		}
	}
	return kept
}

// block is the schema of all blocks of a type: a level of keys for each label
// around the body.
func (w *schemaWriter) block(path string, d *BlockDoc) object {
	labels := d.Labels
	var s object
	if d.Kinds == nil {
		w.defs[path] = w.body(path, d)
		s = oneOrMore(refTo(path))
	} else {
		// The first label chooses the body.
		kinds := object{}
		for _, kind := range keysOf(d.Kinds) {
			body := d.Kinds[kind]
			name := join(path, kind)
			w.defs[name] = w.body(path, body)
			kinds[kind] = labelled(oneOrMore(refTo(name)), labels[1:])
			kinds[kind].(object)["description"] = body.Doc
		}
		s = oneOrMore(object{"type": "object", "properties": kinds, "additionalProperties": false, "description": labels[0].Doc})
		labels = nil
	}
	s = labelled(s, labels)
	s["description"] = d.Doc
	return s
}

// labelled wraps a body in a level of keys for each label.
func labelled(s object, labels []Label) object {
	for i := len(labels) - 1; i >= 0; i-- {
		s = oneOrMore(object{"type": "object", "additionalProperties": s, "description": labels[i].Doc})
	}
	return s
}

// oneOrMore lets a list stand for several.
func oneOrMore(s object) object {
	return object{"anyOf": []any{s, object{"type": "array", "items": s}}}
}

func join(path, name string) string {
	return strings.TrimPrefix(path+"."+name, ".")
}
